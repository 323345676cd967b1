use serde_json::{Value, from_value, json};

use super::*;

const DRIVER: &str = "csi.fakecloud.example";
const GIB: u64 = 1 << 30;

fn merged(mut object: Value, change: &Value) -> Value {
    for (part, fields) in change.as_object().unwrap() {
        for (field, value) in fields.as_object().unwrap() {
            object[part][field] = value.clone();
        }
    }
    object
}

/// A claim of 10 Gi that asks for so much, with further fields.
fn asking(size: &str, change: Value) -> PersistentVolumeClaim {
    let claim = json!({
        "metadata": { "name": "data", "namespace": "default", "uid": "1" },
        "spec": { "volumeName": "pv-1", "resources": { "requests": { "storage": size } } },
        "status": { "phase": "Bound", "capacity": { "storage": "10Gi" } },
    });
    from_value(merged(claim, &change)).unwrap()
}

/// The status of a claim whose volume was to grow to a size.
fn begun(size: &str, status: &str) -> Value {
    json!({ "status": {
        "allocatedResources": { "storage": size }, "allocatedResourceStatuses": { "storage": status },
    } })
}

/// The claim's PersistentVolume of a size, with further fields.
fn sized(size: &str, change: Value) -> PersistentVolume {
    let pv = json!({
        "metadata": { "name": "pv-1" },
        "spec": {
            "capacity": { "storage": size }, "csi": { "driver": DRIVER, "volumeHandle": "vol-1" },
            "claimRef": { "namespace": "default", "name": "data", "uid": "1" },
        },
    });
    from_value(merged(pv, &change)).unwrap()
}

fn described() -> VolumeDescription {
    VolumeDescription {
        driver: DRIVER.to_owned(),
        smallest_bytes: GIB,
        step_bytes: GIB,
        largest_bytes: 100 * GIB,
        growth: VolumeGrowth::Online,
        ..VolumeDescription::default()
    }
}

fn step(one: &PersistentVolumeClaim, pv: &PersistentVolume) -> ExpandStep {
    claim(one, Some(pv), false, &described())
}

/// The size that a step is towards, whether it is begun, and who failed before; `None` for nothing.
fn towards(step: ExpandStep) -> Option<(String, bool, Option<FailedSide>)> {
    match step {
        ExpandStep::Ignore => None,
        ExpandStep::Expand(it) => Some((it.size, it.is_begun, it.failed)),
        other => panic!("{other:?}"),
    }
}

/// Checks the step of a claim of 10 Gi that asks for `asked`, with a PersistentVolume of `has`, and was to grow to `begun_with` with
/// this status.
#[track_caller]
fn check(asked: &str, has: &str, was: Option<(&str, &str)>, expected: Option<(&str, bool, Option<FailedSide>)>) {
    let was = was.map_or_else(|| json!({}), |(size, status)| begun(size, status));
    let found = towards(step(&asking(asked, was), &sized(has, json!({}))));
    let found = found.as_ref().map(|(size, is_begun, failed)| (size.as_str(), *is_begun, *failed));
    assert_eq!(found, expected);
}

/// Cases: csi 69
#[test]
fn a_claim_that_asks_for_more_grows_to_a_size_of_the_cloud() {
    let ExpandStep::Expand(target) = step(&asking("20500Mi", json!({})), &sized("10Gi", json!({}))) else {
        panic!("it grows")
    };
    assert_eq!((target.size.as_str(), target.bytes, target.is_begun), ("20500Mi", 21 * GIB, false));
    let volume = KnownVolume { handle: "vol-1".to_owned(), name: "pv-1".to_owned(), ..KnownVolume::default() };
    assert_eq!(target.volume, volume);
    let block = sized("10Gi", json!({ "spec": { "volumeMode": "Block" } }));
    assert!(matches!(step(&asking("20Gi", json!({})), &block), ExpandStep::Expand(it) if it.volume.is_block));
    let memo = sized("10Gi", json!({ "metadata": { "annotations": { EXPANSION_MEMO: "m" } } }));
    let told = step(&asking("20Gi", json!({})), &memo);
    assert!(matches!(told, ExpandStep::Expand(it) if it.volume.memo.as_deref() == Some("m")));
}

