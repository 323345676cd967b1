//! The same promises over HTTP/2.

use bytes::Bytes;
use egress::Endpoint;
use futures::future::join_all;
use http::Response;
use http_body_util::Full;
use tests::capture::TlsServer;

use crate::setup::{Folder, Lab, Outcome, Setup, endpoint, get};

async fn lab() -> (Lab, TlsServer) {
    let server = TlsServer::answering(|path| {
        let mut answer = Response::new(Full::new(Bytes::from(format!("{:>width$}", "x", width = size(path)))));
        let headers = answer.headers_mut();
        match path {
            "/v2/many-headers" => (0..100).for_each(|nth| {
                headers.insert(http::HeaderName::try_from(format!("x-{nth}")).unwrap(), nth.into());
            }),
            "/v2/long-header" => {
                headers.insert("x-long", http::HeaderValue::try_from("x".repeat(100 << 10)).unwrap());
            }
            "/v2/cookie" => {
                headers.insert("set-cookie", http::HeaderValue::from_static("a=b"));
            }
            "/v2/short" => {
                headers.insert("content-length", http::HeaderValue::from_static("5"));
            }
            _ => {}
        }
        answer
    })
    .await;
    let folder = Folder::new();
    let mut api = Endpoint { ca_file: Some(folder.write("ca.pem", server.ca())), ..endpoint(&server.url()) };
    api.limits.response_bytes = 64 << 10;
    (Setup::new([api]).load().await, server)
}

fn size(path: &str) -> usize {
    match path {
        "/v2/large" => (64 << 10) + 1,
        _ => 1,
    }
}

#[tokio::test]
async fn requests_share_a_connection() {
    let (lab, server) = lab().await;
    let request = get(&["v2"]);
    lab.body(&request).await;
    let bodies = join_all((0..6).map(|_| lab.body(&request))).await;
    assert_eq!(bodies, ["x"; 6]);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn answers_are_capped_and_stripped() {
    let (lab, _server) = lab().await;
    for odd in ["many-headers", "long-header", "large", "short"] {
        match lab.send(&get(&["v2", odd])).await {
            Outcome::Interrupted(_) => {}
            other => panic!("{odd}: {other:?}"),
        }
        assert_eq!(lab.body(&get(&["v2"])).await, "x", "after {odd}");
    }
    match lab.send(&get(&["v2", "cookie"])).await {
        Outcome::Answered { headers, .. } => assert!(headers.iter().all(|(name, _)| name != "set-cookie")),
        other => panic!("{other:?}"),
    }
}
