use serde_json::from_value;

use super::*;

fn claim(status: Value) -> PersistentVolumeClaim {
    let metadata = json!({ "name": "data", "namespace": "default", "uid": "1", "resourceVersion": "7" });
    from_value(json!({ "metadata": metadata, "status": status })).unwrap()
}

fn target() -> GrowthTarget {
    GrowthTarget { size: "20500Mi".to_owned(), bytes: 21 << 30, is_begun: true, ..GrowthTarget::default() }
}

fn pv(size: &str, annotations: Value) -> PersistentVolume {
    let metadata = json!({ "name": "pv-1", "uid": "2", "resourceVersion": "8", "annotations": annotations });
    from_value(json!({ "metadata": metadata, "spec": { "capacity": { "storage": size } } })).unwrap()
}

/// The conditions of a patch: what they are set to, and what goes.
fn conditions(patch: &Value) -> (Vec<&str>, Vec<&str>) {
    let all = patch["status"]["conditions"].as_array().unwrap();
    let goes = |it: &&Value| it["$patch"] == "delete";
    let set = all.iter().filter(|it| !goes(it));
    assert!(set.clone().all(|it| it["status"] == "True" && it["lastTransitionTime"] == "1970-01-01T00:00:00Z"));
    let mut gone: Vec<_> = all.iter().filter(goes).map(|it| it["type"].as_str().unwrap()).collect();
    gone.sort_unstable();
    (set.map(|it| it["type"].as_str().unwrap()).collect(), gone)
}

/// Cases: csi 69
#[test]
fn a_claim_says_in_order_how_far_its_volume_has_grown() {
    let (claim, now) = (claim(json!({ "capacity": { "storage": "10Gi" } })), Timestamp::UNIX_EPOCH);
    let guard = |no_node: Value| json!({ "uid": "1", "resourceVersion": "7", "annotations": { NO_NODE: no_node } });
    let patch = begun(&claim, &target(), now);
    assert_eq!(patch["metadata"], guard(Value::Null));
    assert_eq!(patch["status"]["allocatedResources"], json!({ "storage": "20500Mi" }), "as the claim says it");
    assert_eq!(patch["status"]["allocatedResourceStatuses"], json!({ "storage": "ControllerResizeInProgress" }));
    let all = ["ControllerResizeError", "FileSystemResizePending", "NodeResizeError"];
    assert_eq!(conditions(&patch), (vec!["Resizing"], all.to_vec()));

    let patch = node_is_next(&claim, now);
    assert_eq!(patch["metadata"], guard(Value::Null));
    assert_eq!(patch["status"]["allocatedResourceStatuses"], json!({ "storage": "NodeResizePending" }));
    assert_eq!(patch["status"].get("capacity"), None, "the kubelet says it");
    assert_eq!(conditions(&patch), (vec!["FileSystemResizePending"], vec!["ControllerResizeError"]));

    let patch = finished(&claim, 21 << 30);
    assert_eq!(patch["metadata"], guard(json!("true")));
    assert_eq!(patch["status"]["capacity"], json!({ "storage": "21Gi" }));
    assert_eq!(patch["status"]["allocatedResourceStatuses"], json!({ "storage": null }));
    let all = ["ControllerResizeError", "FileSystemResizePending", "NodeResizeError", "Resizing"];
    assert_eq!(conditions(&patch), (Vec::new(), all.to_vec()));
}

/// Cases: csi 70
#[test]
fn a_refusal_is_written_once_and_cut() {
    let now = Timestamp::UNIX_EPOCH;
    let said = |message: &str, status: &str| {
        let condition = json!({ "type": ERROR, "status": "True", "message": message });
        claim(json!({ "conditions": [condition], "allocatedResourceStatuses": { "storage": status } }))
    };
    let patch = refused(&claim(json!({})), &target(), &"x".repeat(2_000), true, now).unwrap();
    assert_eq!(patch["status"]["allocatedResourceStatuses"], json!({ "storage": "ControllerResizeInfeasible" }));
    assert_eq!(patch["status"]["allocatedResources"], json!({ "storage": "20500Mi" }));
    let message = patch["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("failed to expand pvc with xxx") && message.len() == 1_024);
    assert_eq!(patch["metadata"], json!({ "uid": "1" }));

    let quota = refused(&claim(json!({})), &target(), "quota", false, now).unwrap();
    assert_eq!(quota["status"].get("allocatedResourceStatuses"), None, "it may still become feasible");
    let text = "failed to expand pvc with no (request r-1)";
    assert_eq!(refused(&said(text, INFEASIBLE), &target(), "no (request r-2)", true, now), None);
    assert_eq!(refused(&said(text, AT_WORK), &target(), "no (request r-2)", false, now), None);
    assert!(refused(&said(text, AT_WORK), &target(), "no (request r-2)", true, now).is_some());
    assert!(refused(&said(text, INFEASIBLE), &target(), "other", true, now).is_some());
    let other_size = GrowthTarget { is_begun: false, ..target() };
    assert!(refused(&said(text, INFEASIBLE), &other_size, "no (request r-2)", true, now).is_some());
}

/// Cases: csi 69, csi 71, csi 72
#[test]
fn a_persistent_volume_says_what_the_cloud_gives_and_never_less() {
    let claim = claim(json!({ "capacity": { "storage": "10Gi" } }));
    let patch = |size: &str, annotations: Value, node| grown(&pv(size, annotations), &claim, 21 << 30, node);
    let written = patch("10Gi", json!({}), true).unwrap();
    let metadata = json!({ "uid": "2", "resourceVersion": "8", "annotations": { SIZE_BEFORE: "10Gi" } });
    assert_eq!(written, json!({ "metadata": metadata, "spec": { "capacity": { "storage": "21Gi" } } }));
    let alone = patch("10Gi", json!({ EXPANSION_MEMO: "m" }), false).unwrap();
    assert_eq!(alone["metadata"]["annotations"], json!({ EXPANSION_MEMO: null }));
    let again = patch("10Gi", json!({ SIZE_BEFORE: "5Gi" }), true).unwrap();
    assert_eq!(again["metadata"]["annotations"], json!({}), "the first size before counts");
    assert_eq!(patch("21Gi", json!({}), false), None, "it was written before");
    assert_eq!(patch("30Gi", json!({ SIZE_BEFORE: "10Gi" }), true), None, "it does not shrink");
}

#[test]
fn an_annotation_is_written_and_goes() {
    let metadata = |value: Value| json!({ "metadata": { "uid": "2", "annotations": { "key": value } } });
    assert_eq!(annotated(&pv("1Gi", json!({})), "key", Some("a")), metadata(json!("a")));
    assert_eq!(annotated(&pv("1Gi", json!({})), "key", None), metadata(Value::Null));
}
