//! Volumes, answers, and what becomes of them.

use serde_json::{Value, json};

use super::*;

fn limits() -> TopologyDescription {
    TopologyDescription {
        batch_size: 1,
        sources: vec!["awsElasticBlockStore".to_owned()],
        drivers: vec!["disk.example.com".to_owned()],
    }
}

/// A volume of this cloud, with these metadata and this node affinity.
fn pv(metadata: Value, node_affinity: Value) -> PersistentVolume {
    let mut pv = json!({
        "metadata": { "name": "pv-1" },
        "spec": { "awsElasticBlockStore": { "volumeID": "vol-1" } },
    });
    pv["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    if !node_affinity.is_null() {
        pv["spec"]["nodeAffinity"] = node_affinity;
    }
    serde_json::from_value(pv).unwrap()
}

fn labelled(labels: &[(&str, &str)]) -> Topology {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Topology { labels, ..Topology::default() }
}

fn in_zones(zones: &[&str], region: &str) -> Topology {
    let zones = zones.iter().map(|it| (*it).to_owned()).collect();
    Topology { zones, region: Some(region.to_owned()), ..Topology::default() }
}

fn at(places: &[&[(&str, &str)]]) -> Topology {
    let place = |it: &&[(&str, &str)]| it.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Topology { accessible_topologies: places.iter().map(place).collect(), ..Topology::default() }
}

/// A node affinity of these terms: for each its requirements, as key and values.
fn affinity_of(terms: &[&[(&str, &[&str])]]) -> Value {
    let requirement = |(key, values): &(&str, &[&str])| json!({ "key": key, "operator": "In", "values": values });
    let term = |it: &&[(&str, &[&str])]| json!({ "matchExpressions": it.iter().map(requirement).collect::<Vec<_>>() });
    json!({ "required": { "nodeSelectorTerms": terms.iter().map(term).collect::<Vec<_>>() } })
}

#[track_caller]
fn check(pv: &PersistentVolume, topology: &Topology, at: LabelMoment, labels: Value, node_affinity: Value) {
    let expected = Patch {
        labels: serde_json::from_value(labels).unwrap(),
        node_affinity: serde_json::from_value(node_affinity).unwrap(),
    };
    assert_eq!(patched(pv, topology, at), Some(expected));
}

#[test]
fn case_222_labels_become_one_required_term() {
    let answer = labelled(&[("b", "2"), ("a", "1")]);
    for moment in [LabelMoment::Creation, LabelMoment::Later] {
        let expected = affinity_of(&[&[("a", &["1"]), ("b", &["2"])]]);
        check(&pv(json!({}), Value::Null), &answer, moment, json!({ "a": "1", "b": "2" }), expected);
    }
}

#[test]
fn case_224_requirements_go_into_each_term_at_creation() {
    let existing = affinity_of(&[&[("disk", &["ssd"])], &[("rack", &["r1", "r2"])]]);
    let volume = pv(json!({}), existing);
    let answer = labelled(&[("a", "1"), ("b", "2")]);
    let labels = json!({ "a": "1", "b": "2" });
    let expected = affinity_of(&[
        &[("disk", &["ssd"]), ("a", &["1"]), ("b", &["2"])],
        &[("rack", &["r1", "r2"]), ("a", &["1"]), ("b", &["2"])],
    ]);
    check(&volume, &answer, LabelMoment::Creation, labels.clone(), expected);
    // It cannot change any more.
    check(&volume, &answer, LabelMoment::Later, labels, Value::Null);
}

#[test]
fn case_224_a_key_in_any_term_leaves_the_affinity() {
    let volume = pv(json!({}), affinity_of(&[&[("disk", &["ssd"])], &[("b", &["7"])]]));
    let answer = labelled(&[("a", "1"), ("b", "2")]);
    check(&volume, &answer, LabelMoment::Creation, json!({ "a": "1", "b": "2" }), Value::Null);
}

#[test]
fn case_224_an_affinity_without_terms_gets_one() {
    let answer = labelled(&[("a", "1")]);
    for empty in [json!({}), json!({ "required": { "nodeSelectorTerms": [] } })] {
        let expected = affinity_of(&[&[("a", &["1"])]]);
        check(&pv(json!({}), empty), &answer, LabelMoment::Creation, json!({ "a": "1" }), expected);
    }
}

#[test]
fn case_225_the_clouds_value_overwrites_a_label() {
    let volume = pv(json!({ "labels": { "a": "old", "mine": "kept", "same": "s" } }), Value::Null);
    let answer = labelled(&[("a", "new"), ("same", "s")]);
    let expected = affinity_of(&[&[("a", &["new"]), ("same", &["s"])]]);
    check(&volume, &answer, LabelMoment::Later, json!({ "a": "new" }), expected);
    let desired = with(&volume, &patched(&volume, &answer, LabelMoment::Later).unwrap());
    let labels = json!({ "a": "new", "mine": "kept", "same": "s" });
    assert_eq!(serde_json::to_value(desired.metadata.labels).unwrap(), labels);
    assert_eq!(desired.metadata.name, volume.metadata.name);
}