/// Cases: csi 69, csi 70
#[test]
fn a_claim_that_asks_for_no_more_is_left_alone() {
    for size in ["10Gi", "5Gi", "10240Mi"] {
        assert_eq!(step(&asking(size, json!({})), &sized("10Gi", json!({}))), ExpandStep::Ignore, "{size}");
    }
    let more = asking("20Gi", json!({}));
    for pv in [
        json!({ "spec": { "csi": { "driver": "another", "volumeHandle": "vol-1" } } }),
        json!({ "spec": { "csi": null } }),
        json!({ "spec": { "claimRef": null } }),
        json!({ "spec": { "claimRef": { "namespace": "default", "name": "data", "uid": "2" } } }),
        json!({ "spec": { "claimRef": { "namespace": "another", "name": "data", "uid": "1" } } }),
        json!({ "metadata": { "name": "pv-2" } }),
    ] {
        assert_eq!(step(&more, &sized("10Gi", pv.clone())), ExpandStep::Ignore, "{pv}");
    }
    let pending = asking("20Gi", json!({ "status": { "phase": "Pending" } }));
    assert_eq!(step(&pending, &sized("10Gi", json!({}))), ExpandStep::Ignore);
    assert_eq!(claim(&more, None, false, &described()), ExpandStep::Ignore);
}

/// Cases: csi 70, csi 72
#[test]
fn a_growth_that_was_begun_is_carried_on_to_its_size() {
    check("20Gi", "10Gi", None, Some(("20Gi", false, None)));
    check("20Gi", "10Gi", Some(("20Gi", AT_WORK)), Some(("20Gi", true, None)));
    check("30Gi", "10Gi", Some(("20Gi", AT_WORK)), Some(("20Gi", true, None)));
    check("12Gi", "10Gi", Some(("20Gi", AT_WORK)), Some(("20Gi", true, None)));
    // The PersistentVolume was written, and the claim was not.
    check("20Gi", "20Gi", Some(("20Gi", AT_WORK)), Some(("20Gi", true, None)));
    check("12Gi", "20Gi", Some(("20Gi", AT_WORK)), Some(("20Gi", true, None)));
}

/// Cases: csi 69
#[test]
fn a_claim_waits_for_its_node() {
    for status in [NODE_NEXT, NODE_AT_WORK] {
        check("20Gi", "20Gi", Some(("20Gi", status)), None);
        check("30Gi", "20Gi", Some(("20Gi", status)), None);
        check("12Gi", "20Gi", Some(("20Gi", status)), None);
        check("30Gi", "10Gi", Some(("20Gi", status)), Some(("20Gi", true, None)));
    }
    check("20Gi", "20Gi", Some(("20Gi", NODE_INFEASIBLE)), Some(("20Gi", true, Some(FailedSide::Node))));
    check("30Gi", "20Gi", Some(("20Gi", NODE_INFEASIBLE)), Some(("20Gi", true, Some(FailedSide::Node))));
    let waits = json!({ "status": { "conditions": [{ "type": NODE_CONDITION, "status": "True" }] } });
    assert_eq!(step(&asking("20Gi", waits.clone()), &sized("20Gi", json!({}))), ExpandStep::Ignore, "an older server");
    assert!(towards(step(&asking("30Gi", waits), &sized("20Gi", json!({})))).is_some());
}

/// Cases: csi 70
#[test]
fn a_size_that_was_refused_may_be_lowered() {
    check("99Gi", "10Gi", Some(("99Gi", INFEASIBLE)), Some(("99Gi", true, Some(FailedSide::Cloud))));
    check("12Gi", "10Gi", Some(("99Gi", INFEASIBLE)), Some(("12Gi", false, None)));
    check("12Gi", "12Gi", Some(("99Gi", INFEASIBLE)), Some(("12Gi", false, None)));
    let lowered = asking("12Gi", begun("99Gi", AT_WORK));
    let pv = sized("10Gi", json!({}));
    let after_refusal = towards(claim(&lowered, Some(&pv), true, &described()));
    assert_eq!(after_refusal, Some(("12Gi".to_owned(), false, None)), "a quota that is used up");
}

/// Cases: csi 71
#[test]
fn a_larger_persistent_volume_is_no_reason_to_shrink() {
    check("20Gi", "30Gi", None, Some(("20Gi", false, None)));
    check("10Gi", "30Gi", None, None);
}

