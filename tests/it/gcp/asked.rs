//! Requests to the simulator in few words, and what is answered.

use http::Method;
use serde_json::Value;
use tests::clouds::gcp::{Options, Simulator, World};

/// A simulator with what the recordings begin with, and a client of it.
pub(crate) struct Asked {
    pub(crate) cloud: Simulator,
    client: reqwest::Client,
}

impl Asked {
    pub(crate) async fn with(options: Options) -> Self {
        let cloud = Simulator::start(options).await.unwrap();
        cloud.with(World::build_recorded);
        let client = cloud.client(&["http/1.1"]);
        Self { cloud, client }
    }

    /// Operations end at once.
    pub(crate) async fn instant() -> Self {
        Self::with(Options::instant()).await
    }

    /// Sends a request with a path below the API's base, with its query.
    pub(crate) async fn send(&self, method: &Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = format!("{}/{path}", self.cloud.compute_url());
        let request = self.client.request(method.clone(), url).bearer_auth(&self.cloud.token);
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
    }

    /// Sends `POST global/firewalls {"name":"a"}`, with a path below the project. Answers the status with the reason of a
    /// refusal, and the body.
    pub(crate) async fn line(&self, line: &str) -> (String, Value) {
        let (method, rest) = line.split_once(' ').unwrap();
        let (path, body) = rest.find(" {").map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
        let body: Option<Value> = body.map(|it| serde_json::from_str(it).unwrap_or_else(|why| panic!("{line}: {why}")));
        let path = format!("projects/p1{}{path}", if path.is_empty() { "" } else { "/" });
        let (status, answer) = self.send(&method.parse().unwrap(), &path, body.as_ref()).await;
        let reason = answer["error"]["errors"][0]["reason"].as_str();
        (reason.map_or_else(|| status.to_string(), |it| format!("{status} {it}")), answer)
    }

    /// The answer to a line that is not refused.
    pub(crate) async fn done(&self, line: &str) -> Value {
        let (status, answer) = self.line(line).await;
        assert_eq!(status, "200", "{line}: {answer}");
        answer
    }
}
