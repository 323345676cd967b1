//! A provider that breaks a promise is found by `testing::converge`, which names the promise as the conformance suite does.

#[path = "../examples/acme-async/lib.rs"]
#[expect(unreachable_pub, reason = "the example is a crate of its own")]
mod acme_async;
#[path = "../examples/acme-async/cloud.rs"]
#[expect(unreachable_pub, reason = "the tests of the host serve it too")]
mod cloud;

use std::time::Duration;

use acme_async::AcmeAsync;
use aerostat_sdk::{
    Deletion, Error, Instance, Instances, LoadBalancer, LoadBalancerStatus, LoadBalancers, Node, Page, Progress,
    Result, http, testing,
};
use cloud::AsyncCloud;
use serde_json::json;

const NONE: u8 = 0;
const ENDLESS_PENDING: u8 = 1;
const MEMO_LOST: u8 = 2;
const LEFTOVER: u8 = 3;
const WRITES_AGAIN: u8 = 4;
const FINAL_ERRORS: u8 = 5;
const UNANNOUNCED: u8 = 6;
const DELETES_ANOTHERS: u8 = 7;
const ERROR_ON_GONE: u8 = 8;
const LONG_MEMO: u8 = 9;

/// The example with one fault.
struct Faulty<const FAULT: u8>;

impl<const FAULT: u8> Instances for Faulty<FAULT> {
    fn get(node: &Node) -> Result<Option<Instance>> {
        AcmeAsync::get(node)
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        AcmeAsync::list(cursor, limit)
    }
}

impl<const FAULT: u8> LoadBalancers for Faulty<FAULT> {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        if FAULT == UNANNOUNCED && desired.memo.is_none() {
            let body = json!({ "label": desired.name, "tags": [], "spec": { "ports": {}, "machines": [] } });
            http::post("api", ["balancers"]).json(&body).send()?;
            return Ok(Progress::pending(desired.status(), Duration::from_secs(1), "it is created"));
        }
        match (FAULT, AcmeAsync::ensure(desired)) {
            (ENDLESS_PENDING, Ok(Progress::Ready(status))) => {
                Ok(Progress::pending(status, Duration::from_secs(1), "it is built"))
            }
            (MEMO_LOST, Ok(Progress::Ready(status))) => {
                Ok(Progress::Ready(LoadBalancerStatus { memo: None, ..status }))
            }
            (LONG_MEMO, Ok(Progress::Ready(status))) => Ok(Progress::Ready(status.memo("x".repeat(2_000)))),
            (WRITES_AGAIN, Ok(Progress::Ready(status))) => {
                http::delete("api", ["balancers", "lb-999"]).answer()?;
                Ok(Progress::Ready(status))
            }
            (FINAL_ERRORS, Err(error)) => Err(Error::invalid(error.why())),
            (_, answer) => answer,
        }
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        if FAULT == DELETES_ANOTHERS {
            // The first balancer is nobody's.
            http::delete("api", ["balancers", "lb-1"]).answer()?;
        }
        match (FAULT, AcmeAsync::delete(unwanted)) {
            (LEFTOVER, Ok(_)) => Ok(Deletion::Done),
            (ERROR_ON_GONE, Ok(Deletion::Done)) => Err(Error::unavailable("there is none")),
            (_, answer) => answer,
        }
    }
}

/// The promises that a provider breaks, by their names.
fn broken<const FAULT: u8>() -> Vec<String> {
    let broken = testing::converge::<Faulty<FAULT>, _>(AsyncCloud::default);
    let mut names: Vec<_> = broken.iter().map(|it| it.split(':').next().unwrap_or_default().to_owned()).collect();
    names.dedup();
    names
}

#[test]
fn each_fault_is_found_by_the_promise_that_it_breaks() {
    assert_eq!(broken::<NONE>(), [""; 0]);
    for (found, promise) in [
        (broken::<ENDLESS_PENDING>(), "ensure-converges"),
        (broken::<MEMO_LOST>(), "memo-is-kept"),
        (broken::<LEFTOVER>(), "nothing-left"),
        (broken::<WRITES_AGAIN>(), "ready-writes-nothing"),
        (broken::<FINAL_ERRORS>(), "errors-are-tried-again"),
        (broken::<UNANNOUNCED>(), "creation-is-announced"),
        (broken::<DELETES_ANOTHERS>(), "others-are-untouched"),
        (broken::<ERROR_ON_GONE>(), "delete-converges"),
        (broken::<LONG_MEMO>(), "memo-is-kept"),
    ] {
        assert!(found.iter().any(|it| it == promise), "{promise}: {found:?}");
    }
}
