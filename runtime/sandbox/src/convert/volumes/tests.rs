use super::super::texts::{self, Texts};
use super::*;

const GIB: u64 = 1 << 30;
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
/// Line ends, a terminal's escape, and what hides text or turns its direction.
const FORGED: &str = "a\n1999-01-01T00:00:00Z INFO forged\u{1b}[2J\u{202e}\u{2028}";

fn word(text: &str) -> String {
    text.to_owned()
}

fn parameter(key: &str) -> wit::Parameter {
    wit::Parameter { key: word(key), values: word("any"), required: false, default: Some(word("a")), doc: word("It.") }
}

fn plain() -> wit::VolumeDescription {
    wit::VolumeDescription {
        driver: word("csi.acme.example"),
        topology_keys: vec![word("region"), word("acme.example/zone")],
        publish_keys: vec![word("devicePath")],
        parameters: vec![parameter("type")],
        annotations: vec![parameter("acme.example/apart-from")],
        access_modes: vec![wit::AccessMode::OneNode],
        block: true,
        filesystem: word("ext4"),
        smallest_bytes: GIB,
        step_bytes: GIB,
        largest_bytes: 100 * GIB,
        growth: wit::Growth::Online,
        sources: vec![wit::SourceKind::Snapshot],
        one_at_a_time_per_node: true,
        get_batch_size: 1,
        list_page_size: 100,
        extra: vec![(word("later"), word("unknown"))],
    }
}

fn described() -> VolumeDescription {
    description(plain()).unwrap()
}

fn volume_of(handle: &str) -> wit::Volume {
    wit::Volume {
        handle: word(handle),
        name: format!("pvc-{UID}"),
        bytes: 10 * GIB,
        state: wit::State::Ready,
        accessible_topologies: vec![wit::TopologySegments { segments: vec![(word("region"), word("r1"))] }],
        attributes: vec![(word("format"), word("ext4"))],
        attached_to: vec![word("m-1")],
        owner: wit::MarkedOwner {
            cluster_uid: Some(word(CLUSTER)),
            uid: Some(word(UID)),
            namespace: Some(word("default")),
            name: Some(word("data")),
        },
        source: wit::Source::Empty,
        extra: vec![(word("later"), word("unknown"))],
    }
}

fn asked() -> DesiredVolume {
    let owner = cloud_provider::ClaimOwner { uid: word(UID), ..cloud_provider::ClaimOwner::default() };
    DesiredVolume {
        name: format!("pvc-{UID}"),
        owner,
        bytes: 10 * GIB,
        places: vec![vec![(word("acme.example/zone"), word("z1")), (word("region"), word("r1"))]],
        ..DesiredVolume::default()
    }
}

#[test]
fn descriptions_of_volumes_that_cannot_work_are_refused() {
    let whole = described();
    assert_eq!((whole.snapshots, whole.clones, whole.growth), (true, false, VolumeGrowth::Online));
    type Change = fn(&mut wit::VolumeDescription);
    let changes: [(&str, Change); 16] = [
        ("the driver", |it| it.driver = word("CSI")),
        ("the driver", |it| it.driver = format!("a.{}", "x".repeat(62))),
        ("topology-keys", |it| it.topology_keys[0] = word("a/b/c")),
        ("publish-keys", |it| it.publish_keys = vec![word("a"); 65]),
        ("access-modes", |it| it.access_modes.clear()),
        ("the filesystem", |it| it.filesystem = word("ext4 -F")),
        ("sizes from", |it| it.step_bytes = 0),
        ("sizes from", |it| it.largest_bytes = 0),
        ("sizes from", |it| it.largest_bytes += 1),
        ("sizes from", |it| it.smallest_bytes = 101 * GIB),
        ("get-batch-size", |it| it.get_batch_size = 0),
        ("get-batch-size", |it| it.get_batch_size = 501),
        ("list-page-size", |it| it.list_page_size = 1_001),
        ("is not the driver's", |it| it.parameters.push(parameter("csi.storage.k8s.io/fstype"))),
        ("twice", |it| it.parameters.push(parameter("type"))),
        ("is no key", |it| it.annotations.push(parameter(FORGED))),
    ];
    for (expected, change) in changes {
        let mut described = plain();
        change(&mut described);
        let why = description(described).unwrap_err();
        assert!(why.contains(expected) && is_printable(&why), "{expected}: {why:?}");
    }
}

#[test]
fn words_for_people_in_a_description_of_volumes_are_printable() {
    let mut forged = plain();
    let row = &mut forged.parameters[0];
    (row.values, row.default, row.doc) = (word(FORGED), Some(word(FORGED)), word(FORGED));
    let shown = description(forged).unwrap().parameters.remove(0);
    assert!([&shown.values, &shown.default.unwrap(), &shown.doc].iter().all(|it| is_printable(it)));
}

