//! The simulator with the smallest possible cloud: what a cloud has to implement, and what the simulator does for it.

use std::sync::{LazyLock, Mutex};
use std::time::{Duration, SystemTime};

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::*;

/// A cloud with disks: each is locked while it is made, and lists show it late.
#[derive(Default)]
struct Disks {
    made: Mutex<Vec<SystemTime>>,
    locked_for: Duration,
    lists_late_by: Duration,
}

impl Cloud for Disks {
    const NAME: &'static str = "Disks";
    const HOSTS: &'static [&'static str] = &["api.disks.example"];
    const LIMITS: Limits = Limits::Bucket { size: 3_600, refill: Duration::from_secs(1) };

    fn description() -> Option<&'static Description> {
        static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(PUBLISHED, Gaps::default()));
        Some(&DESCRIPTION)
    }

    fn act(&self, request: &Recorded) -> Answer {
        let mut made = self.made.lock().unwrap();
        match (&request.method, request.path.as_str()) {
            (&Method::POST, "/disks") if made.last().is_some_and(|it| !lists::shows(*it, self.locked_for)) => {
                Disks::error(StatusCode::LOCKED)
            }
            (&Method::POST, "/disks") => {
                made.push(SystemTime::now());
                Answer::created(&json!({ "id": made.len() }))
            }
            (&Method::GET, "/disks") => {
                let shown: Vec<_> =
                    (1..).zip(&*made).filter(|(_, it)| lists::shows(**it, self.lists_late_by)).collect();
                let page = request.query_value("page").map_or(1, |it| it.parse().unwrap());
                Answer::ok(&json!({ "disks": lists::page(&shown, page, 2).iter().map(|it| it.0).collect::<Vec<_>>() }))
            }
            _ => Disks::error(StatusCode::NOT_FOUND),
        }
    }

    fn error(status: StatusCode) -> Answer {
        Answer::json(status, &json!({ "error": status.as_u16() }))
    }

    fn empty_list(_: &Recorded) -> Answer {
        Answer::ok(&json!({ "disks": [] }))
    }

    fn show_quota(answer: &mut Answer, quota: &Quota) {
        answer.set("ratelimit-remaining", &quota.remaining.to_string());
    }
}

const PUBLISHED: &str = r##"{
    "paths": {
        "/disks": {
            "get": {
                "parameters": [{ "name": "page", "in": "query", "schema": { "type": "integer", "minimum": 1 } }],
                "responses": {
                    "200": {
                        "headers": { "RateLimit-Remaining": { "$ref": "#/components/headers/remaining" } },
                        "content": { "application/json": { "schema": {
                            "type": "object",
                            "required": ["disks"],
                            "properties": { "disks": { "type": "array", "items": { "type": "integer" } } }
                        } } }
                    },
                    "default": { "$ref": "#/components/responses/error" }
                }
            },
            "post": {
                "responses": {
                    "201": {
                        "headers": { "RateLimit-Remaining": { "$ref": "#/components/headers/remaining" } },
                        "content": { "application/json": { "schema": {
                            "type": "object",
                            "properties": { "id": { "type": "integer" } }
                        } } }
                    },
                    "default": { "$ref": "#/components/responses/error" }
                }
            }
        }
    },
    "components": {
        "headers": { "remaining": { "schema": { "type": "integer" } } },
        "responses": { "error": {
            "headers": { "RateLimit-Remaining": { "$ref": "#/components/headers/remaining" } },
            "content": { "application/json": { "schema": {
                "type": "object",
                "properties": { "error": { "type": "integer" } }
            } } }
        } }
    }
}"##;

async fn serve(options: Options, disks: Disks) -> Simulator<Disks> {
    Simulator::serve(options, disks, Disks::default()).await.unwrap()
}

/// Sends a request with the simulator's token. Answers with status and body.
async fn send(simulator: &Simulator<Disks>, method: Method, path: &str) -> (u16, Value) {
    let client = simulator.client(&["h2"]);
    let request = client.request(method, format!("{}{path}", simulator.base_url())).bearer_auth(&simulator.token);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}

#[tokio::test]
async fn a_cloud_needs_only_its_state_and_its_rules() {
    let simulator = serve(Options::default(), Disks::default()).await;
    for id in 1..=3 {
        assert_eq!(send(&simulator, Method::POST, "/disks").await, (201, json!({ "id": id })));
    }
    assert_eq!(send(&simulator, Method::GET, "/disks?page=2").await, (200, json!({ "disks": [3] })));
    simulator.set_owner(Owner::Other);
    assert_eq!(send(&simulator, Method::GET, "/disks").await, (200, json!({ "disks": [] })));
    assert_eq!(simulator.requests_to("POST", "/disks").len(), 3);
}

#[tokio::test]
async fn a_cloud_gets_faults_limits_and_its_own_errors() {
    let hour = Duration::from_hours(1);
    let limits = Some(Limits::Bucket { size: 4, refill: hour });
    let disks = Disks { locked_for: hour, lists_late_by: hour, ..Disks::default() };
    let simulator = serve(Options { limits, ..Options::default() }, disks).await;
    assert_eq!(send(&simulator, Method::POST, "/disks").await, (201, json!({ "id": 1 })));
    assert_eq!(send(&simulator, Method::POST, "/disks").await, (423, json!({ "error": 423 })));
    assert_eq!(send(&simulator, Method::GET, "/disks").await, (200, json!({ "disks": [] })));
    simulator.inject(Fault::status("POST", "/disks", 503).times(1));
    assert_eq!(send(&simulator, Method::POST, "/disks").await, (503, json!({ "error": 503 })));
    assert_eq!(send(&simulator, Method::GET, "/disks").await, (429, json!({ "error": 429 })));
}

#[tokio::test]
async fn a_request_beyond_the_description_is_reported() {
    let simulator = serve(Options::default(), Disks::default()).await;
    send(&simulator, Method::GET, "/disks?size=1").await;
    send(&simulator, Method::GET, "/volumes").await;
    let wrong = [
        "GET /disks?size=1: the query key size is not declared",
        "GET /volumes: the description has no such operation",
    ];
    assert_eq!(simulator.take_violations(), wrong);
}
