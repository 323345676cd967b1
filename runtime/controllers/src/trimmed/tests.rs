//! Objects are read without what no controller reads.

use serde_json::{Value, json};

use super::*;

/// An object as the API server sends it, with what is to be left out.
fn sent(kind: &str, mut rest: Value) -> Value {
    rest["apiVersion"] = json!("v1");
    rest["kind"] = json!(kind);
    rest["metadata"] = json!({
        "name": "a", "namespace": "default", "uid": "1", "resourceVersion": "7", "generation": 3,
        "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:06Z",
        "labels": { "zone": "z" }, "annotations": { "is": "kept", APPLIED: "{}" }, "finalizers": ["f"],
        "managedFields": [{ "manager": "m", "fieldsV1": { "f:metadata": { "f:labels": {} } } }],
    });
    rest
}

/// Checks that reading leaves out what `drop` takes away, and nothing else.
fn check<K: Read + DeserializeOwned + PartialEq>(sent: Value, drop: fn(&mut K)) {
    let Trimmed(read) = serde_json::from_value::<Trimmed<K>>(sent.clone()).unwrap();
    let mut expected: K = serde_json::from_value(sent).unwrap();
    let metadata = expected.meta_mut();
    (metadata.managed_fields, metadata.generation) = (None, None);
    metadata.annotations.as_mut().unwrap().remove(APPLIED);
    drop(&mut expected);
    assert_eq!(read, expected);
}

