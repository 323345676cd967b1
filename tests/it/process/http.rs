//! `/healthz`, `/readyz` and `/metrics`, compared with upstream.

use tests::control_plane::cluster;
use tests::guests;

use crate::recording::{self, Answer, Reasons, reason};
use crate::setup::{Setup, admin_token, own_token};

/// What upstream serves and we do not; a caller that may ask gets 404.
const NOT_THERE: Reasons = &[
    ("/configz", "the configuration is --cloud-config and the flags; both are in the log"),
    ("/debug/*", "there is no profiling"),
];

/// What we serve and upstream does not.
const BETTER: Reasons =
    &[("/readyz*", "whether the API server allows what the controllers need; a restart, for /healthz, would not help")];

/// What is checked when everything runs that there is.
const CHECKS: [&str; 4] =
    ["leaderElection", "cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller"];

/// Upstream's answer, as ours should be.
fn expected(answer: &Answer) -> (u16, String, Option<String>) {
    if answer.who == "admin (system:masters)" && reason(NOT_THERE, &answer.path).is_some() {
        return (404, "text/plain; charset=utf-8".to_owned(), Some("404 page not found\n".to_owned()));
    }
    if answer.code == 404 && reason(BETTER, &answer.path).is_some() {
        return (200, "text/plain; charset=utf-8".to_owned(), None);
    }
    let body = answer
        .body
        .as_ref()
        .map(|body| body.replace(r#"\"ccm\""#, r#"\"system:serviceaccount:kube-system:cloud-controller-manager\""#));
    (answer.code, answer.content_type.clone(), body)
}

#[tokio::test]
async fn case_240_health_is_open_and_everything_else_is_not() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    let (own, admin) = (own_token(&cluster), admin_token(&cluster).await);
    let recorded = recording::process();
    for answer in recorded.http.answers.iter().chain(&recorded.extra.answers) {
        let token = match answer.who.as_str() {
            "nobody" => None,
            "bad token" => Some("nonsense"),
            "ccm (no rights)" => Some(own.as_str()),
            "admin (system:masters)" => Some(admin.as_str()),
            other => panic!("{other} is not known here"),
        };
        let method = answer.method.as_deref().unwrap_or("GET").parse().unwrap();
        let ours = process.ask(method, &answer.path, token).await;
        let (code, content_type, body) = expected(answer);
        let what = format!("{} for {}", answer.path, answer.who);
        assert_eq!((ours.code, ours.content_type), (code, content_type), "{what}");
        if let Some(body) = body {
            assert_eq!(ours.body, body, "{what}");
        }
    }
    process.stop().await;
}

#[tokio::test]
async fn case_240_every_started_controller_is_checked() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    assert_eq!(process.checks().await, CHECKS);
    process.stop().await;
}
