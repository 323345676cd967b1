//! Tools that the unit tests of the egress share.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::endpoint::{Endpoint, Rule};
use crate::request::{GuestRequest, Method};

/// The endpoint `api`: GET everywhere, POST and DELETE under `/v2/load_balancers`.
pub(crate) fn endpoint(base_url: &str) -> Endpoint {
    let rule = |methods: &[Method], path| Rule::new(methods, [PathPattern::parse(path).unwrap()]);
    Endpoint {
        allow: vec![rule(&[Method::Get], "/v2/**"), rule(&[Method::Post, Method::Delete], "/v2/load_balancers/**")],
        headers: vec!["x-extra".to_owned()],
        ..Endpoint::new("api", BaseUrl::parse(base_url).unwrap())
    }
}

/// A plain request to the endpoint `api`.
pub(crate) fn request(method: Method, path: &[&str]) -> GuestRequest {
    GuestRequest {
        endpoint: "api".to_owned(),
        method,
        path: path.iter().map(|&it| it.to_owned()).collect(),
        query: Vec::new(),
        headers: Vec::new(),
        body: None,
    }
}

/// A server that writes down what arrives, and answers.
pub(crate) struct TestServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

/// An answer: status line, further lines of the head, body.
pub(crate) type Scripted = (&'static str, String, String);

impl TestServer {
    /// A server that answers everything with one status.
    pub(crate) async fn start(status: &'static str) -> Self {
        Self::script(move |_| (status, String::new(), String::new())).await
    }

    /// A server that answers each request, head and body, as `answer` says.
    pub(crate) async fn script(answer: impl Fn(&str) -> Scripted + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (mut task, seen) = (JoinSet::new(), requests.clone());
        task.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                serve(stream, &answer, &seen).await;
            }
        });
        Self { url, requests, _task: task }
    }

    /// The requests that have arrived.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

/// Reads one request, writes it down, answers it, closes the connection.
async fn serve(mut stream: TcpStream, answer: &(impl Fn(&str) -> Scripted + Sync), seen: &Mutex<Vec<String>>) {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "a whole request");
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|it| it.strip_prefix("content-length: ")).map_or(0, |it| it.parse().unwrap());
        if body.len() == length {
            break;
        }
    }
    let request = String::from_utf8(bytes).unwrap();
    let (status, head, body) = answer(&request);
    seen.lock().push(request);
    let answer =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{head}\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}
