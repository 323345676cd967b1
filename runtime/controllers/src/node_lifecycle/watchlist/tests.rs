use std::collections::HashSet;

use crate::node_object::NodeStatus;
use k8s_openapi::api::core::v1::NodeCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

const PERIOD: Duration = Duration::from_secs(5);
const APART: Duration = Duration::from_secs(3);

fn node(name: &str, uid: &str) -> Arc<KubeNode> {
    let mut node = KubeNode::default();
    node.metadata.name = Some(name.into());
    node.metadata.uid = Some(uid.into());
    Arc::new(node)
}

fn nodes(count: usize) -> Vec<Arc<KubeNode>> {
    (0..count).map(|nth| node(&format!("n{nth}"), &format!("u{nth}"))).collect()
}

fn names(nodes: &[Arc<KubeNode>]) -> Vec<String> {
    nodes.iter().map(|it| it.name_any()).collect()
}

/// Seconds after which one node is checked, if each check has this outcome.
fn checks(outcome: CheckOutcome, seconds: u64) -> Vec<u64> {
    let (start, them) = (Instant::now(), nodes(1));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    let mut checks = Vec::new();
    for second in (0..seconds).step_by(5) {
        let now = start + Duration::from_secs(second);
        for node in watchlist.take(&them, None, now).due {
            checks.push(second);
            watchlist.settle(&node, outcome, now);
        }
    }
    checks
}

#[test]
fn case_105_looks_at_a_node_that_is_there_become_rare() {
    let checks = checks(CheckOutcome::Present { calls: 1 }, 3600);
    assert_eq!(checks[..9], [0, 5, 15, 35, 75, 155, 315, 615, 915]);
    assert!(checks.len() * 100 < 5 * 1440 / 2, "less than half of 5 % of 1,440: {}", checks.len());
    assert_eq!(checks.len(), 17);
}

#[test]
fn errors_make_checks_rare_and_a_requested_pause_is_kept() {
    assert_eq!(checks(CheckOutcome::Failed(None), 3600).len(), 17);
    assert_eq!(checks(CheckOutcome::Failed(Some(Duration::from_secs(120))), 600), [0, 120, 240, 360, 480]);
}

#[test]
fn a_check_that_asked_nothing_makes_no_pause_longer() {
    assert_eq!(checks(CheckOutcome::Postponed(Duration::from_secs(15)), 60), [0, 15, 30, 45]);
    assert_eq!(checks(CheckOutcome::Postponed(Duration::ZERO), 20), [0, 5, 10, 15]);
}

#[test]
fn a_node_is_checked_when_the_reason_to_withhold_ends() {
    assert_eq!(checks(CheckOutcome::Withheld(None), 320), [0, 5, 15, 35, 75, 155, 315]);
    assert_eq!(checks(CheckOutcome::Withheld(Some(Duration::from_secs(12))), 60), [0, 5, 15, 30, 45]);
}

/// Cases: case 105
#[test]
fn fifty_failed_nodes_share_twelve_checks_an_hour() {
    let (start, them) = (Instant::now(), nodes(50));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    let mut rounds = Vec::new();
    for second in (0..7200_u64).step_by(5) {
        let now = start + Duration::from_secs(second);
        // One more node each 17 seconds.
        let failed = usize::try_from(second / 17).unwrap().min(them.len());
        let taken = watchlist.take(&them[..failed], None, now);
        if !taken.due.is_empty() {
            rounds.push(second);
        }
        for node in taken.due.iter().chain(&taken.early) {
            watchlist.settle(node, CheckOutcome::Present { calls: 1 }, now);
        }
    }
    let second_hour = rounds.iter().filter(|it| **it >= 3600).count();
    assert_eq!(second_hour, 12);
}

#[test]
fn a_node_has_one_check_at_a_time() {
    let (now, them) = (Instant::now(), nodes(2));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    assert_eq!(names(&watchlist.take(&them, None, now).due), ["n0", "n1"]);
    watchlist.settle(&them[1], CheckOutcome::Present { calls: 1 }, now);
    let later = now + PERIOD;
    assert_eq!(names(&watchlist.take(&them, None, later).due), ["n1"], "nobody has settled n0");
}

