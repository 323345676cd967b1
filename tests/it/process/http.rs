//! `/healthz`, `/readyz` and `/metrics`, compared with upstream.

use tests::control_plane::cluster;
use tests::guests;

use crate::recording::{self, Answer, Reasons, reason};
use crate::setup::{Setup, admin_token, own_token};

/// Paths that upstream serves and we do not; a caller that may ask gets 404.
const NOT_THERE: Reasons = &[
    ("/configz", "the configuration is --cloud-config and the flags; both are in the log"),
    ("/debug/*", "there is no profiling"),
];

/// Paths that we serve and upstream does not.
const BETTER: Reasons =
    &[("/readyz*", "whether the API server allows what the controllers need; a restart, for /healthz, would not help")];

/// The checks when everything runs that there is.
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
async fn case_241_without_a_secure_port_nothing_listens() {
    let cluster = cluster().await;
    let with = Setup::guest(&cluster, guests::HOSTILE);
    let process = with.started().await;
    assert_eq!(listening(process.aerostat.pid()), 1);
    process.stop().await;

    let mut without = with;
    without.flags.retain(|it| !it.starts_with("--secure-port="));
    let process = without.flags(&["--secure-port=0"]).started().await;
    assert_eq!(listening(process.aerostat.pid()), 0);
    process.stop().await;
}

/// How many sockets of a process accept connections: proc_pid_fd(5), proc_pid_net(5).
fn listening(pid: u32) -> usize {
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = fds.filter_map(|it| std::fs::read_link(it.ok()?.path()).ok());
    let sockets: Vec<_> = links.map(|it| it.to_string_lossy().into_owned()).collect();
    let tables = ["tcp", "tcp6"].map(|it| std::fs::read_to_string(format!("/proc/{pid}/net/{it}")).unwrap());
    let lines = tables.iter().flat_map(|it| it.lines());
    let is_ours = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields[3] == "0A" && sockets.contains(&format!("socket:[{}]", fields[9]))
    };
    lines.filter(is_ours).count()
}

#[tokio::test]
async fn case_240_every_started_controller_is_checked() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    // Controllers start one after the other.
    tests::wait::until("all controllers have started", async || {
        (process.checks().await.len() == CHECKS.len()).then_some(())
    })
    .await;
    assert_eq!(process.checks().await, CHECKS);
    process.stop().await;
}