/// Cases: csi 70
#[test]
fn sizes_that_no_volume_has_are_refused_and_ask_nobody() {
    let refused = |size: &str, described: &VolumeDescription, pv: &PersistentVolume| match claim(
        &asking(size, json!({})),
        Some(pv),
        false,
        described,
    ) {
        ExpandStep::Refuse(target, why) => {
            assert_eq!(target.size, size);
            why
        }
        other => panic!("{size}: {other:?}"),
    };
    let pv = sized("10Gi", json!({}));
    for size in ["101Gi", "107374182401", "16Ei", "99999999999999999999999Ei"] {
        assert!(refused(size, &described(), &pv).contains("100Gi"), "{size}");
    }
    assert!(towards(step(&asking("100Gi", json!({})), &pv)).is_some());
    let never = VolumeDescription { growth: VolumeGrowth::Never, ..described() };
    assert!(refused("20Gi", &never, &pv).contains("do not grow"));
    let csi = json!({
        "driver": DRIVER, "volumeHandle": "vol-1", "controllerExpandSecretRef": { "name": "a", "namespace": "b" },
    });
    let secret = sized("10Gi", json!({ "spec": { "csi": csi } }));
    assert!(refused("20Gi", &described(), &secret).contains("no secret"));
}

#[test]
fn the_size_before_is_forgotten_once_the_node_is_done() {
    let marked = json!({ "metadata": { "annotations": { SIZE_BEFORE: "10Gi" } } });
    let grown = json!({ "status": { "capacity": { "storage": "20Gi" } } });
    assert_eq!(step(&asking("20Gi", grown.clone()), &sized("20Gi", marked.clone())), ExpandStep::Forget);
    assert_eq!(step(&asking("30Gi", grown.clone()), &sized("20Gi", marked.clone())), ExpandStep::Forget);
    assert_eq!(step(&asking("20Gi", grown), &sized("20Gi", json!({}))), ExpandStep::Ignore);
    let waits = asking("20Gi", begun("20Gi", NODE_NEXT));
    assert_eq!(step(&waits, &sized("20Gi", marked)), ExpandStep::Ignore);
}

#[test]
fn writes_of_this_controller_are_no_news() {
    let before = asking("20Gi", json!({}));
    for own in [begun("20Gi", AT_WORK), begun("20Gi", INFEASIBLE), begun("20Gi", NODE_NEXT)] {
        assert!(!is_news(&before, &asking("20Gi", own.clone())), "{own}");
    }
    for others in [
        begun("20Gi", NODE_INFEASIBLE),
        json!({ "status": { "capacity": { "storage": "20Gi" } } }),
        json!({ "status": { "phase": "Lost" } }),
        json!({ "metadata": { "uid": "2" } }),
        json!({ "spec": { "volumeName": "pv-2", "resources": { "requests": { "storage": "20Gi" } } } }),
    ] {
        assert!(is_news(&before, &asking("20Gi", others.clone())), "{others}");
    }
    assert!(is_news(&before, &asking("30Gi", json!({}))));
}

/// Its author changes it as often as he likes.
#[test]
fn a_growing_volume_is_not_asked_about_for_another_size() {
    let (idle, begun_at) = (asking("20Gi", json!({})), |size: &str, status: &str| asking(size, begun("20Gi", status)));
    let grows = begun_at("20Gi", AT_WORK);
    for (before, after, is_refused, expected) in [
        (None, &idle, false, GrowthWake::AtOnce),
        (None, &asking("10Gi", json!({})), false, GrowthWake::Never),
        (Some(&idle), &grows, false, GrowthWake::Never),
        (Some(&idle), &asking("30Gi", json!({})), false, GrowthWake::AtOnce),
        (Some(&grows), &begun_at("30Gi", AT_WORK), false, GrowthWake::IfIdle),
        (Some(&grows), &begun_at("15Gi", AT_WORK), false, GrowthWake::IfIdle),
        (Some(&grows), &begun_at("15Gi", AT_WORK), true, GrowthWake::AtOnce),
        (Some(&begun_at("20Gi", INFEASIBLE)), &begun_at("15Gi", INFEASIBLE), false, GrowthWake::AtOnce),
        (
            Some(&grows),
            &asking("20Gi", merged(begun("20Gi", AT_WORK), &json!({ "metadata": { "uid": "2" } }))),
            false,
            GrowthWake::AtOnce,
        ),
    ] {
        assert_eq!(wake(before, after, is_refused), expected, "{before:?} {after:?} {is_refused}");
    }
}

#[test]
fn a_persistent_volume_names_its_claim() {
    assert_eq!(claim_of(&sized("1Gi", json!({})), DRIVER).as_deref(), Some("default/data"));
    assert_eq!(claim_of(&sized("1Gi", json!({})), "another"), None);
    assert_eq!(claim_of(&sized("1Gi", json!({ "spec": { "claimRef": null } })), DRIVER), None);
}
