use serde_json::{Value, from_value, json};

use super::*;

const DRIVER: &str = "csi.fakecloud.example";
const OWN: &str = "external-attacher/csi-fakecloud-example";

fn merged(mut object: Value, change: &Value) -> Value {
    for (part, fields) in change.as_object().unwrap() {
        for (field, value) in fields.as_object().unwrap() {
            object[part][field] = value.clone();
        }
    }
    object
}

/// An attachment as kube-controller-manager makes it.
fn new(change: Value) -> VolumeAttachment {
    let spec = json!({ "attacher": DRIVER, "nodeName": "n1", "source": { "persistentVolumeName": "pv-1" } });
    from_value(merged(json!({ "metadata": { "name": "csi-1" }, "spec": spec }), &change)).unwrap()
}

/// One that was begun at machine 7.
fn begun(change: &Value) -> VolumeAttachment {
    let annotations = json!({ NODE_ID: "7", HANDLE: "vol-1" });
    let metadata = json!({ "finalizers": [OWN], "annotations": annotations });
    new(merged(json!({ "metadata": metadata }), change))
}

fn goes() -> Value {
    json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })
}

fn attached() -> Value {
    json!({ "status": { "attached": true } })
}

fn pv(change: Value) -> PersistentVolume {
    let csi = json!({ "driver": DRIVER, "volumeHandle": "vol-1", "volumeAttributes": { "a": "b" } });
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "csi": csi });
    let object = json!({ "metadata": { "name": "pv-1", "finalizers": [OWN] }, "spec": spec });
    from_value(merged(object, &change)).unwrap()
}

fn target(node_id: &str) -> Target {
    let attributes = vec![("a".to_owned(), "b".to_owned())];
    let volume = KnownVolume { handle: "vol-1".to_owned(), name: "pv-1".to_owned(), attributes, memo: None };
    Target { volume, node_id: node_id.to_owned() }
}

fn step(of: &VolumeAttachment, volume: Option<&PersistentVolume>, node_id: Option<&str>) -> AttachStep {
    attachment(of, KnownFacts { volume, node_id, is_shared: false }, DRIVER)
}

/// Cases: csi 47
#[test]
fn an_attachment_is_guarded_before_the_cloud_is_asked() {
    let (bare, guarded) = (pv(json!({ "metadata": { "finalizers": ["other"] } })), pv(json!({})));
    assert_eq!(step(&new(json!({})), Some(&bare), Some("7")), AttachStep::GuardVolume);
    assert_eq!(step(&new(json!({})), Some(&bare), None), AttachStep::GuardVolume, "before the node is known");
    assert_eq!(step(&new(json!({})), Some(&guarded), Some("7")), AttachStep::GuardAttachment(target("7")));
    let vendors = begun(&json!({ "metadata": { "annotations": { NODE_ID: "7" } } }));
    assert_eq!(step(&vendors, Some(&guarded), Some("7")), AttachStep::GuardAttachment(target("7")), "taken over");
    let mode = AttachMode { access_modes: vec![AccessMode::OneNode], ..AttachMode::default() };
    assert_eq!(step(&begun(&json!({})), Some(&guarded), Some("7")), AttachStep::Attach(target("7"), mode));
}

/// Cases: csi 65
#[test]
fn an_attached_volume_costs_nothing() {
    for (attachment, due) in [
        (begun(&attached()), false),
        (new(json!({ "spec": { "attacher": "csi.other.example" } })), false),
        (new(goes()), false),
        (begun(&json!({})), true),
        (begun(&goes()), true),
        (begun(&merged(goes(), &attached())), true),
    ] {
        assert_eq!(is_due(&attachment, DRIVER), due, "{attachment:?}");
        let ignored = step(&attachment, Some(&pv(json!({}))), Some("7")) == AttachStep::Ignore;
        assert_eq!(ignored, !due, "{attachment:?}");
    }
}

