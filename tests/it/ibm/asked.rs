//! Requests to the simulator in few words, and what is answered.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::clouds::ibm::{Options, Simulator, World};

/// A simulator with two VPCs and their subnets, and a client of it.
pub(crate) struct Asked {
    pub(crate) cloud: Simulator,
    client: reqwest::Client,
    /// Ids by the names that lines gave them.
    named: BTreeMap<String, String>,
}

impl Asked {
    pub(crate) async fn with(options: Options) -> Self {
        let cloud = Simulator::start(options).await.unwrap();
        cloud.with(World::build_plain);
        let client = cloud.client(&["http/1.1"]);
        Self { cloud, client, named: BTreeMap::new() }
    }

    /// Sends `POST load_balancers {"is_public":true}`, with a path below the API's base, and answers the status with the code of a refusal, and
    /// the body. `@lb` stands for the id that a line before gave this name, by ` as lb` at its end.
    pub(crate) async fn line(&mut self, line: &str) -> (String, Value) {
        let (line, name) = line.split_once(" as ").map_or((line, None), |(line, name)| (line, Some(name)));
        let mut line = line.to_owned();
        // The longer name first, where two begin alike.
        for (name, id) in self.named.iter().rev() {
            line = line.replace(&format!("@{name}"), id);
        }
        let (method, rest) = line.split_once(' ').unwrap();
        let (path, body) = rest.find(" {").map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
        let mark = if path.contains('?') { '&' } else { '?' };
        let url = format!("{}/{path}{mark}version=2026-06-23&generation=2", self.cloud.vpc_url());
        let request = self.client.request(method.parse().unwrap(), url).bearer_auth(&self.cloud.token);
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = match body {
            Some(body) => request.header("content-type", kind).body(body.to_owned()),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let body: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default();
        if let Some(name) = name {
            self.named.insert(name.to_owned(), body["id"].as_str().unwrap_or_default().to_owned());
        }
        let code = body["errors"][0]["code"].as_str();
        (code.map_or_else(|| status.to_string(), |it| format!("{status} {it}")), body)
    }

    /// Plays the lines of tables in turn, each with what it is answered: `GET instances → 200`.
    pub(crate) async fn play(&mut self, tables: &[&[&str]]) {
        for line in tables.iter().copied().flatten() {
            let (request, expected) = line.rsplit_once(" → ").unwrap();
            let (status, answer) = self.line(request).await;
            assert_eq!(status, expected, "{request}: {answer}");
        }
    }
}
