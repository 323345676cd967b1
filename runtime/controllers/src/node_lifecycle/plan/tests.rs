use crate::node_object::{NodeSpec, NodeStatus};
use k8s_openapi::api::core::v1::NodeCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

fn node(taints: &[(&str, &str)]) -> KubeNode {
    let taint = |(key, effect): &(&str, &str)| Taint {
        key: (*key).to_owned(),
        effect: (*effect).to_owned(),
        ..Taint::default()
    };
    let taints = (!taints.is_empty()).then(|| taints.iter().map(taint).collect());
    KubeNode { spec: Some(NodeSpec { taints, ..NodeSpec::default() }), ..KubeNode::default() }
}

#[track_caller]
fn check_taints(taints: &[(&str, &str)], state: State, expected: &[(&str, &str)]) {
    assert_eq!(with_state(&node(taints), state), node(expected));
}

#[test]
fn case_080_a_stopped_machine_gets_the_taint_once() {
    check_taints(&[], State::Stopped, &[(SHUTDOWN, "NoSchedule")]);
    let both = [("foo", "NoSchedule"), (SHUTDOWN, "NoSchedule")];
    check_taints(&both[..1], State::Stopped, &both);
    check_taints(&both, State::Stopped, &both);
}

#[test]
fn case_082_the_taint_goes_and_the_others_stay_in_order() {
    let all = [("foo", "NoSchedule"), (SHUTDOWN, "NoSchedule"), ("bar", "NoExecute")];
    check_taints(&all, State::Running, &[all[0], all[2]]);
    check_taints(&all[1..2], State::Running, &[]);
    check_taints(&[], State::Running, &[]);
    assert_eq!(with_state(&KubeNode::default(), State::Running), KubeNode::default());
}

#[test]
fn case_084_the_key_with_another_effect_is_another_taint() {
    let other = [(SHUTDOWN, "NoExecute")];
    check_taints(&other, State::Running, &other);
    check_taints(&other, State::Stopped, &[other[0], (SHUTDOWN, "NoSchedule")]);
    assert!(!is_tainted(&node(&other)));
}

#[test]
fn case_077_a_node_is_ready_only_if_it_says_so() {
    let with = |conditions: Option<Vec<(&str, &str)>>| {
        let condition = |(kind, status): (&str, &str)| NodeCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            ..NodeCondition::default()
        };
        let conditions = conditions.map(|it| it.into_iter().map(condition).collect());
        is_ready(&KubeNode { status: Some(NodeStatus { conditions, ..NodeStatus::default() }), ..KubeNode::default() })
    };
    assert!(with(Some(vec![("DiskPressure", "False"), ("Ready", "True")])));
    assert!(!with(Some(vec![("Ready", "False")])));
    assert!(!with(Some(vec![("Ready", "Unknown")])));
    assert!(!with(Some(vec![("DiskPressure", "True")])));
    assert!(!with(None));
    assert!(!is_ready(&KubeNode::default()));
}

/// A complete list of the cluster's machines that began with the check.
fn good() -> ListQuality<'static> {
    let began = Instant::now();
    ListQuality { began, checked: CheckBegan(began), incomplete: None, familiar: true, account: None }
}

/// Whether an old node goes by a list that began at `asked`, in a check that began at `checked`.
pub(crate) fn deletes(asked: Instant, checked: Instant, now: Instant) -> bool {
    let list = ListQuality { began: asked, checked: CheckBegan(checked), ..good() };
    objection(&aged(3600), list, DeletionPatience { decided: now, ..patience(0, 300) }).is_none()
}

fn patience(warm_up: u64, grace: u64) -> DeletionPatience {
    DeletionPatience {
        warm_up: Duration::from_secs(warm_up),
        grace: Duration::from_secs(grace),
        now: Timestamp::from_second(1_800_000_000).unwrap(),
        decided: Instant::now(),
    }
}

fn aged(seconds: i64) -> KubeNode {
    let mut node = node(&[]);
    node.metadata.creation_timestamp = Some(Time(Timestamp::from_second(1_800_000_000 - seconds).unwrap()));
    node
}

fn approved(mut node: KubeNode, word: &str) -> KubeNode {
    node.metadata.annotations.get_or_insert_default().insert(DELETE_APPROVED.to_owned(), word.to_owned());
    node
}

#[test]
fn an_old_node_that_a_good_list_lacks_goes() {
    assert_eq!(objection(&aged(300), good(), patience(0, 300)), None);
}