#[test]
fn nodes_whose_time_has_not_come_are_taken_only_beside_others() {
    let (now, them) = (Instant::now(), nodes(2));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    let taken = watchlist.take(&them[..1], None, now);
    watchlist.settle(&taken.due[0], CheckOutcome::Present { calls: 1 }, now);
    let taken = watchlist.take(&them, None, now);
    assert_eq!((names(&taken.due), names(&taken.early)), (vec!["n1".to_owned()], vec!["n0".to_owned()]));
    watchlist.settle(&them[0], CheckOutcome::Early, now);
    watchlist.settle(&them[1], CheckOutcome::Present { calls: 1 }, now);
    let taken = watchlist.take(&them, None, now);
    assert!(taken.due.is_empty() && taken.early.is_empty());
    assert_eq!(watchlist.take(&them, None, now + PERIOD).due.len(), 2, "a check without a result changes nothing");
}

#[test]
fn a_missing_machine_is_missed_twice() {
    let (now, them) = (Instant::now(), nodes(1));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    watchlist.take(&them, None, now);
    assert!(!watchlist.miss(&them[0]));
    assert!(watchlist.is_missing(&them[0]));
    watchlist.settle(&them[0], CheckOutcome::Absent, now);
    assert!(watchlist.take(&them, None, now + PERIOD - Duration::from_millis(1)).due.is_empty());
    assert_eq!(watchlist.take(&them, None, now + PERIOD).due.len(), 1);
    assert!(watchlist.miss(&them[0]));
}

#[test]
fn two_checks_that_miss_a_machine_are_two_answers() {
    let (now, them) = (Instant::now(), nodes(1));
    let mut watchlist = Watchlist::new(Duration::from_millis(100), APART);
    watchlist.take(&them, None, now);
    watchlist.miss(&them[0]);
    watchlist.settle(&them[0], CheckOutcome::Absent, now);
    let kept_by_the_egress = Duration::from_secs(2);
    assert!(watchlist.take(&them, None, now + kept_by_the_egress).due.is_empty());
    assert_eq!(watchlist.take(&them, None, now + APART).due.len(), 1);
}

#[test]
fn adv_72_a_flapping_machine_must_be_missing_longer_each_time() {
    let (now, them) = (Instant::now(), nodes(1));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    watchlist.take(&them, None, now);
    for needed in [2, 4, 8, 16, 16] {
        let missed = (1..).take_while(|_| !watchlist.miss(&them[0])).count();
        assert_eq!(missed + 1, needed);
        watchlist.settle(&them[0], CheckOutcome::Present { calls: 1 }, now);
    }
    // One that is there every other time is never missed for long enough.
    let mut watchlist = Watchlist::new(PERIOD, APART);
    watchlist.take(&them, None, now);
    for _ in 0..1000 {
        assert!(!watchlist.miss(&them[0]));
        watchlist.settle(&them[0], CheckOutcome::Present { calls: 1 }, now);
    }
}

#[test]
fn a_change_of_readiness_between_passes_resets_the_checks() {
    let (now, mut them) = (Instant::now(), nodes(1));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    watchlist.take(&them, None, now);
    watchlist.miss(&them[0]);
    watchlist.settle(&them[0], CheckOutcome::Absent, now);
    let changed = serde_json::json!({
        "metadata": { "name": "n0", "uid": "u0" },
        "status": { "conditions": [
            { "type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-02T03:04:05Z" },
        ] },
    });
    them[0] = Arc::new(serde_json::from_value(changed).unwrap());
    assert_eq!(watchlist.take(&them, None, now).due.len(), 1);
    assert!(!watchlist.miss(&them[0]), "it may have been ready in between");
}

#[test]
fn a_node_that_is_ready_again_starts_over() {
    let (now, them) = (Instant::now(), nodes(1));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    watchlist.take(&them, None, now);
    watchlist.miss(&them[0]);
    watchlist.settle(&them[0], CheckOutcome::Absent, now);
    watchlist.take(&[], None, now);
    watchlist.take(&them, None, now);
    assert!(!watchlist.miss(&them[0]), "it was ready in between");

    let another = node("n0", "u-other");
    watchlist.take(std::slice::from_ref(&another), None, now);
    assert!(!watchlist.miss(&another), "it has the name, and is another node");
    assert!(!watchlist.miss(&them[0]), "it is not there any more");
}

fn not_ready_since(second: i64) -> [Arc<KubeNode>; 1] {
    let condition = NodeCondition {
        type_: "Ready".into(),
        status: "False".into(),
        last_transition_time: Some(Time(Timestamp::from_second(second).unwrap())),
        ..NodeCondition::default()
    };
    let mut node = KubeNode::clone(&node("n0", "u0"));
    node.status = Some(NodeStatus { conditions: Some(vec![condition]), ..NodeStatus::default() });
    [Arc::new(node)]
}

