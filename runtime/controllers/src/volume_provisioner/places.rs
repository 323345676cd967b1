//! Where a volume may be: the class's and the nodes' words on it, the best place first. No client, no clock, no log.

use std::collections::{BTreeMap, BTreeSet};

use cloud_provider::VolumePlace;
use k8s_openapi::api::core::v1::TopologySelectorTerm;

/// The nodes as far as they say where volumes can be reached.
#[derive(Debug, Default)]
pub(super) struct NodePlaces<'a> {
    /// The topology keys on each node that has the driver, of those that are the driver's.
    pub(super) keys: BTreeMap<&'a str, Vec<String>>,
    /// The labels of each node, which its kubelet writes.
    pub(super) labels: BTreeMap<&'a str, &'a BTreeMap<String, String>>,
    /// The cloud's words on where a node's machine is, of those that it has named: a label counts that is one of them. Where it has named none at
    /// all there are no machines of the cloud to speak for, and labels alone count.
    pub(super) words: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> NodePlaces<'a> {
    /// Whether the cloud says that a node's machine is where its labels say.
    fn is_confirmed(&self, node: &str, place: &VolumePlace) -> bool {
        self.words.is_empty() || self.words.get(node).is_some_and(|it| says(it, place))
    }

    /// The nodes of each place that labels alone name: the cloud has named the machine of none of them as being there.
    pub(super) fn unconfirmed(&self) -> Vec<Vec<&'a str>> {
        let mut by_place: BTreeMap<VolumePlace, Vec<&'a str>> = BTreeMap::new();
        for (node, keys) in self.keys.iter().filter(|(_, keys)| !keys.is_empty()) {
            if let Ok(place) = segment(keys, self.labels.get(node).copied()) {
                by_place.entry(place).or_default().push(*node);
            }
        }
        let is_named = |node: &str, place: &VolumePlace| self.words.get(node).is_some_and(|it| says(it, place));
        by_place.retain(|place, nodes| !nodes.iter().any(|it| is_named(it, place)));
        by_place.into_values().collect()
    }
}

/// Whether each value of a place is one of these words.
fn says(words: &[String], place: &VolumePlace) -> bool {
    place.iter().all(|(_, value)| words.contains(value))
}

/// A claim as far as it decides where its volume is.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceQuestion<'a> {
    /// The name of the claim: those of a StatefulSet begin in different places.
    pub(super) claim: &'a str,
    /// The node that the scheduler has chosen.
    pub(super) node: Option<&'a str>,
    /// `allowedTopologies` of the class.
    pub(super) allowed: &'a [TopologySelectorTerm],
}

/// Why there is no place yet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NoPlace {
    /// The node is none that has the driver any more: the scheduler has to choose again.
    Reschedule(String),
    /// Nothing can be said as yet.
    Waits(String),
    /// The class does not allow it.
    Refused(String),
}

/// The places, the best one first.
pub(super) fn places(question: PlaceQuestion<'_>, nodes: &NodePlaces<'_>) -> Result<Vec<VolumePlace>, NoPlace> {
    let allowed = flattened(question.allowed);
    match question.node {
        Some(node) => at_node(node, allowed, nodes),
        None if !allowed.is_empty() => Ok(rotated(allowed, spread(question.claim))),
        None => {
            // By each node's own keys: one that names fewer does not decide for all.
            let mut with_driver = nodes.keys.iter().filter(|(_, keys)| !keys.is_empty()).peekable();
            let Some((_, keys)) = with_driver.peek() else {
                return Err(NoPlace::Waits("no available topology found: no node has the driver".to_owned()));
            };
            let keys = keys.join(", ");
            let confirmed = |(node, keys): (&&str, &Vec<String>)| {
                let place = segment(keys, nodes.labels.get(*node).copied()).ok()?;
                nodes.is_confirmed(node, &place).then_some(place)
            };
            let all: Vec<_> = with_driver.filter_map(confirmed).collect::<BTreeSet<_>>().into_iter().collect();
            if all.is_empty() {
                return Err(NoPlace::Waits(format!(
                    "no available topology found: no node has the labels {keys} with values that the cloud has for its machine. Next step: \
                     look at the labels of nodes, or name places in allowedTopologies of the class"
                )));
            }
            Ok(rotated(all, spread(question.claim)))
        }
    }
}

