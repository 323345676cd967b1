//! A fault of the host inside a guest's call.

use std::net::SocketAddr;

use crate::setup::Guest;

#[tokio::test]
async fn adv_68_a_panic_in_a_host_function_ends_its_call_only() {
    let mut guest = Guest::hostile().endpoint("api", SocketAddr::from(([127, 0, 0, 1], 9)));
    guest.route = |_| panic!("injected");
    let lab = guest.load().await;
    let (waiting, text) = tokio::join!(lab.report("wait:4"), lab.end("fetch:api"));
    let expected = "failed inside the host: this is a bug in Aerostat, and its log has a panic message";
    assert_eq!(text, format!("provider hostile: get {expected}"));
    assert_eq!(waiting, "parsed 80 items in 4 rounds");
    assert_eq!(lab.calls("host-panic"), 1);
    lab.assert_alive().await;
}