#[test]
fn case_101_a_young_node_stays_until_it_is_old_enough() {
    let left = |seconds| Some(Reason::Grace(Duration::from_secs(seconds)));
    assert_eq!(objection(&aged(0), good(), patience(0, 300)), left(300));
    assert_eq!(objection(&aged(299), good(), patience(0, 300)), left(1));
    assert_eq!(objection(&aged(-60), good(), patience(0, 300)), left(300), "clocks differ");
    assert_eq!(objection(&node(&[]), good(), patience(0, 300)), left(300), "it does not say how old it is");
    assert_eq!(objection(&node(&[]), good(), patience(0, 0)), None);
}

#[test]
fn in_the_first_time_of_leadership_nothing_goes() {
    let expected = Reason::WarmUp(Duration::from_secs(7));
    assert_eq!(objection(&aged(3600), good(), patience(7, 300)), Some(expected));
}

#[test]
fn adv_71_an_incomplete_or_foreign_list_proves_nothing() {
    let incomplete = ListQuality { incomplete: Some("zone b is silent"), ..good() };
    let expected = Some(Reason::Incomplete("zone b is silent".to_owned()));
    assert_eq!(objection(&aged(3600), incomplete, patience(0, 300)), expected);
    let strange = ListQuality { familiar: false, ..good() };
    assert_eq!(objection(&aged(3600), strange, patience(0, 300)), Some(Reason::Unfamiliar(None)));
}

#[test]
fn no_node_is_deleted_by_a_list_from_before_its_check() {
    let good = good();
    let stale = ListQuality { checked: CheckBegan(good.began + Duration::from_nanos(1)), ..good };
    for node in [aged(3600), approved(aged(3600), "true")] {
        assert!(matches!(objection(&node, stale, patience(0, 0)), Some(Reason::Incomplete(_))));
    }
}

#[test]
fn an_operators_word_overrules_patience_and_never_the_cloud() {
    assert_eq!(objection(&approved(aged(0), "true"), good(), patience(60, 300)), None);
    for word in ["", "false", "True", "yes"] {
        let objection = objection(&approved(aged(0), word), good(), patience(60, 300));
        assert!(matches!(objection, Some(Reason::WarmUp(_))), "{word:?}");
    }
    let strange = ListQuality { familiar: false, ..good() };
    assert_eq!(objection(&approved(aged(3600), "true"), strange, patience(0, 0)), Some(Reason::Unfamiliar(None)));
    let incomplete = ListQuality { incomplete: Some("it is"), ..good() };
    let objection = objection(&approved(aged(3600), "true"), incomplete, patience(0, 0));
    assert!(matches!(objection, Some(Reason::Incomplete(_))));
}

#[test]
fn all_machines_gone_takes_approval_and_the_clusters_account() {
    let account: Arc<str> = "team-1".into();
    let all_gone = ListQuality { familiar: false, account: Some(&account), ..good() };
    let expected = Reason::Unfamiliar(Some(account.clone()));
    let message = expected.message("worker-7");
    assert!(message.contains("team-1") && message.contains("aerostat.dev/delete-approved=true"), "{message}");
    assert_eq!(objection(&aged(3600), all_gone, patience(0, 300)), Some(expected));
    assert_eq!(objection(&approved(aged(3600), "true"), all_gone, patience(0, 300)), None);
    let incomplete = ListQuality { incomplete: Some("it is"), ..all_gone };
    let objection = objection(&approved(aged(3600), "true"), incomplete, patience(0, 0));
    assert!(matches!(objection, Some(Reason::Incomplete(_))));
}

#[test]
fn every_reason_has_its_label_and_names_the_node() {
    let reasons = [
        Reason::Account("another account".to_owned()),
        Reason::Incomplete("zone b is silent".to_owned()),
        Reason::Unfamiliar(None),
        Reason::Contradiction,
        Reason::Twin("worker-8".to_owned()),
        Reason::WarmUp(Duration::from_secs(1)),
        Reason::Grace(Duration::from_secs(1)),
        Reason::Budget { deletions: 3, window: Duration::from_secs(600) },
    ];
    assert_eq!(reasons.each_ref().map(Reason::label), Reason::LABELS);
    for reason in &reasons {
        let message = reason.message("worker-7");
        assert!(message.contains("node worker-7"), "{message}");
        let patience = matches!(reason, Reason::WarmUp(_) | Reason::Grace(_) | Reason::Budget { .. });
        assert_eq!(message.contains("aerostat.dev/delete-approved=true"), patience, "{message}");
    }
    assert_eq!(Reason::Grace(Duration::from_secs(1)).message("n"), Reason::Grace(Duration::from_secs(2)).message("n"));
    let ends = |reason: fn(Duration) -> Reason| reason(Duration::from_secs(7)).ends_in();
    assert_eq!([ends(Reason::Grace), ends(Reason::WarmUp)], [Some(Duration::from_secs(7)); 2]);
    assert_eq!(Reason::Contradiction.ends_in(), None);
}