/// Cases: csi 48
#[test]
fn an_attachment_waits_for_what_is_not_there() {
    let volume = pv(json!({}));
    let waits = |volume, node_id, part: &str| {
        let step = step(&new(json!({})), volume, node_id);
        assert!(matches!(&step, AttachStep::Wait(why) if why.contains(part)), "{step:?}");
    };
    waits(Some(&volume), None, "node n1 has no id of driver");
    waits(None, Some("7"), "PersistentVolume pv-1 does not exist");
    let refused = |change: Value, part: &str| {
        let step = step(&new(json!({})), Some(&pv(change)), Some("7"));
        assert!(matches!(&step, AttachStep::Refuse(why) if why.contains(part)), "{step:?}");
    };
    refused(goes(), "PersistentVolume \"pv-1\" is marked for deletion");
    refused(json!({ "spec": { "csi": { "driver": "other", "volumeHandle": "vol-1" } } }), "is not one of driver");
}

/// Cases: csi 49, 51, 52
#[test]
fn an_attachment_that_goes_is_undone_without_volume_and_node() {
    let volume = pv(json!({}));
    for change in [goes(), merged(goes(), &attached())] {
        assert_eq!(step(&begun(&change), Some(&volume), Some("7")), AttachStep::Detach(target("7")));
        assert_eq!(step(&begun(&change), Some(&volume), None), AttachStep::Detach(target("7")), "without CSINode");
        let gone = KnownVolume { handle: "vol-1".to_owned(), ..KnownVolume::default() };
        let from_itself = Target { volume: gone, node_id: "7".to_owned() };
        assert_eq!(step(&begun(&change), None, None), AttachStep::Detach(from_itself), "without PersistentVolume");
    }
    let vendors =
        json!({ "metadata": { "annotations": { NODE_ID: "7" }, "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    let step = step(&begun(&vendors), None, None);
    assert!(matches!(&step, AttachStep::Wait(why) if why.contains("is gone")), "nothing is guessed: {step:?}");
}

/// A kubelet writes its CSINode, and could name another's machine.
#[test]
fn a_volume_is_detached_where_it_was_attached() {
    let volume = pv(json!({}));
    assert_eq!(step(&begun(&goes()), Some(&volume), Some("8")), AttachStep::Detach(target("7")));
    assert_eq!(step(&begun(&json!({})), Some(&volume), Some("8")), AttachStep::Leave(target("7")), "first that");
}

/// An attachment that a person made beside another one takes nothing away with it.
#[test]
fn a_volume_that_another_attachment_holds_stays() {
    let volume = pv(json!({}));
    let near = KnownFacts { volume: Some(&volume), node_id: Some("7"), is_shared: true };
    assert_eq!(attachment(&begun(&goes()), near, DRIVER), AttachStep::Free);
    assert!(matches!(attachment(&begun(&json!({})), near, DRIVER), AttachStep::Attach(..)));
}

#[test]
fn memos_are_those_of_the_same_function() {
    let memos = json!({ "metadata": { "annotations": {
        NODE_ID: "7", HANDLE: "vol-1", ATTACH_MEMO: "in", DETACH_MEMO: "out",
    } } });
    let memo = |change: &Value| match step(&begun(change), Some(&pv(json!({}))), Some("7")) {
        AttachStep::Attach(it, _) | AttachStep::Detach(it) => it.volume.memo,
        other => panic!("{other:?}"),
    };
    assert_eq!(memo(&memos).as_deref(), Some("in"));
    assert_eq!(memo(&merged(memos, &goes())).as_deref(), Some("out"));
}

#[test]
fn a_volume_is_let_go_once_no_attachment_names_it() {
    assert!(is_let_go(&pv(goes()), false, DRIVER));
    assert!(!is_let_go(&pv(goes()), true, DRIVER));
    assert!(!is_let_go(&pv(json!({})), false, DRIVER), "it stays");
    assert!(!is_let_go(&pv(goes()), false, "another"), "it has no finalizer of that driver");
}

/// Cases: csi 53
#[test]
fn a_long_error_is_cut_between_characters() {
    let text = format!("{}ä", "x".repeat(1_023));
    assert_eq!(message(&text), "x".repeat(1_023));
    assert_eq!(message("short"), "short");
}