#[test]
fn several_zones_are_sorted_joined_and_any_of_them() {
    let answer = in_zones(&["z2", "z1", "z2"], "r1");
    let expected = affinity_of(&[&[(REGION, &["r1"]), (ZONE, &["z1", "z2"])]]);
    check(
        &pv(json!({}), Value::Null),
        &answer,
        LabelMoment::Creation,
        json!({ ZONE: "z1__z2", REGION: "r1" }),
        expected,
    );
}

#[test]
fn one_of_the_places_of_a_driver_is_enough() {
    let mut answer = at(&[&[("disk.example.com/zone", "b")], &[("disk.example.com/zone", "a"), ("x", "1")]]);
    answer.region = Some("r1".to_owned());
    let places =
        affinity_of(&[&[("disk.example.com/zone", &["a"]), ("x", &["1"])], &[("disk.example.com/zone", &["b"])]]);
    check(&pv(json!({}), Value::Null), &answer, LabelMoment::Later, json!({ REGION: "r1" }), places);
    // In each term that was there, one of the places has to fit.
    let volume = pv(json!({}), affinity_of(&[&[("k", &["1"])], &[("k", &["2"])]]));
    let answer = at(&[&[("p", "a")], &[("p", "b")]]);
    let terms = affinity_of(&[
        &[("k", &["1"]), ("p", &["a"])],
        &[("k", &["1"]), ("p", &["b"])],
        &[("k", &["2"]), ("p", &["a"])],
        &[("k", &["2"]), ("p", &["b"])],
    ]);
    check(&volume, &answer, LabelMoment::Creation, json!({}), terms);
}

#[test]
fn terms_do_not_grow_without_end() {
    let terms: Vec<_> = (0..=TERMS / 2).map(|_| [("k", ["1"].as_slice())]).collect();
    let terms: Vec<_> = terms.iter().map(|it| it.as_slice()).collect();
    let answer = at(&[&[("p", "a")], &[("p", "b")]]);
    assert_eq!(patched(&pv(json!({}), affinity_of(&terms)), &answer, LabelMoment::Creation), None);
}

#[test]
fn case_226_a_provisioners_labels_are_trusted() {
    let asked = |annotated: bool, labels: Value| {
        let annotations = if annotated { json!({ PROVISIONED_BY: "p" }) } else { json!({}) };
        ask(&pv(json!({ "annotations": annotations, "labels": labels }), Value::Null), &limits())
    };
    let current = json!({ ZONE: " z2 __z1", REGION: "r1" });
    let beta = json!({ BETA_ZONE: "z1", BETA_REGION: "r1" });
    assert_eq!(asked(true, current.clone()), Ask::FromLabels(in_zones(&["z1", "z2"], "r1")));
    let from_beta = Ask::FromLabels(labelled(&[(BETA_ZONE, "z1"), (BETA_REGION, "r1")]));
    assert_eq!(asked(true, beta.clone()), from_beta);
    let both = json!({ ZONE: "z1", REGION: "r1", BETA_ZONE: "z9", BETA_REGION: "r9" });
    assert_eq!(asked(true, both), Ask::FromLabels(in_zones(&["z1"], "r1")));
    for labels in [json!({ ZONE: "z1" }), json!({ REGION: "r1" }), json!({ ZONE: "z1", BETA_REGION: "r1" }), json!({})]
    {
        assert!(matches!(asked(true, labels.clone()), Ask::Cloud(_)), "{labels}");
    }
    assert!(matches!(asked(false, current), Ask::Cloud(_)), "nobody vouches for them");
    assert!(matches!(asked(false, beta), Ask::Cloud(_)));
    assert!(matches!(asked(true, json!({ ZONE: "z1____z2", REGION: "r1" })), Ask::Invalid(_)), "an empty zone");
}

#[test]
fn case_226_the_affinity_follows_the_trusted_labels() {
    let metadata = |labels: Value| json!({ "annotations": { PROVISIONED_BY: "p" }, "labels": labels });
    for (zone, region) in [(ZONE, REGION), (BETA_ZONE, BETA_REGION)] {
        let volume = pv(metadata(json!({ zone: "z1__z2", region: "r1" })), Value::Null);
        let Ask::FromLabels(topology) = ask(&volume, &limits()) else { panic!("the cloud is asked") };
        let expected = affinity_of(&[&[(region, &["r1"]), (zone, &["z1", "z2"])]]);
        check(&volume, &topology, LabelMoment::Creation, json!({}), expected);
    }
}

