//! A provider that breaks one promise is found, and the sentence names that promise.

use std::collections::BTreeSet;

use conformance::{PROMISES, PromiseOutcome, SuitePart};
use futures::{StreamExt as _, future, stream};
use tests::guests;
use tests::published::acme;

use crate::setup::tried_fast;

/// How many providers are tried side by side: most of their time they wait.
const AT_A_TIME: usize = 8;

/// The fault that an older version shows.
const NEWER: &str = "other-names";

/// The fault, and the promises that it breaks.
const FAULTS: &[(&str, &[&str])] = &[
    ("secret-setting", &["settings-hold-no-secret"]),
    ("moving-account", &["account-stays"]),
    ("unknown-machine", &["machine-is-found"]),
    ("none-on-error", &["none-only-when-certain"]),
    ("error-on-missing", &["none-when-gone"]),
    ("always-running", &["stopped-is-told"]),
    ("one-page", &["list-is-complete"]),
    ("endless-list", &["list-is-complete"]),
    ("ignores-limit", &["list-keeps-its-limit"]),
    ("found-by-address", &["none-when-gone"]),
    ("silent-gap", &["list-tells-its-gaps"]),
    ("call-for-each", &["list-is-cheap"]),
    ("other-spelling", &["ids-are-stable"]),
    ("other-type", &["list-and-get-agree"]),
    ("one-word", &["canonical-ids-tell-apart"]),
    ("unannounced", &["nothing-twice"]),
    ("no-memo", &["creation-is-announced"]),
    ("memo-lost", &["nothing-twice"]),
    ("name-of-service", &["others-are-untouched"]),
    ("claims-by-name", &["others-are-untouched"]),
    ("deletes-by-name", &["others-are-untouched"]),
    ("claims-by-address", &["others-are-untouched"]),
    ("shared-memo", &["one-end-leaves-the-others"]),
    ("ends-for-all", &["one-end-leaves-the-others"]),
    ("forged-marks", &["marks-are-not-forged"]),
    ("writes-again", &["ready-writes-nothing"]),
    ("endless-pending", &["pending-moves-on"]),
    ("polls-in-call", &["waits-are-pending"]),
    ("hasty-pending", &["waits-are-pending"]),
    ("one-memo", &["memos-differ"]),
    ("moving-memo", &["memo-is-kept"]),
    ("final-errors", &["errors-are-tried-again"]),
    ("tried-for-ever", &["refusals-are-final"]),
    ("swallowed-error", &["done-only-when-gone"]),
    ("leftover", &["nothing-left"]),
    ("error-on-gone", &["gone-is-done"]),
    ("stuck-deletion", &["delete-converges"]),
    (NEWER, &["versions-go-on"]),
    ("drops-labels", &["rest-stays"]),
    ("unlisted", &["inventory-shows-ours"]),
    ("lists-all", &["inventory-shows-ours-alone"]),
    ("kept-as-orphan", &["kept-is-no-orphan"]),
    ("moving-revision", &["revision-tells-changes"]),
    ("stuck-revision", &["revision-tells-changes"]),
    ("endless-route", &["route-changes-converge"]),
    ("blind-route", &["route-is-made-once"]),
    ("unlisted-route", &["routes-are-listed"]),
    ("silent-route-gap", &["route-list-tells-its-gaps"]),
    ("rewritten-route", &["done-route-is-not-written"]),
    ("leftover-route", &["deleted-route-is-gone"]),
    ("cleared-routes", &["other-routes-stay"]),
    ("overwritten-route", &["changed-route-is-refused"]),
    ("all-or-nothing", &["bad-change-stands-alone"]),
    ("unknown-volume", &["volume-is-found"]),
    ("volume-none-on-error", &["volume-none-only-when-certain"]),
    ("error-on-missing-volume", &["volume-none-when-gone"]),
    ("other-zone", &["volume-speaks-as-machines"]),
    ("mixed-volumes", &["volume-answers-agree"]),
];

/// The lies of a provider of volumes alone, which remembers nothing, and the promises that each breaks.
const LIES: &[(&str, &[&str])] = &[
    ("pending", &["volume-steps-converge"]),
    ("second", &["volume-is-made-once", "settled-volume-is-not-written"]),
    ("no-growth", &["volume-grows-and-never-shrinks"]),
    ("forgetful", &["attached-volume-is-not-moved", "used-volume-is-not-deleted", "volume-is-where-it-says"]),
];

#[tokio::test]
async fn a_provider_without_a_fault_keeps_every_promise() {
    let served = acme::serve(0, &[]).await.unwrap();
    let report = tried_fast(guests::FAULTY, Some(guests::ACME), &served.url, 1, None).await;
    assert_eq!(report.broken(), [""; 0], "{report}");
    assert_eq!(report.outcome("versions-go-on"), Some(&PromiseOutcome::Kept));
}

#[tokio::test]
async fn each_fault_is_found_by_the_promise_that_it_breaks() {
    let tries = FAULTS.iter().map(|(fault, promises)| async move {
        let served = acme::serve(0, &[("fault", fault)]).await.unwrap();
        let older = (*fault == NEWER).then_some(guests::ACME);
        // The promises of a fault are in one part.
        let part = PROMISES.iter().find(|it| it.name == promises[0]).map(|it| it.part());
        let report = tried_fast(guests::FAULTY, older, &served.url, 3, part).await;
        let broken = report.broken();
        let text = report.to_string();
        // The sentence of a promise that is kept is in no report.
        let is_told = |name: &str| {
            PROMISES.iter().any(|it| it.name == name && text.contains(&format!("{} ({})", it.sentence, it.page)))
        };
        let is_found = promises.iter().all(|it| broken.contains(it) && is_told(it));
        (!is_found).then(|| format!("{fault} breaks {promises:?}, and broken are {broken:?}"))
    });
    let missed: Vec<_> = stream::iter(tries).buffer_unordered(AT_A_TIME).filter_map(future::ready).collect().await;
    assert!(missed.is_empty(), "{missed:#?}");
}

#[tokio::test]
async fn lies_about_volumes_of_claims_are_found_by_their_promises() {
    for (lie, promises) in LIES {
        let served = acme::serve(0, &[("lie", lie)]).await.unwrap();
        let report = tried_fast(guests::LYING_VOLUMES, None, &served.url, 1, Some(SuitePart::Volumes)).await;
        let broken = report.broken();
        assert!(promises.iter().all(|it| broken.contains(it)), "{lie} breaks {promises:?}: {report}");
    }
}

#[test]
fn each_promise_that_can_be_broken_has_its_fault() {
    let found: BTreeSet<_> = FAULTS.iter().chain(LIES).flat_map(|(_, promises)| *promises).copied().collect();
    let missing: Vec<_> = PROMISES.iter().map(|it| it.name).filter(|it| !found.contains(it)).collect();
    // Acme has no description of its API; ensure-converges is what others come to.
    assert_eq!(missing, ["requests-are-the-vendors", "ensure-converges"]);
}
