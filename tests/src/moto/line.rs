//! Requests to a server of this machine, for whom waiting is in order: the server is another process, and answers at once.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use http::{HeaderMap, Method, StatusCode};
use tokio::runtime;

use crate::control_plane::install_crypto;

/// One connection to the server, kept by a thread of its own.
pub(crate) struct Line {
    address: String,
    jobs: mpsc::Sender<Job>,
}

/// The answer.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

struct Job {
    request: reqwest::Request,
    said: mpsc::Sender<Result<Said, reqwest::Error>>,
}

impl Line {
    /// To this address. Nothing is sent yet.
    pub(crate) fn new(address: &str) -> Self {
        install_crypto();
        let (jobs, received) = mpsc::channel::<Job>();
        // It ends with the sender.
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let client = reqwest::Client::builder().no_proxy().build().expect("a client");
            while let Ok(job) = received.recv() {
                // Who does not listen any more has failed.
                let _ = job.said.send(runtime.block_on(send(&client, job.request)));
            }
        });
        Self { address: address.to_owned(), jobs }
    }

    /// Sends a request to a path of the server, and waits for the answer.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(crate) fn send(&self, method: Method, target: &str, headers: HeaderMap, body: Vec<u8>) -> anyhow::Result<Said> {
        let url = format!("http://{}{target}", self.address).parse()?;
        let mut request = reqwest::Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        let (said, answer) = mpsc::channel();
        self.jobs.send(Job { request, said })?;
        Ok(answer.recv()??)
    }

    /// Where it leads.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address.parse().expect("an address with a port")
    }
}

async fn send(client: &reqwest::Client, request: reqwest::Request) -> Result<Said, reqwest::Error> {
    let response = client.execute(request).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    Ok(Said { status, headers, body: response.bytes().await?.to_vec() })
}