#[test]
fn case_228_nothing_said_changes_nothing() {
    for volume in [pv(json!({}), Value::Null), pv(json!({ "labels": { "a": "1" } }), json!({}))] {
        for moment in [LabelMoment::Creation, LabelMoment::Later] {
            assert_eq!(patched(&volume, &Topology::default(), moment), None);
        }
    }
}

#[test]
fn labels_that_are_there_are_not_written() {
    let answer = in_zones(&["z1"], "r1");
    let volume = pv(json!({}), Value::Null);
    let desired = with(&volume, &patched(&volume, &answer, LabelMoment::Later).unwrap());
    assert_eq!(patched(&desired, &answer, LabelMoment::Later), None);
    assert_eq!(patched(&desired, &answer, LabelMoment::Creation), None);
}

#[test]
fn answers_that_kubernetes_would_refuse_are_refused() {
    let refused = |topology: &Topology| objection(topology).is_some();
    for fine in
        [Topology::default(), in_zones(&["z1", "z2"], "r1"), labelled(&[("a.example/b", "1")]), at(&[&[("a", "b")]])]
    {
        assert_eq!(objection(&fine), None);
    }
    assert!(
        refused(&in_zones(&["z".repeat(30).as_str(), "y".repeat(32).as_str()], "r")),
        "joined, a label is too long"
    );
    assert!(refused(&in_zones(&["z1", ""], "r")));
    assert!(refused(&in_zones(&["a b"], "r")));
    assert!(refused(&labelled(&[("-", "1")])));
    assert!(refused(&at(&[&[]])), "it would be a term that fits no node");
    assert!(refused(&at(&[&[("k", "a b")]])));
}

#[test]
fn adv_151_kubernetes_own_labels_are_no_volumes() {
    for key in ["kubernetes.io/hostname", "node-role.kubernetes.io/control-plane", "pv.kubernetes.io/provisioned-by"] {
        let answers = [labelled(&[("rack", "1"), (key, "x")]), at(&[&[(ZONE, "z1")], &[(key, "x")]])];
        for answer in answers {
            let objection = objection(&answer).unwrap_or_default();
            assert!(
                objection.starts_with(&format!("brings the label {key:?}, which is Kubernetes' own")),
                "{objection}"
            );
        }
    }
    let places = labelled(&[(ZONE, "z1"), (BETA_ZONE, "z1"), (REGION, "r"), (BETA_REGION, "r")]);
    assert_eq!(objection(&places), None);
}

#[test]
fn a_volume_is_looked_at_when_something_about_it_counts() {
    let look = |before: Option<&PersistentVolume>, after: &PersistentVolume| is_worth_a_look(before, after, &limits());
    let bare = pv(json!({}), Value::Null);
    assert!(look(None, &bare));
    assert!(!look(Some(&bare), &bare));
    let claimed = pv(json!({ "annotations": { "pv.kubernetes.io/bound-by-controller": "yes" } }), Value::Null);
    assert!(!look(Some(&bare), &claimed), "claims come and go");
    let relabelled = pv(json!({ "labels": { ZONE: "z" } }), Value::Null);
    assert!(look(Some(&bare), &relabelled));
    let made_again = pv(json!({ "uid": "2" }), Value::Null);
    assert!(look(Some(&bare), &made_again));
    let leaving = pv(json!({ "deletionTimestamp": "2026-01-02T03:04:05Z" }), Value::Null);
    assert!(!look(None, &leaving));
    let placed = pv(json!({ "labels": { ZONE: "z" } }), affinity_of(&[&[(ZONE, &["z"])]]));
    assert!(!look(None, &placed), "somebody has seen to it");
    let provisioned = pv(json!({}), affinity_of(&[&[("disk.example.com/zone", &["z"])]]));
    assert!(look(None, &provisioned), "it has no labels");
    let foreign = json!({ "metadata": { "name": "pv-2" }, "spec": { "nfs": { "path": "/", "server": "s" } } });
    assert!(!look(None, &serde_json::from_value(foreign).unwrap()));
}

#[test]
fn places_without_nodes_are_named() {
    let node = |zone: &str, region: &str| {
        [(ZONE, zone), (REGION, region)].map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    let nodes = [BTreeMap::from(node("z1", "r1")), BTreeMap::from(node("z2", "r1"))];
    let unmet = |it: &Topology| without_nodes(it, nodes.iter());
    assert_eq!(unmet(&in_zones(&["z1"], "r1")), []);
    assert_eq!(unmet(&in_zones(&["z9", "z2"], "r1")), [], "one of its zones is enough");
    assert_eq!(unmet(&in_zones(&["z8", "z9"], "r1")), [(ZONE, "z8 or z9".to_owned())]);
    assert_eq!(unmet(&in_zones(&["z1"], "R1")), [(REGION, "R1".to_owned())]);
    assert_eq!(unmet(&labelled(&[("a", "1")])), []);
    assert_eq!(without_nodes(&in_zones(&["z9"], "r9"), [].iter()), [], "without nodes nothing can be said");
}
