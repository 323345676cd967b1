//! Stopping the cloud at a request, and faults by seed.

use std::time::Duration;

use serde_json::json;
use tests::clouds::digitalocean::{Chaos, Fault, Options, Recorded, Side, Simulator};
use tokio::time::timeout;

use crate::client::{get, get_with, send, simulator};
use crate::creation::desired;

fn is_write(request: &Recorded) -> bool {
    request.method != http::Method::GET
}

/// Creates a load balancer with this name, through a client of its own.
async fn create(simulator: &Simulator, name: &str) -> std::io::Result<u16> {
    Ok(send(simulator, "POST", "/v2/load_balancers", &desired(name)).await?.status)
}

/// Checks how many load balancers there are when the cloud has stopped at the second creation, and after it was let go.
async fn check(side: Side, cut: bool, stopped: usize, after: usize) {
    let simulator = simulator(Options::default(), 1, 2).await;
    let hold = simulator.hold(2, side, is_write);
    assert_eq!(create(&simulator, "first").await.unwrap(), 202);
    get(&simulator, "/v2/load_balancers").await.unwrap();
    let second = create(&simulator, "second");
    let meanwhile = async {
        assert_eq!(hold.reached().await.to_string(), "POST /v2/load_balancers → no answer");
        let third = create(&simulator, "third");
        let stop = async {
            simulator.wait_for("the third creation", |requests| requests.len() == 4).await;
            assert_eq!(simulator.load_balancers().all().len(), stopped);
            if cut { hold.cut() } else { hold.resume() }
        };
        tokio::join!(third, stop).0
    };
    let (second, third) = tokio::join!(second, meanwhile);
    assert_eq!((second.is_err(), third.is_err()), (cut, cut));
    assert_eq!(simulator.load_balancers().all().len(), after);
    assert_eq!(create(&simulator, "fourth").await.unwrap(), 202);
}

#[tokio::test]
async fn a_hold_stops_the_cloud_before_or_after_a_request() {
    // What is cut before is not done, and after it is done and not answered; what was stopped can go on.
    check(Side::Before, true, 1, 1).await;
    check(Side::After, true, 2, 2).await;
    check(Side::Before, false, 1, 3).await;
    check(Side::After, false, 2, 3).await;
}

#[tokio::test]
async fn a_client_that_leaves_during_a_hold_leaves_nothing_behind() {
    for protocol in ["h2", "http/1.1"] {
        let simulator = simulator(Options::default(), 1, 2).await;
        let hold = simulator.hold(1, Side::Before, is_write);
        let request = simulator
            .client(&[protocol])
            .post(format!("{}/v2/load_balancers", simulator.base_url()))
            .bearer_auth(&simulator.token)
            .header("content-type", "application/json")
            .body(desired("web").to_string());
        tokio::select! {
            answer = request.send() => panic!("answered while the cloud is stopped: {answer:?}"),
            _ = hold.reached() => {}
        }
        hold.cut();
        assert_eq!(get(&simulator, "/v2/load_balancers").await.unwrap().body["meta"]["total"], 0, "{protocol}");
    }
}

#[tokio::test]
async fn a_hold_that_no_request_reaches_stops_nobody() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let hold = simulator.hold(2, Side::Before, is_write);
    assert_eq!(create(&simulator, "first").await.unwrap(), 202);
    drop(hold);
    assert_eq!(create(&simulator, "second").await.unwrap(), 202);
    let hold = simulator.hold(1, Side::After, is_write);
    assert_eq!(get(&simulator, "/v2/droplets").await.unwrap().status, 200);
    drop(hold);
}

#[tokio::test]
async fn a_fault_comes_before_or_after_the_change() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let path = "/v2/load_balancers";
    let count = || simulator.load_balancers().all().len();

    simulator.inject(Fault::status("POST", path, 500).times(1));
    assert_eq!((create(&simulator, "a").await.unwrap(), count()), (500, 0));
    simulator.inject(Fault::status("POST", path, 500).done().times(1));
    assert_eq!((create(&simulator, "b").await.unwrap(), count()), (500, 1));
    simulator.inject(Fault::nothing("POST", path).times(1));
    assert_eq!((create(&simulator, "c").await.is_err(), count()), (true, 2));
    simulator.inject(Fault::nothing("POST", path).undone().times(1));
    assert_eq!((create(&simulator, "d").await.is_err(), count()), (true, 2));
    simulator.inject(Fault::half("POST", path).times(1));
    assert_eq!((create(&simulator, "e").await.is_err(), count()), (true, 3));
    let faults: Vec<_> = simulator.requests().iter().map(|it| it.fault.unwrap()).collect();
    assert_eq!(faults, ["another status", "another status, done", "nothing, done", "nothing", "half an answer, done"]);
}

#[tokio::test]
async fn a_hanging_answer_never_comes() {
    let simulator = simulator(Options::default(), 1, 2).await;
    simulator.inject(Fault::hang("POST", "/v2/load_balancers").times(1));
    let mut news = simulator.observe();
    let asked = create(&simulator, "web");
    tokio::select! {
        answer = asked => panic!("answered: {answer:?}"),
        request = news.recv() => assert_eq!(request.unwrap().status, None),
    }
    assert_eq!(simulator.load_balancers().all().len(), 1);
}

#[tokio::test]
async fn a_fault_names_the_request_and_an_empty_list_its_kind() {
    let simulator = simulator(Options::default(), 1, 2).await;
    assert_eq!(create(&simulator, "web").await.unwrap(), 202);
    simulator.inject(Fault::status("GET", "/v2/load_balancers", 422).times(1));
    let refused = get(&simulator, "/v2/load_balancers").await.unwrap();
    assert_eq!(refused.body["request_id"], refused.header("x-request-id"));
    simulator.inject(Fault::empty_list("GET", "/v2/load_balancers"));
    assert_eq!(get(&simulator, "/v2/load_balancers").await.unwrap().body["load_balancers"], json!([]));
}

/// The faults of two hundred requests with a seed.
async fn faults(seed: u64) -> Vec<Option<&'static str>> {
    let simulator = simulator(Options::default(), 1, 1).await;
    simulator.set_chaos(Some(Chaos { seed, one_in: 4, hangs: true }));
    let client = simulator.client(&["h2"]);
    for _ in 0..200 {
        // Some of them hang.
        let _ = timeout(Duration::from_millis(500), get_with(&client, &simulator, "/v2/droplets/1")).await;
        let last = simulator.requests().pop().unwrap();
        if last.fault == Some("no answer, done") {
            break;
        }
    }
    simulator.set_chaos(None);
    assert_eq!(get(&simulator, "/v2/droplets/1").await.unwrap().status, 200);
    simulator.requests().iter().map(|it| it.fault).collect()
}

#[tokio::test]
async fn chaos_is_the_same_for_the_same_seed() {
    let (first, again, other) = (faults(1).await, faults(1).await, faults(2).await);
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert!(first.iter().chain(&other).filter(|it| it.is_some()).count() >= 2, "{first:?} {other:?}");
}
