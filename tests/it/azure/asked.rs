//! Requests to the simulator in few words, and what is answered.

use http::{HeaderMap, Method};
use serde_json::Value;
use tests::clouds::azure::{Options, Simulator, World, id};

/// A simulator with a network and two machines, and a client of it.
pub(crate) struct Asked {
    pub(crate) cloud: Simulator,
    client: reqwest::Client,
}

/// An answer: status, headers and body, `null` without one.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answered {
    /// The status with the code of a refusal: `404 ResourceNotFound`.
    pub(crate) fn short(&self) -> String {
        match self.body["error"]["code"].as_str() {
            Some(code) => format!("{} {code}", self.status),
            None => self.status.to_string(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }
}

impl Asked {
    pub(crate) async fn with(options: Options) -> Self {
        let cloud = Simulator::start(options).await.unwrap();
        cloud.with(World::build_plain);
        cloud.with(|world| {
            world.add_machine(1, "node-1");
            world.add_machine(2, "node-2");
        });
        let client = cloud.client(&["http/1.1"]);
        Self { cloud, client }
    }

    /// Operations end at once.
    pub(crate) async fn instant() -> Self {
        Self::with(Options::instant()).await
    }

    /// Sends a request with a whole path and its query, and with headers.
    pub(crate) async fn send(
        &self,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answered {
        let url =
            if path.starts_with("https://") { path.to_owned() } else { format!("{}{path}", self.cloud.base_url()) };
        let mut request = self.client.request(method.clone(), url);
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            request = request.bearer_auth(&self.cloud.token);
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        Answered { status, headers, body }
    }

    /// Sends `PUT Network/loadBalancers/a {"location":…}`, with a path below the group's providers and the version of its service.
    pub(crate) async fn line_with(&self, line: &str, headers: &[(&str, &str)]) -> Answered {
        let (method, rest) = line.split_once(' ').unwrap();
        let (path, body) = rest.find(" {").map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
        let named = named(body.unwrap_or_default());
        let body = body.map(|_| serde_json::from_str(&named).unwrap_or_else(|why| panic!("{line}: {why}")));
        let (path, query) =
            path.split_once('?').map_or((path, String::new()), |(path, query)| (path, format!("&{query}")));
        let version = if path.to_lowercase().starts_with("network") || path.ends_with("/networkInterfaces") {
            "2025-05-01"
        } else {
            "2025-04-01"
        };
        let target = format!("{}?api-version={version}{query}", id(&format!("Microsoft.{path}")));
        self.send(&method.parse().unwrap(), &target, headers, body.as_ref()).await
    }

    pub(crate) async fn line(&self, line: &str) -> Answered {
        self.line_with(line, &[]).await
    }

    /// The answer to a line that is not refused.
    pub(crate) async fn done(&self, line: &str) -> Value {
        let told = self.line(line).await;
        assert!(told.status < 300, "{line}: {}", told.body);
        told.body
    }
}

/// The text with whole ids in the place of `@Network/loadBalancers/a`.
pub(crate) fn named(text: &str) -> String {
    text.replace('@', &id("Microsoft."))
}
