//! The promises that a recording can prove, and why it cannot prove the others.

use crate::transcript::Transcript;
use crate::trouble::Phase;

/// The requests that were recorded were answered, whatever they were.
const ANSWERED: &str = "a recording has the cloud's answers, and not what its API knows";
/// A recording has the answers that the provider was given, and no others.
const TRUTH: &str = "a recording does not say what there was in the cloud";
/// Replays have no effect.
const WRITES: &str = "nothing can be written into a recording";
/// A recording stays as it is.
const OTHERS: &str = "nothing happens in a recording behind the provider's back";

/// Whether a promise can be judged by a recording, or the reason why not.
///
/// # Errors
///
/// The reason: it needs a simulator.
pub(super) fn provable(promise: &str) -> Result<(), &'static str> {
    match promise {
        "settings-hold-no-secret"
        | "account-stays"
        | "none-only-when-certain"
        | "list-keeps-its-limit"
        | "list-tells-its-gaps"
        | "list-is-cheap"
        | "list-and-get-agree"
        | "ids-are-stable"
        | "canonical-ids-tell-apart"
        | "creation-is-announced"
        | "ready-writes-nothing"
        | "memo-is-kept"
        | "memos-differ"
        | "errors-are-tried-again"
        | "done-only-when-gone"
        | "gone-is-done"
        | "volume-none-only-when-certain" => Ok(()),
        "requests-are-the-vendors" => Err(ANSWERED),
        "machine-is-found"
        | "none-when-gone"
        | "stopped-is-told"
        | "list-is-complete"
        | "inventory-shows-ours"
        | "inventory-shows-ours-alone"
        | "revision-tells-changes"
        | "routes-are-listed"
        | "route-list-tells-its-gaps"
        | "volume-is-found"
        | "volume-none-when-gone"
        | "volume-speaks-as-machines"
        | "volume-answers-agree" => Err(TRUTH),
        "others-are-untouched"
        | "one-end-leaves-the-others"
        | "marks-are-not-forged"
        | "rest-stays"
        | "kept-is-no-orphan"
        | "other-routes-stay"
        | "changed-route-is-refused" => Err(OTHERS),
        // All that goes on until it comes to an end.
        _ => Err(WRITES),
    }
}

/// Why a recording that could prove a promise does not: it lacks the calls.
pub(super) fn lacks(promise: &str, transcript: &Transcript) -> Option<&'static str> {
    let machines = transcript.machines.as_ref();
    let questions = machines.is_some_and(|it| !it.questions.is_empty());
    let lists = machines.is_some_and(|it| !it.lists.is_empty());
    let lives = || transcript.lives.iter().flatten();
    let parts =
        |deletes: bool| lives().flat_map(|it| &it.parts).filter(move |it| (it.phase == Phase::Delete) == deletes);
    let (has_calls, lacking) = match promise {
        "account-stays" => {
            (machines.is_some_and(|it| it.accounts.len() > 1), "the recording has no two calls of provider.identity")
        }
        "none-only-when-certain" => (questions, "the recording has no call of instances.get"),
        "list-keeps-its-limit" | "list-tells-its-gaps" | "list-is-cheap" => {
            (lists, "the recording has no call of instances.list")
        }
        "list-and-get-agree" => (questions && lists, "the recording has not both: instances.get and instances.list"),
        "ids-are-stable" | "canonical-ids-tell-apart" => {
            (questions || lists, "the recording has neither instances.get nor instances.list")
        }
        "ready-writes-nothing" | "memo-is-kept" => (
            parts(false).any(|it| it.again.is_some()),
            "the recording has no two calls of load-balancers.ensure in a row about the same, of which the first was ready",
        ),
        "creation-is-announced" => {
            (parts(false).next().is_some(), "the recording has no call of load-balancers.ensure")
        }
        "memos-differ" => {
            let mut uids: Vec<_> = lives().filter(|it| it.part(Phase::Create).is_some()).map(|it| &it.uid).collect();
            uids.dedup();
            (uids.len() > 1, "the recording has load-balancers.ensure of one Service at most")
        }
        "errors-are-tried-again" => (
            lives().any(|it| it.trouble.is_some()),
            "the recording has no call of load-balancers.ensure or load-balancers.delete",
        ),
        "done-only-when-gone" => (parts(true).next().is_some(), "the recording has no call of load-balancers.delete"),
        "gone-is-done" => (
            parts(true).any(|it| it.again.is_some()),
            "the recording has no two calls of load-balancers.delete in a row, of which the first was done",
        ),
        "volume-none-only-when-certain" => {
            (transcript.volumes.is_some(), "the recording has no call of persistent-volumes.get-topology")
        }
        _ => (true, ""),
    };
    (!has_calls).then_some(lacking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promise::PROMISES;

    #[test]
    fn every_promise_is_judged_or_has_a_reason() {
        let judged = PROMISES.iter().filter(|it| provable(it.name).is_ok()).count();
        assert_eq!(judged, 17, "a name that no promise has is judged by nobody");
        let written: Vec<_> = PROMISES.iter().filter(|it| provable(it.name) == Err(WRITES)).map(|it| it.name).collect();
        let until_they_end = [
            "ensure-converges",
            "nothing-twice",
            "pending-moves-on",
            "waits-are-pending",
            "refusals-are-final",
            "delete-converges",
            "nothing-left",
            "versions-go-on",
            "route-changes-converge",
            "route-is-made-once",
            "done-route-is-not-written",
            "deleted-route-is-gone",
            "bad-change-stands-alone",
            "volume-steps-converge",
            "volume-is-made-once",
            "settled-volume-is-not-written",
            "attached-volume-is-not-moved",
            "used-volume-is-not-deleted",
            "volume-is-where-it-says",
            "volume-grows-and-never-shrinks",
        ];
        assert_eq!(written, until_they_end);
    }
}
