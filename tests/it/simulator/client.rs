//! Requests to one simulator, and its answers.

use std::io;

use serde_json::Value;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::simulator::{self, Cloud};

/// A simulator with droplets `first` to `last`, named `worker-<id>`.
pub(crate) async fn simulator(options: Options, first: u64, last: u64) -> Simulator {
    let simulator = Simulator::start(options).await.unwrap();
    for id in first..=last {
        simulator.droplets().insert(Droplet::new(id, &format!("worker-{id}")));
    }
    simulator
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// The ids of the droplets in a list.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.body["droplets"].as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap()).collect()
    }

    /// Where it is an error of Hetzner's: the status and the code.
    pub(crate) fn code(&self) -> (u16, &str) {
        (self.status, self.body["error"]["code"].as_str().unwrap_or_default())
    }

    /// A header as text, empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|it| it.to_str().unwrap()).unwrap_or_default()
    }
}

/// Sends GET with the simulator's token. Fails where there is no whole answer in JSON.
pub(crate) async fn get<C: Cloud>(simulator: &simulator::Simulator<C>, path: &str) -> io::Result<Answer> {
    get_with(&simulator.client(&["h2"]), simulator, path).await
}

/// Sends GET through a client of the caller's.
pub(crate) async fn get_with<C: Cloud>(
    client: &reqwest::Client,
    simulator: &simulator::Simulator<C>,
    path: &str,
) -> io::Result<Answer> {
    let request = client.get(format!("{}{path}", simulator.base_url()));
    let request = request.header("authorization", C::authorization(&simulator.token));
    read(request.send().await.map_err(io::Error::other)?).await
}

/// Sends a request with the simulator's token and a body of JSON. Fails where there is no whole answer.
pub(crate) async fn send<C: Cloud>(
    simulator: &simulator::Simulator<C>,
    method: &str,
    path: &str,
    body: &Value,
) -> io::Result<Answer> {
    let request = simulator
        .client(&["h2"])
        .request(method.parse().unwrap(), format!("{}{path}", simulator.base_url()))
        .header("authorization", C::authorization(&simulator.token))
        .header("content-type", "application/json")
        .body(body.to_string());
    read(request.send().await.map_err(io::Error::other)?).await
}

/// Sends a request without a body.
pub(crate) async fn bare<C: Cloud>(
    simulator: &simulator::Simulator<C>,
    method: &str,
    path: &str,
) -> io::Result<Answer> {
    let url = format!("{}{path}", simulator.base_url());
    let request = simulator.client(&["h2"]).request(method.parse().unwrap(), url);
    let request = request.header("authorization", C::authorization(&simulator.token));
    read(request.send().await.map_err(io::Error::other)?).await
}

/// Reads an answer to its end. One without a body counts as null.
pub(crate) async fn read(response: reqwest::Response) -> io::Result<Answer> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = response.bytes().await.map_err(io::Error::other)?;
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
    Ok(Answer { status, headers, body })
}
