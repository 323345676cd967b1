//! The plan for a volume costs no more than the volume: any can be sent to the webhook.

use k8s_openapi::api::core::v1::{AWSElasticBlockStoreVolumeSource, PersistentVolumeSpec};
use measured_work::{Line, fuzz};

use super::*;

/// A volume whose zone is this text, and whose node affinity has a term for each of its lines.
fn pv(text: &str, is_provisioned: bool) -> PersistentVolume {
    let term = |line: &str| {
        let values = line.split(',').map(str::to_owned).collect();
        NodeSelectorTerm { match_expressions: Some(vec![requirement("rack", values)]), ..NodeSelectorTerm::default() }
    };
    let required = Some(NodeSelector { node_selector_terms: text.lines().map(term).collect() });
    let source =
        AWSElasticBlockStoreVolumeSource { volume_id: text.to_owned(), ..AWSElasticBlockStoreVolumeSource::default() };
    let mut pv = PersistentVolume {
        spec: Some(PersistentVolumeSpec {
            aws_elastic_block_store: Some(source),
            node_affinity: Some(VolumeNodeAffinity { required }),
            ..PersistentVolumeSpec::default()
        }),
        ..PersistentVolume::default()
    };
    pv.metadata.name = Some(text.to_owned());
    pv.metadata.labels = Some([(ZONE, text), (REGION, "r")].map(|(key, it)| (key.to_owned(), it.to_owned())).into());
    let provisioned = is_provisioned.then(|| [(PROVISIONED_BY.to_owned(), String::new())].into());
    pv.metadata.annotations = provisioned;
    pv
}

#[test]
fn adv_158_volumes_cost_no_more_than_their_bytes() {
    let limits = TopologyDescription {
        batch_size: 1,
        sources: vec!["awsElasticBlockStore".to_owned()],
        drivers: vec!["disk.example.com".to_owned()],
    };
    let places = ["a", "b", "c"].map(|it| vec![(ZONE.to_owned(), it.to_owned())]);
    let several = Topology { accessible_topologies: places.into(), ..Topology::default() };
    // A term of the body is no shorter.
    let [short, long] = [60, 300].map(|length| [&vec![b'a'; length][..], b"\n"].concat());
    let pieces: [&[u8]; 7] = [b"a__", b"__", b"zone-1__", &short, &long, b"a,", b" "];
    fuzz("volumes", Line { nanoseconds: 3_000, memory: 256 }, &pieces, |text| {
        let text = String::from_utf8_lossy(text);
        for is_provisioned in [false, true] {
            let mut pv = pv(&text, is_provisioned);
            let asked = ask(&pv, &limits);
            pv.metadata.labels = None;
            for topology in [Some(&several), if let Ask::FromLabels(it) = &asked { Some(it) } else { None }] {
                let Some(topology) = topology else { continue };
                for at in [LabelMoment::Creation, LabelMoment::Later] {
                    drop(patched(&pv, topology, at).map(|it| with(&pv, &it)));
                }
                drop(without_nodes(topology, [BTreeMap::new()].iter()));
                drop(objection(topology));
            }
        }
    });
}
