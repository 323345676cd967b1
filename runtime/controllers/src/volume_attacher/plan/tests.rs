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

fn target(node_id: &str) -> VolumeTarget {
    let attributes = vec![("a".to_owned(), "b".to_owned())];
    let volume =
        KnownVolume { handle: "vol-1".to_owned(), name: "pv-1".to_owned(), attributes, memo: None, is_block: false };
    VolumeTarget { volume, node_id: node_id.to_owned() }
}

fn step(of: &VolumeAttachment, volume: Option<&PersistentVolume>, node_id: Option<&str>) -> AttachStep {
    attachment(of, KnownFacts { volume, node_id, ..KnownFacts::default() }, DRIVER)
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

/// Cases: csi 49, csi 51, csi 52
#[test]
fn an_attachment_that_goes_is_undone_without_volume_and_node() {
    let volume = pv(json!({}));
    for change in [goes(), merged(goes(), &attached())] {
        assert_eq!(step(&begun(&change), Some(&volume), Some("7")), AttachStep::Detach(target("7")));
        assert_eq!(step(&begun(&change), Some(&volume), None), AttachStep::Detach(target("7")), "without CSINode");
        let gone = KnownVolume { handle: "vol-1".to_owned(), ..KnownVolume::default() };
        let from_itself = VolumeTarget { volume: gone, node_id: "7".to_owned() };
        assert_eq!(step(&begun(&change), None, None), AttachStep::Detach(from_itself), "without PersistentVolume");
    }
    let vendors =
        json!({ "metadata": { "annotations": { NODE_ID: "7" }, "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    let step = step(&begun(&vendors), None, None);
    assert!(matches!(&step, AttachStep::Wait(why) if why.contains("is gone")), "nothing is guessed: {step:?}");
}

/// A kubelet writes its CSINode, and could name another's machine. A PersistentVolume that was deleted and made again may be another
/// volume's.
///
/// Cases: csi 51, adv 180
#[test]
fn a_volume_is_detached_where_it_was_attached() {
    let volume = pv(json!({}));
    assert_eq!(step(&begun(&goes()), Some(&volume), Some("8")), AttachStep::Detach(target("7")));
    assert_eq!(step(&begun(&json!({})), Some(&volume), Some("8")), AttachStep::Leave(target("7")), "first that");
    let again = pv(json!({ "spec": { "csi": { "driver": DRIVER, "volumeHandle": "vol-2" } } }));
    let bare = KnownVolume { handle: "vol-1".to_owned(), ..KnownVolume::default() };
    let kept = VolumeTarget { volume: bare, node_id: "7".to_owned() };
    assert_eq!(step(&begun(&goes()), Some(&again), Some("7")), AttachStep::Detach(kept.clone()), "vol-2 stays");
    for node_id in [Some("7"), Some("8"), None] {
        assert_eq!(step(&begun(&json!({})), Some(&again), node_id), AttachStep::Leave(kept.clone()), "{node_id:?}");
    }
    let vendors = json!({ "metadata": { "annotations": { NODE_ID: "7" } } });
    assert_eq!(step(&begun(&vendors), Some(&volume), Some("8")), AttachStep::Leave(target("7")), "taken over");
}

/// It has left its machine, and goes before it was begun at the next one.
#[test]
fn an_attachment_that_has_left_holds_nothing() {
    let left = merged(json!({ "metadata": { "annotations": { HANDLE: "vol-1" } } }), &goes());
    assert_eq!(step(&begun(&left), Some(&pv(json!({}))), Some("8")), AttachStep::Free);
    let bare = merged(json!({ "metadata": { "annotations": {} } }), &goes());
    assert_eq!(step(&begun(&bare), Some(&pv(json!({}))), Some("8")), AttachStep::Detach(target("8")), "an older one's");
}

/// An attachment that a person made beside another one, a node that is another machine's by now, a machine under two names.
///
/// Cases: adv 179
#[test]
fn a_volume_that_another_attachment_holds_stays() {
    let volume = pv(json!({}));
    let taken = target("7");
    let is_held = |other: &VolumeAttachment, volume: Option<&PersistentVolume>, node_id: Option<&str>| {
        let near = KnownFacts { volume, node_id, ..KnownFacts::default() };
        let place = TakenPlace { target: &taken, node: "n1" };
        let held = holds(other, near, place, DRIVER);
        assert!(!held || may_hold(other, near, place, DRIVER), "the API server would not be asked: {other:?}");
        held
    };
    let at = |node: &str| json!({ "spec": { "nodeName": node } });
    let kept = |machine: &str| json!({ "metadata": { "annotations": { NODE_ID: machine, HANDLE: "vol-1" } } });
    let bare = || json!({ "metadata": { "annotations": {} } });
    let unguarded = |change: Value| merged(json!({ "metadata": { "finalizers": [] } }), &change);
    for (other, node_id, expected, what) in [
        (json!({}), Some("7"), true, "begun at the same machine"),
        (at("n2"), Some("7"), true, "the same machine under another name"),
        (at("n2"), Some("8"), true, "where it was begun counts, and not what a kubelet says now"),
        (merged(kept("8"), &at("n1")), Some("7"), false, "begun at another machine, which had the node's name"),
        (goes(), Some("7"), false, "it goes, too"),
        (json!({ "spec": { "attacher": "other" } }), Some("7"), false, "another driver's"),
        (bare(), Some("7"), false, "not begun: it is attached after this"),
        (unguarded(json!({})), Some("7"), false, "it was freed"),
        (unguarded(attached()), Some("7"), true, "a person took the finalizer off one in use"),
        (merged(bare(), &attached()), Some("7"), true, "in use, by the word of its status"),
        (merged(bare(), &attached()), Some("8"), false, "in use at another machine"),
        (merged(bare(), &attached()), None, true, "in use at a node of this name"),
        (merged(merged(bare(), &attached()), &at("n2")), None, false, "in use elsewhere"),
    ] {
        assert_eq!(is_held(&begun(&other), Some(&volume), node_id), expected, "{what}");
    }
    let of_other = json!({ "metadata": { "annotations": { NODE_ID: "7", HANDLE: "vol-2" } } });
    assert!(!is_held(&begun(&of_other), Some(&volume), Some("7")), "begun with another volume");
    assert!(is_held(&begun(&json!({})), None, None), "without PersistentVolume and CSINode");
    let second = pv(json!({ "metadata": { "name": "pv-2" } }));
    let by_second = json!({ "spec": { "source": { "persistentVolumeName": "pv-2" } } });
    let vendors = json!({ "metadata": { "annotations": { NODE_ID: "7" } } });
    assert!(
        is_held(&begun(&merged(vendors, &by_second)), Some(&second), Some("7")),
        "two PersistentVolumes of one volume"
    );
}

/// A watch may show an attachment as it was before it was begun, or at its last machine.
///
/// Cases: adv 179
#[test]
fn the_api_server_is_asked_about_what_may_hold_a_volume() {
    let (volume, taken) = (pv(json!({})), target("7"));
    let is_asked = |other: &VolumeAttachment, node_id| {
        let near = KnownFacts { volume: Some(&volume), node_id, ..KnownFacts::default() };
        may_hold(other, near, TakenPlace { target: &taken, node: "n1" }, DRIVER)
    };
    assert!(is_asked(&new(json!({ "spec": { "nodeName": "n2" } })), None), "not begun yet");
    let elsewhere = |node: &str| {
        let annotations = json!({ NODE_ID: "8", HANDLE: "vol-1" });
        begun(&json!({ "metadata": { "annotations": annotations }, "spec": { "nodeName": node } }))
    };
    assert!(is_asked(&elsewhere("n1"), None) && is_asked(&elsewhere("n2"), Some("7")));
    assert!(!is_asked(&elsewhere("n2"), Some("8")), "at another machine, for all that is known");
    let former = json!({ "metadata": { "annotations": { NODE_ID: "7", HANDLE: "vol-2" } } });
    assert!(is_asked(&begun(&former), Some("7")), "with another volume, until now");
}

/// Its kubelet writes a CSINode, and may say whatever it likes in it.
///
/// Cases: adv 180
#[test]
fn a_node_that_says_it_is_another_nodes_machine_gets_no_volume() {
    let nodes = [("n1", "acme:///zone/7"), ("n2", "acme:///zone/8"), ("n3", "acme://"), ("n4", "acme:///zone/9")];
    for (node_id, node, expected) in [
        ("7", "n1", None),
        ("8", "n1", Some("n2")),
        ("projects/p/zones/z/instances/8", "n1", Some("n2")),
        ("77", "n1", None),
        ("", "n1", None),
        ("9", "new", Some("n4")),
    ] {
        assert_eq!(machine_of(node_id, node, nodes.into_iter()), expected, "{node_id:?} by {node}");
    }
    let twice = nodes.into_iter().chain([("n1-again", "acme:///zone/7")]);
    assert_eq!(machine_of("7", "n1-again", twice), None, "one machine under two names");

    let volume = pv(json!({}));
    let near = KnownFacts { volume: Some(&volume), node_id: Some("8"), machine_of: Some("n2"), is_needless: false };
    for lies in [new(json!({})), begun(&json!({}))] {
        let refused = attachment(&lies, near, DRIVER);
        assert!(matches!(&refused, AttachStep::Refuse(why) if why.contains("machine of node n2")), "{refused:?}");
    }
    assert_eq!(attachment(&begun(&goes()), near, DRIVER), AttachStep::Detach(target("7")));
}

/// Cases: csi 66, csi 67
#[test]
fn an_attachment_that_is_not_its_work_is_left_alone() {
    let driver = |required: Value| -> CSIDriver {
        from_value(json!({ "metadata": { "name": DRIVER }, "spec": { "attachRequired": required } })).unwrap()
    };
    assert!(is_needless(Some(&driver(json!(false)))));
    assert!(!is_needless(Some(&driver(json!(true)))) && !is_needless(Some(&driver(Value::Null))) && !is_needless(None));
    let volume = pv(json!({}));
    let near = KnownFacts { volume: Some(&volume), node_id: Some("7"), is_needless: true, ..KnownFacts::default() };
    assert_eq!(attachment(&new(json!({})), near, DRIVER), AttachStep::Ignore);
    assert_eq!(attachment(&begun(&goes()), near, DRIVER), AttachStep::Detach(target("7")), "what was begun is undone");

    let csi = json!({ "driver": DRIVER, "volumeHandle": "vol-1" });
    let inline = json!({ "spec": { "source": { "inlineVolumeSpec": { "csi": csi } } } });
    let refused = step(&begun(&inline), None, Some("7"));
    assert!(matches!(&refused, AttachStep::Refuse(why) if why.contains("names no PersistentVolume")), "{refused:?}");
    let vendors = json!({ "metadata": { "annotations": { NODE_ID: "7" } } });
    let gone = step(&begun(&merged(merged(inline, &vendors), &goes())), None, None);
    assert!(matches!(&gone, AttachStep::Detach(it) if it.volume.handle == "vol-1" && it.node_id == "7"), "{gone:?}");
}

/// A pod names it itself: kube-controller-manager puts the whole volume into the attachment.
///
/// Cases: csi 67
#[test]
fn a_volume_without_persistent_volume_is_attached_as_it_stands() {
    let csi = json!({ "driver": DRIVER, "volumeHandle": "vol-1", "volumeAttributes": { "a": "b" } });
    let source =
        json!({ "spec": { "source": { "inlineVolumeSpec": { "accessModes": ["ReadWriteOnce"], "csi": csi } } } });
    let made: VolumeAttachment = new(source.clone());
    let spec = made.spec.source.inline_volume_spec.clone();
    let inline = PersistentVolume { spec, ..PersistentVolume::default() };
    let target = |name: &str| VolumeTarget {
        volume: KnownVolume { name: name.to_owned(), ..target("7").volume },
        ..target("7")
    };
    assert_eq!(step(&made, Some(&inline), Some("7")), AttachStep::GuardAttachment(target("")), "nothing outlives it");
    let AttachStep::Attach(attached, mode) = step(&begun(&source), Some(&inline), Some("7")) else { panic!() };
    assert_eq!((attached, mode.access_modes), (target(""), vec![AccessMode::OneNode]));
    assert_eq!(step(&begun(&merged(source, &goes())), Some(&inline), None), AttachStep::Detach(target("")));
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

/// Cases: csi 58
#[test]
fn an_error_in_the_status_says_nothing_but_the_error() {
    let now = Timestamp::UNIX_EPOCH;
    let shown = |change: &Value, text, is_full| error_status(&begun(change), text, is_full, now);
    let error = |code: Value| json!({ "message": "busy", "time": "1970-01-01T00:00:00Z", "errorCode": code });
    assert_eq!(shown(&json!({}), "busy", false), Some(json!({ "attachError": error(Value::Null) })));
    assert_eq!(shown(&json!({}), "busy", true), Some(json!({ "attachError": error(json!(8)) })));
    assert_eq!(shown(&merged(goes(), &attached()), "busy", false), Some(json!({ "detachError": error(Value::Null) })));
    let said = json!({ "status": { "attachError": { "message": "busy (request r-1)" } } });
    assert_eq!(shown(&said, "busy (request r-2)", false), None, "it is there already");
    assert!(shown(&said, "busy", true).is_some() && shown(&said, "other", false).is_some());
    assert!(shown(&merged(said, &goes()), "busy", false).is_some(), "that was of the attachment");
}