#[test]
fn texts_of_a_volume_are_searched_and_refused_or_printable() {
    type Field = fn(&mut wit::Volume) -> &mut String;
    let fields: [(&str, Field); 12] = [
        ("handle", |it| &mut it.handle),
        ("name", |it| &mut it.name),
        ("topology key", |it| &mut it.accessible_topologies[0].segments[0].0),
        ("topology value", |it| &mut it.accessible_topologies[0].segments[0].1),
        ("attribute key", |it| &mut it.attributes[0].0),
        ("attribute value", |it| &mut it.attributes[0].1),
        ("node id", |it| &mut it.attached_to[0]),
        ("cluster UID", |it| it.owner.cluster_uid.as_mut().unwrap()),
        ("UID", |it| it.owner.uid.as_mut().unwrap()),
        ("namespace", |it| it.owner.namespace.as_mut().unwrap()),
        ("claim", |it| it.owner.name.as_mut().unwrap()),
        ("extra", |it| &mut it.extra[0].1),
    ];
    for (name, field) in fields {
        for text in [word(FORGED), format!("{FORGED}{}", "x".repeat(1 << 16))] {
            let mut forged = volume_of("vol-1");
            field(&mut forged).clone_from(&text);
            assert!(texts::joined(&wit::Creation::Ready(forged.clone())).contains(&text), "{name} is not searched");
            let listed = wit::Page { volumes: vec![forged.clone()], next: None, incomplete: None };
            assert!(texts::joined(&listed).contains(&text), "{name} is not searched");
            match volume(forged.clone(), &described()) {
                Ok(it) => assert!(["name", "extra"].contains(&name) && is_printable(&it.name), "{name}: {it:?}"),
                Err(why) => assert!(is_printable(&why), "{name}: {why:?}"),
            }
            let listed = page(listed, None, 1, &described()).unwrap();
            assert_eq!(listed.incomplete.is_some(), listed.volumes.is_empty(), "{name}");
        }
    }
}

#[test]
fn texts_of_steps_are_searched_and_refused_or_printable() {
    let pending = |memo: &str, reason: &str| wit::PendingStatus {
        memo: Some(word(memo)),
        wait: shared::Pause { milliseconds: u32::MAX, reason: word(reason) },
    };
    for it in [pending(FORGED, "it is made"), pending("m", FORGED)] {
        let is_seen = |said: &dyn Texts| {
            let mut seen = false;
            said.each(&mut |text| seen |= text == FORGED);
            seen
        };
        assert!(is_seen(&wit::Creation::Pending(it.clone())) && is_seen(&wit::Deletion::Pending(it.clone())));
        assert!(is_seen(&wit::Attachment::Pending(it.clone())) && is_seen(&wit::Detachment::Pending(it.clone())));
        assert!(is_seen(&wit::Expansion::Pending(it.clone())));
        match deletion(wit::Deletion::Pending(it)) {
            Ok(VolumeDeletion::Pending(it)) => assert!(is_printable(&it.reason) && it.after == LONGEST_WAIT),
            Ok(other) => panic!("{other:?}"),
            Err(why) => assert!(why.contains("memo") && is_printable(&why), "{why}"),
        }
    }
    let room = creation(wit::Creation::NoRoom(word(FORGED)), &asked(), None, &described()).unwrap();
    assert!(matches!(room, VolumeCreation::NoRoom(why) if is_printable(&why)));
    assert!(
        matches!(attachment(wit::Attachment::Full(word(FORGED)), &described()), Ok(VolumeAttachment::Full(why)) if is_printable(&why))
    );
    for odd in [
        attachment(wit::Attachment::Occupied(word(FORGED)), &described()).map(drop),
        attachment(wit::Attachment::Ready(vec![(word("devicePath"), word(FORGED))]), &described()).map(drop),
        attachment(wit::Attachment::Ready(vec![(word("other"), word("a"))]), &described()).map(drop),
        deletion(wit::Deletion::InUse(vec![word(FORGED)])).map(drop),
        deletion(wit::Deletion::InUse(vec![word("m"); 257])).map(drop),
        expansion(wit::Expansion::InUse(vec![String::new()]), 1).map(drop),
    ] {
        assert!(odd.is_err_and(|why| is_printable(&why)));
    }
}

type VolumeEdit = fn(&mut wit::Volume);