fn at_node(node: &str, allowed: Vec<VolumePlace>, nodes: &NodePlaces<'_>) -> Result<Vec<VolumePlace>, NoPlace> {
    let Some(keys) = nodes.keys.get(node) else {
        return Err(NoPlace::Reschedule(format!("node {node}, which was selected, does not have the driver")));
    };
    if keys.is_empty() {
        return Err(NoPlace::Waits(format!("no topology key found for node {node}")));
    }
    let own = match segment(keys, nodes.labels.get(node).copied()) {
        Ok(own) => own,
        Err(key) => return Err(NoPlace::Waits(format!("node {node} has no label {key}, which is a topology key"))),
    };
    if let Some(words) = nodes.words.get(node).filter(|it| !says(it, &own)) {
        let labels: Vec<_> = own.iter().map(|(key, value)| format!("{key}={value}")).collect();
        return Err(NoPlace::Waits(format!(
            "node {node} says by its labels that it is in {}, and the cloud that its machine is in {}",
            labels.join(", "),
            words.join(", ")
        )));
    }
    let is_own = |place: &VolumePlace| place.iter().all(|it| own.contains(it));
    let first = allowed.iter().position(is_own);
    if first.is_none() && !allowed.is_empty() {
        return Err(NoPlace::Refused(format!(
            "node {node}, which was selected, is not in the class's allowedTopologies"
        )));
    }
    if let Some(first) = first {
        return Ok(rotated(allowed, first as u64));
    }
    let all = segments_of_all(keys, nodes);
    match all.iter().position(|it| *it == own) {
        Some(first) => Ok(rotated(all, first as u64)),
        // The cloud has not named the node's machine yet: the volume is for this node alone.
        None => Ok(vec![own]),
    }
}

/// Where a node is; the first key that its labels lack otherwise.
fn segment<'k>(keys: &'k [String], labels: Option<&BTreeMap<String, String>>) -> Result<VolumePlace, &'k str> {
    let value =
        |key: &'k String| labels.and_then(|it| it.get(key)).map(|it| (key.clone(), it.clone())).ok_or(key.as_str());
    let mut place = keys.iter().map(value).collect::<Result<VolumePlace, _>>()?;
    place.sort_unstable();
    Ok(place)
}

