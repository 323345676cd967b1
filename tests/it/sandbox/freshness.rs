//! Reads that another call sent a moment ago: a list and a question about a machine are answered by none of them.

use std::time::Duration;

use egress::{Method, PathPattern, Rule};
use serde_json::json;
use tests::capture::{Capture, Step};

use crate::setup::{Guest, Lab, endpoint, node};

/// A provider all of whose lists and questions read `/v1/machines`.
async fn lab(cloud: &Capture) -> (Lab, String) {
    let crime = json!({ "sends": ["GET /v1/machines"], "answers": "none" }).to_string();
    let mut api = endpoint("api", cloud.address());
    api.allow = vec![Rule::new([Method::Get], [PathPattern::parse("/v1/machines").unwrap()])];
    api.limits.reuse = Duration::from_secs(3600);
    let mut guest = Guest::hostile().setting("list", &crime);
    guest.endpoints.push(api);
    (guest.load().await, crime)
}

#[tokio::test]
async fn a_question_about_a_machine_rests_on_no_earlier_read() {
    let cloud = Capture::http(|_| Step::ok("{}")).await;
    let (lab, crime) = lab(&cloud).await;
    for asked in 1..=3 {
        assert_eq!(lab.get(&crime).await, Ok(None));
        assert_eq!(cloud.requests().len(), asked, "what was read before says nothing about now");
    }
    let both = lab.instances.get(&[node(&crime), node(&crime)]).await.answer;
    assert_eq!(both, [Ok(None), Ok(None)]);
    assert_eq!(cloud.requests().len(), 4, "questions that were asked at one moment share a read");
}

#[tokio::test]
async fn a_list_of_machines_rests_on_no_earlier_read() {
    let cloud = Capture::http(|_| Step::ok("{}")).await;
    let (lab, crime) = lab(&cloud).await;
    assert_eq!(lab.get(&crime).await, Ok(None));
    for listed in 2..=3 {
        assert!(lab.instances.list(None, 10).await.answer.unwrap().instances.is_empty());
        assert_eq!(cloud.requests().len(), listed, "what was read before says nothing about now");
    }
}