/// Cases: csi 18, adv 182
#[test]
fn a_created_volume_is_the_one_that_was_asked_for() {
    let created = |change: fn(&mut wit::Volume)| {
        let mut volume = volume_of("vol-1");
        change(&mut volume);
        creation(wit::Creation::Ready(volume), &asked(), Some(CLUSTER), &described())
    };
    assert!(matches!(created(|_| {}), Ok(VolumeCreation::Ready(_))));
    assert!(
        created(|it| it.owner = wit::MarkedOwner { cluster_uid: None, uid: None, namespace: None, name: None }).is_ok()
    );
    let other = "9d1f0000-9a5e-4a8e-8f0b-1f6d3f6f2a11";
    assert!(created(|it| it.owner.uid = Some(word("9d1f0000-9a5e-4a8e-8f0b-1f6d3f6f2a11"))).is_err(), "{other}");
    let changes: [(&str, VolumeEdit); 6] = [
        ("called", |it| it.name = word("pvc-other")),
        ("mark of another", |it| it.owner.cluster_uid = Some(word("9d1f0000-9a5e-4a8e-8f0b-1f6d3f6f2a11"))),
        ("fewer than", |it| it.bytes -= 1),
        ("that it is not", |it| it.state = wit::State::Changing),
        ("something else", |it| it.source = wit::Source::Snapshot(word("snap-1"))),
        ("none of its places", |it| it.accessible_topologies[0].segments[0].1 = word("r2")),
    ];
    for (expected, change) in changes {
        let why = created(change).unwrap_err();
        assert!(why.contains(expected), "{expected}: {why}");
    }
    assert!(expansion(wit::Expansion::Ready(wit::ExpandedVolume { bytes: 9, node_must_grow: true }), 10).is_err());
}

/// Cases: adv 182
#[test]
fn a_volume_with_another_handle_is_no_answer() {
    assert!(found(volume_of("vol-1"), "vol-1", &described()).is_ok());
    let why = found(volume_of("vol-2"), "vol-1", &described()).unwrap_err();
    assert!(why.contains("asked for volume vol-1, and answers volume vol-2"), "{why}");
}

/// Cases: adv 176
#[test]
fn parameters_that_are_not_described_are_not_passed() {
    let pair = |key: &str| (word(key), word("a"));
    let asked = DesiredVolume {
        parameters: vec![pair("type"), pair("secret")],
        annotations: vec![pair("acme.example/apart-from"), pair("another.example/key")],
        ..asked()
    };
    let told = desired(&asked, true, &described());
    assert_eq!((told.parameters, told.annotations), (vec![pair("type")], vec![pair("acme.example/apart-from")]));
    assert_eq!(told.extra, [(word("host.first-create"), word("true"))]);
    assert!(desired(&asked, false, &described()).extra.is_empty());
    let again = desired(&DesiredVolume { memo_is_new: true, ..asked }, false, &described());
    assert_eq!(again.extra, [(word("host.new-memo"), word("true"))]);
    let disk = KnownVolume::default();
    assert!(known(&disk).extra.is_empty());
    assert_eq!(known(&KnownVolume { is_block: true, ..disk }).extra, [(word("host.block"), word("true"))]);
}

/// The description with these words of an in-tree plugin.
fn with_in_tree(words: &[(&str, &str)]) -> Result<Option<InTreeVolumes>, String> {
    let extra = words.iter().map(|(key, value)| (format!("in-tree.{key}"), word(value))).collect();
    description(wit::VolumeDescription { extra, ..plain() }).map(|it| it.in_tree)
}

#[test]
fn volumes_of_an_in_tree_plugin_are_described_by_three_words() {
    let all =
        [("source", "gcePersistentDisk"), ("plugin", "kubernetes.io/gce-pd"), ("handle", "zones/{zone}/disks/{name}")];
    let described = with_in_tree(&all).unwrap().unwrap();
    assert_eq!((described.source.as_str(), described.plugin.as_str()), ("gcePersistentDisk", "kubernetes.io/gce-pd"));
    assert_eq!(with_in_tree(&[]), Ok(None));
    assert!(with_in_tree(&all[..2]).unwrap_err().contains("only some of in-tree.source"));
    for handle in ["", "disk", "{zone}", "{name}/{region}", "{name}}", "{name} ", "{", "{{name}}"] {
        let why = with_in_tree(&[all[0], all[1], ("handle", handle)]).unwrap_err();
        assert!(why.contains("in-tree.handle"), "{handle}: {why}");
    }
}

#[test]
fn namespaces_of_a_vendors_controller_are_names() {
    let said = |namespaces: &[&str]| {
        let extra = namespaces.iter().map(|it| (word("vendor.namespace"), word(it))).collect();
        description(wit::VolumeDescription { extra, ..plain() }).map(|it| it.vendor_namespaces)
    };
    assert_eq!(said(&[]), Ok(Vec::new()));
    let twice = ["gce-pd-csi-driver", "storage", "gce-pd-csi-driver"];
    assert_eq!(said(&twice), Ok(vec![word("gce-pd-csi-driver"), word("storage")]));
    for odd in ["", "a.b", "A", "a/b", "-a", FORGED, &"a".repeat(64)] {
        let why = said(&[odd]).unwrap_err();
        assert!(why.contains("vendor.namespace") && !why.contains('\n'), "{odd:?}: {why}");
    }
    assert!(said(&["a", "b", "c", "d"]).is_ok() && said(&["a", "b", "c", "d", "e"]).is_err());
}