/// The places of all nodes that carry all of these keys, and are there as the cloud says, each once, sorted.
fn segments_of_all(keys: &[String], nodes: &NodePlaces<'_>) -> Vec<VolumePlace> {
    let confirmed = |node: &&str| {
        let place = segment(keys, nodes.labels.get(*node).copied()).ok()?;
        nodes.is_confirmed(node, &place).then_some(place)
    };
    nodes.keys.keys().filter_map(confirmed).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Each combination of the values of a term is a place.
fn flattened(allowed: &[TopologySelectorTerm]) -> Vec<VolumePlace> {
    let mut places = BTreeSet::new();
    for term in allowed {
        let mut combined = vec![VolumePlace::new()];
        for row in term.match_label_expressions.iter().flatten() {
            let with = |place: &VolumePlace, value: &String| {
                let mut place = place.clone();
                place.push((row.key.clone(), value.clone()));
                place
            };
            combined = combined.iter().flat_map(|place| row.values.iter().map(|it| with(place, it))).collect();
        }
        for mut place in combined.into_iter().filter(|it| !it.is_empty()) {
            place.sort_unstable();
            places.insert(place);
        }
    }
    places.into_iter().collect()
}

fn rotated(mut places: Vec<VolumePlace>, by: u64) -> Vec<VolumePlace> {
    let by = usize::try_from(by % places.len().max(1) as u64).unwrap_or_default();
    places.rotate_left(by);
    places
}

/// A number by which claims are spread: those of one StatefulSet have neighbouring ones.
fn spread(claim: &str) -> u64 {
    let ordinal = claim.rsplit_once('-').and_then(|(base, number)| Some((base, number.parse::<u32>().ok()?)));
    let (base, ordinal) = ordinal.unwrap_or((claim, 0));
    // FNV-1a: the same in each process and version.
    let hash = base
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash.wrapping_add(ordinal.into())
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    const ZONE: &str = "example.com/zone";

    struct World {
        keys: Vec<String>,
        labels: Vec<(&'static str, BTreeMap<String, String>)>,
        words: BTreeMap<&'static str, Vec<String>>,
    }

    impl World {
        fn new(nodes: &[(&'static str, &str)]) -> Self {
            let labels =
                nodes.iter().map(|(node, zone)| (*node, BTreeMap::from([(ZONE.to_owned(), (*zone).to_owned())])));
            Self { keys: vec![ZONE.to_owned()], labels: labels.collect(), words: BTreeMap::new() }
        }

        fn places(&self, question: PlaceQuestion<'_>) -> Result<Vec<String>, NoPlace> {
            let nodes = NodePlaces {
                keys: self.labels.iter().map(|(node, _)| (*node, self.keys.clone())).collect(),
                labels: self.labels.iter().map(|(node, labels)| (*node, labels)).collect(),
                words: self.words.clone(),
            };
            let text = |place: VolumePlace| {
                let pairs: Vec<_> = place.iter().map(|(key, value)| format!("{key}={value}")).collect();
                pairs.join(",").replace("example.com/", "")
            };
            places(question, &nodes).map(|it| it.into_iter().map(text).collect())
        }
    }

    fn allowed(terms: serde_json::Value) -> Vec<TopologySelectorTerm> {
        from_value(terms).unwrap()
    }

    const AT: PlaceQuestion<'static> = PlaceQuestion { claim: "data", node: Some("n2"), allowed: &[] };

    #[test]
    fn a_selected_nodes_place_comes_first() {
        let world = World::new(&[("n1", "a"), ("n2", "b"), ("n3", "c"), ("n4", "b")]);
        assert_eq!(world.places(AT).unwrap(), ["zone=b", "zone=c", "zone=a"]);
    }

    /// Cases: csi 5
    #[test]
    fn a_selected_node_outside_the_allowed_topologies_is_refused() {
        let world = World::new(&[("n1", "a"), ("n2", "b")]);
        let only = allowed(json!([{ "matchLabelExpressions": [{ "key": ZONE, "values": ["a"] }] }]));
        let refused = world.places(PlaceQuestion { allowed: &only, ..AT });
        assert!(matches!(refused, Err(NoPlace::Refused(_))), "{refused:?}");
    }

    /// Cases: csi 6
    #[test]
    fn allowed_topologies_are_flattened_with_the_nodes_place_first() {
        let world = World::new(&[("n1", "a"), ("n2", "c")]);
        let terms = allowed(json!([
            { "matchLabelExpressions": [{ "key": ZONE, "values": ["a", "b"] }] },
            { "matchLabelExpressions": [{ "key": ZONE, "values": ["c", "d"] }] },
        ]));
        let places = world.places(PlaceQuestion { allowed: &terms, ..AT }).unwrap();
        assert_eq!(places, ["zone=c", "zone=d", "zone=a", "zone=b"]);
        let two = allowed(json!([{ "matchLabelExpressions": [
            { "key": ZONE, "values": ["a", "b"] }, { "key": "example.com/rack", "values": ["1", "2"] },
        ] }]));
        let places = world.places(PlaceQuestion { allowed: &two, node: None, claim: "" }).unwrap();
        assert_eq!(places.len(), 4, "{places:?}");
        assert!(places.contains(&"rack=2,zone=a".to_owned()), "{places:?}");
    }

    /// Cases: csi 7
    #[test]
    fn claims_of_a_stateful_set_begin_in_three_zones() {
        let world = World::new(&[("n1", "a"), ("n2", "b"), ("n3", "c")]);
        let first = |claim| world.places(PlaceQuestion { claim, node: None, ..AT }).unwrap().remove(0);
        let places: BTreeSet<_> = ["data-web-0", "data-web-1", "data-web-2"].into_iter().map(first).collect();
        assert_eq!(places.len(), 3);
        assert_eq!(first("data-web-0"), first("data-web-3"));
    }

    /// Cases: adv 180
    #[test]
    fn a_kubelets_label_names_no_place_that_the_cloud_does_not() {
        let mut world = World::new(&[("n1", "a"), ("n2", "b"), ("n3", "forged"), ("n4", "a")]);
        let named = |node: &'static str, zone: &str| (node, vec![zone.to_owned(), "region".to_owned()]);
        world.words = BTreeMap::from([named("n1", "a"), named("n2", "b"), named("n3", "b")]);
        let anywhere = PlaceQuestion { node: None, ..AT };
        let found: BTreeSet<_> = world.places(anywhere).unwrap().into_iter().collect();
        assert_eq!(found, BTreeSet::from(["zone=a".to_owned(), "zone=b".to_owned()]));
        assert_eq!(world.places(AT).unwrap(), ["zone=b", "zone=a"], "nor is it another place of a selected node");
        let lies = world.places(PlaceQuestion { node: Some("n3"), ..AT });
        assert!(matches!(&lies, Err(NoPlace::Waits(why)) if why.contains("its machine is in b, region")), "{lies:?}");
        world.words = BTreeMap::from([named("n3", "b")]);
        assert!(matches!(world.places(anywhere), Err(NoPlace::Waits(why)) if why.contains("allowedTopologies")));
        assert_eq!(world.places(AT).unwrap(), ["zone=b"], "for that node alone, which the cloud has not named yet");
    }

    /// Cases: adv 180
    #[test]
    fn places_that_labels_alone_name_are_asked_about() {
        let world = World::new(&[("n1", "a"), ("n2", "b"), ("n3", "b"), ("n4", "c")]);
        let labels = || world.labels.iter().map(|(node, labels)| (*node, labels)).collect();
        let keys = || world.labels.iter().map(|(node, _)| (*node, world.keys.clone())).collect();
        let words = |pairs: &[(&'static str, &str)]| {
            pairs.iter().map(|(node, zone)| (*node, vec![(*zone).to_owned()])).collect()
        };
        let unconfirmed = |pairs| NodePlaces { keys: keys(), labels: labels(), words: words(pairs) }.unconfirmed();
        assert_eq!(unconfirmed(&[]), [vec!["n1"], vec!["n2", "n3"], vec!["n4"]]);
        assert_eq!(unconfirmed(&[("n1", "a"), ("n3", "b"), ("n4", "a")]), [vec!["n4"]], "it is elsewhere");
    }

    #[test]
    fn a_node_that_names_fewer_keys_does_not_decide_for_all() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let labels = pairs(&[("rack", "1"), (ZONE, "a")]).into_iter().collect();
        let nodes = NodePlaces {
            keys: BTreeMap::from([("n1", vec!["rack".to_owned()]), ("n2", vec![ZONE.to_owned(), "rack".to_owned()])]),
            labels: BTreeMap::from([("n1", &labels), ("n2", &labels)]),
            ..NodePlaces::default()
        };
        let found: BTreeSet<_> = places(PlaceQuestion { node: None, ..AT }, &nodes).unwrap().into_iter().collect();
        assert_eq!(found, BTreeSet::from([pairs(&[("rack", "1")]), pairs(&[(ZONE, "a"), ("rack", "1")])]));
    }

    /// Cases: csi 8, bad-volume
    #[test]
    fn a_node_without_driver_is_given_back_and_without_labels_waits() {
        let mut world = World::new(&[("n1", "a"), ("n2", "b")]);
        let missing = world.places(PlaceQuestion { node: Some("n9"), ..AT });
        assert!(matches!(missing, Err(NoPlace::Reschedule(_))), "{missing:?}");
        world.labels[1].1.clear();
        let unlabelled = world.places(AT);
        assert!(matches!(&unlabelled, Err(NoPlace::Waits(why)) if why.contains("no label example.com/zone")));
        world.keys.clear();
        assert!(
            matches!(world.places(AT), Err(NoPlace::Waits(why)) if why.contains("no topology key found for node n2"))
        );
        for nobody in [World::new(&[]), world] {
            let waits = nobody.places(PlaceQuestion { node: None, ..AT });
            assert!(matches!(&waits, Err(NoPlace::Waits(why)) if why.contains("no available topology")), "{waits:?}");
        }
    }
}