#[test]
fn a_check_from_before_a_node_was_ready_postpones_no_other() {
    let (now, before, after) = (Instant::now(), not_ready_since(1000), not_ready_since(1100));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    assert_eq!(watchlist.take(&before, None, now).due.len(), 1);
    assert_eq!(watchlist.take(&after, None, now).due.len(), 0, "there is one check at a time");
    assert!((0..ABSENCES).all(|_| !watchlist.miss(&before[0])), "it was ready in between");
    watchlist.settle(&before[0], CheckOutcome::Present { calls: 9 }, now);
    assert_eq!(watchlist.take(&after, None, now).due.len(), 1, "it is looked at again at once");
    assert!(!watchlist.miss(&after[0]));
    watchlist.settle(&after[0], CheckOutcome::Absent, now);
    assert_eq!(watchlist.take(&after, None, now).due.len(), 0);
}

#[test]
fn a_check_from_before_a_node_was_ready_settles_nothing() {
    let now = Instant::now();
    let (before, after) = (not_ready_since(1000), not_ready_since(1100));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    watchlist.take(&before, None, now);
    watchlist.take(&[], None, now);
    assert_eq!(watchlist.take(&after, None, now).due.len(), 1);
    assert!((0..ABSENCES).all(|_| !watchlist.miss(&before[0])));
    watchlist.settle(&before[0], CheckOutcome::Present { calls: 9 }, now);
    watchlist.settle(&after[0], CheckOutcome::Present { calls: 1 }, now);
    assert_eq!(watchlist.take(&after, None, now + PERIOD).due.len(), 1, "its pause is the first one");
}

#[test]
fn a_node_that_was_ready_is_checked_often_again() {
    let start = Instant::now();
    let mut watchlist = Watchlist::new(PERIOD, APART);
    let mut checks = Vec::new();
    for second in (0..200).step_by(5) {
        let now = start + Duration::from_secs(second);
        let node = not_ready_since(if second < 100 { 1000 } else { 1100 });
        for node in watchlist.take(&node, None, now).due {
            checks.push(second);
            watchlist.settle(&node, CheckOutcome::Present { calls: 1 }, now);
        }
    }
    assert_eq!(checks, [0, 5, 15, 35, 75, 100, 105, 115, 135, 175]);
}

#[test]
fn a_reason_is_recorded_once_in_ten_minutes() {
    let (now, them) = (Instant::now(), nodes(1));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    watchlist.take(&them, None, now);
    let grace = |seconds| Reason::Grace(Duration::from_secs(seconds));
    assert!(watchlist.is_new(&them[0], &grace(9), now));
    assert!(!watchlist.is_new(&them[0], &grace(4), now), "only less of it is left");
    assert!(watchlist.is_new(&them[0], &Reason::Unfamiliar(None), now));
    assert!(!watchlist.is_new(&them[0], &grace(2), now), "another one was told in between");
    assert!(!watchlist.is_new(&them[0], &Reason::Unfamiliar(None), now + QUIET - PERIOD));
    assert!(watchlist.is_new(&them[0], &Reason::Unfamiliar(None), now + QUIET));
}

#[test]
fn every_node_is_taken_once() {
    let (now, them) = (Instant::now(), nodes(100));
    let mut watchlist = Watchlist::new(PERIOD, APART);
    let taken = watchlist.take(&them, None, now);
    assert_eq!(names(&taken.due).into_iter().collect::<HashSet<_>>().len(), 100);
}

#[test]
fn a_check_that_takes_more_calls_comes_less_often() {
    let seconds = |calls: usize| checks(CheckOutcome::Present { calls }, 600);
    assert_eq!(seconds(1), [0, 5, 15, 35, 75, 155, 315]);
    assert_eq!(seconds(5), [0, 25, 125, 425]);
    assert_eq!(seconds(50), [0, 250, 550]);
}

#[test]
fn a_list_that_is_there_answers_only_if_it_is_newer() {
    let start = Instant::now();
    let second = |it: u64| start + Duration::from_secs(it);
    let mut watchlist = Watchlist::new(PERIOD, APART);
    let them = nodes(1);
    watchlist.take(&them, None, start);
    watchlist.settle(&them[0], CheckOutcome::Absent, second(1));
    assert!(watchlist.take(&them, Some(start), second(2)).early.is_empty(), "its machine was missing after that");
    assert_eq!(watchlist.take(&them, Some(second(2)), second(3)).early.len(), 1);
}