#[test]
fn adv_158_watched_objects_cost_no_more_than_their_bytes() {
    fn read<K: Read>(text: &str) {
        for (before, after) in [
            ("", ""),
            (r#"{"metadata":{"managedFields":["#, "]}}"),
            (r#"{"metadata":{"name":"a","annotations":{"#, r#""a":""}}}"#),
            (r#"{"metadata":{},"spec":{"taints":["#, "{}]}}"),
            (r#"{"metadata":{},"spec":{"ports":["#, r#"{"port":1}]}}"#),
            (r#"{"metadata":{},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":["#, "{}]}}}}"),
            (r#"{"metadata":{},"status":{"conditions":["#, "{}]}}"),
            (r#"{"metadata":{},"status":{"images":["#, "{}]}}"),
        ] {
            drop(serde_json::from_str::<Trimmed<K>>(&format!("{before}{text}{after}")));
        }
    }
    let pieces: [&[u8]; 9] =
        [b"{},", b"{", b"}", b"[", b"\"a\":\"b\",", b"\"a\":", b"{\"port\":1},", b"\\u0041", b"1234567890"];
    measured_work::fuzz("objects", measured_work::Line { nanoseconds: 20_000, memory: 384 }, &pieces, |text| {
        let text = String::from_utf8_lossy(text);
        read::<KubeNode>(&text);
        read::<Service>(&text);
        read::<PersistentVolume>(&text);
        read::<PersistentVolumeClaim>(&text);
    });
}

#[test]
fn a_condition_without_a_time_hides_no_service() {
    let service = |time: Value| {
        let condition = json!({ "type": "LoadBalancerPortsError", "status": "True", "reason": "R", "message": "m",
            "observedGeneration": 2, "lastTransitionTime": time });
        let status = json!({ "conditions": [condition], "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
        serde_json::from_value::<Trimmed<Service>>(sent("Service", json!({ "spec": {}, "status": status })))
    };
    let Trimmed(known) = service(json!("2026-01-02T03:04:05Z")).unwrap();
    for time in [Value::Null, json!("99999-01-01T00:00:00Z")] {
        let Trimmed(mut read) = service(time).unwrap();
        let condition = &mut read.status.as_mut().unwrap().conditions.as_mut().unwrap()[0];
        assert_eq!(condition.last_transition_time, Time(Timestamp::UNIX_EPOCH));
        condition.last_transition_time = Time("2026-01-02T03:04:05Z".parse().unwrap());
        assert_eq!(read, known, "all else is there");
    }
}

#[test]
fn a_trimmed_node_keeps_all_that_decisions_read() {
    let condition = |kind: &str, rest: Value| {
        let mut condition = json!({ "type": kind, "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z" });
        condition.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        condition
    };
    let node = |annotations: Value, conditions: Value, rest: Value| {
        let mut node = sent(
            "Node",
            json!({
                "spec": { "providerID": "cloud://1", "podCIDR": "10.0.0.0/24", "taints": [{ "key": "k", "effect": "NoSchedule" }] },
                "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }], "conditions": conditions },
            }),
        );
        node["metadata"]["annotations"] = annotations;
        node["status"].as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        node
    };
    let said = json!({ "lastHeartbeatTime": "2026-01-02T03:04:05Z", "reason": "r", "message": "m" });
    let sent = node(
        json!({ PROVIDED_NODE_IP: "10.0.0.1", DELETE_APPROVED: "true", "a cni's": "notes" }),
        json!([
            condition("DiskPressure", said.clone()),
            condition("Ready", said.clone()),
            condition(NETWORK_UNAVAILABLE, said)
        ]),
        json!({ "phase": "Running", "capacity": { "cpu": "4" }, "images": [{ "names": ["i"] }], "nodeInfo": null }),
    );
    let kept = node(
        json!({ PROVIDED_NODE_IP: "10.0.0.1", DELETE_APPROVED: "true" }),
        json!([condition("Ready", json!({})), condition(NETWORK_UNAVAILABLE, json!({ "reason": "r" }))]),
        json!({}),
    );
    let Trimmed(read) = serde_json::from_value::<Trimmed<KubeNode>>(sent).unwrap();
    let mut expected: KubeNode = serde_json::from_value(kept).unwrap();
    (expected.metadata.finalizers, expected.metadata.managed_fields) = (None, None);
    expected.metadata.generation = None;
    assert_eq!(read, expected);
}

#[test]
fn adv_155_a_time_that_cannot_be_read_hides_no_node() {
    for time in ["9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z"] {
        let node = json!({
            "metadata": { "name": "a" },
            "spec": { "taints": [{ "key": "k", "effect": "NoSchedule", "timeAdded": time }] },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": time }] },
        });
        let Trimmed(node) = serde_json::from_value::<Trimmed<KubeNode>>(node).unwrap();
        let (spec, status) = (node.spec.unwrap(), node.status.unwrap());
        assert_eq!(spec.taints.unwrap()[0].key, "k", "{time}");
        assert_eq!(status.conditions.unwrap()[0].status, "True", "{time}");
    }
}

#[test]
fn a_bare_node_is_read() {
    let Trimmed(node) = serde_json::from_value::<Trimmed<KubeNode>>(json!({ "metadata": { "name": "a" } })).unwrap();
    assert_eq!(node.metadata.name.as_deref(), Some("a"));
    assert_eq!((node.spec, node.status), (None, None));
}

#[test]
fn a_trimmed_service_keeps_spec_and_status() {
    let service = json!({
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30080 }] },
        "status": { "conditions": [], "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } },
    });
    check::<Service>(sent("Service", service), |it| it.metadata.labels = None);
    check::<Service>(sent("Service", json!({ "spec": null })), |it| it.metadata.labels = None);
}

#[test]
fn a_trimmed_volume_keeps_metadata_and_spec() {
    let volume = json!({
        "spec": { "csi": { "driver": "d", "volumeHandle": "h" }, "claimRef": { "name": "c" } },
        "status": { "phase": "Bound", "lastPhaseTransitionTime": "2026-01-02T03:04:05Z" },
    });
    check::<PersistentVolume>(sent("PersistentVolume", volume), |volume| {
        let phase = volume.status.take().and_then(|it| it.phase);
        volume.status = Some(PersistentVolumeStatus { phase, ..PersistentVolumeStatus::default() });
    });
}

#[test]
fn a_trimmed_claim_keeps_its_sizes_and_how_far_they_grew() {
    let claim = |time: &str| {
        let condition = json!({ "type": "Resizing", "status": "True", "message": "m", "lastTransitionTime": time });
        let status = json!({
            "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" },
            "allocatedResources": { "storage": "2Gi" },
            "allocatedResourceStatuses": { "storage": "ControllerResizeInProgress" }, "conditions": [condition],
        });
        let spec = json!({ "resources": { "requests": { "storage": "2Gi" } }, "volumeName": "pv-1" });
        sent("PersistentVolumeClaim", json!({ "spec": spec, "status": status }))
    };
    check::<PersistentVolumeClaim>(claim("2026-01-02T03:04:05Z"), |claim| {
        let status = claim.status.as_mut().unwrap();
        status.access_modes = None;
        status.conditions.as_mut().unwrap()[0].last_transition_time = None;
    });
    serde_json::from_value::<Trimmed<PersistentVolumeClaim>>(claim("99999-01-01T00:00:00Z")).unwrap();
}

#[test]
fn a_value_that_is_no_object_is_an_error() {
    serde_json::from_value::<Trimmed<KubeNode>>(json!({})).unwrap_err();
}
