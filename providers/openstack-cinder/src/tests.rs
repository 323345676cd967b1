//! The provider's description, and its README.

use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Effect, Error, Growth, Provider, Volumes, readme};

use crate::Cinder;

fn host() -> Host {
    Host::new().setting("region", "RegionOne")
}

#[test]
fn it_describes_its_endpoints() {
    let description = host().run(<Cinder as Provider>::describe).unwrap();
    assert_eq!(
        (&*description.name, description.provider_id_prefixes.len()),
        ("openstack-cinder", 0),
        "no node is its own"
    );
    let mut writes = Vec::new();
    for endpoint in &description.endpoints {
        for rule in endpoint.allow.iter().filter(|it| it.effect != Effect::Read) {
            writes.push((&*endpoint.name, rule.effect, rule.paths.join(" ")));
        }
    }
    let expected = [
        ("volume", Effect::Write, "/volumes"),
        ("volume", Effect::Write, "/volumes/*/action"),
        ("volume", Effect::Delete, "/volumes/*"),
        ("compute", Effect::Update, "/servers/*/os-volume_attachments"),
        ("compute", Effect::Detach, "/servers/*/os-volume_attachments/*"),
    ];
    assert_eq!(writes, expected.map(|(name, effect, path)| (name, effect, path.to_owned())));
}

#[test]
fn it_describes_the_vendors_driver() {
    let description = Cinder::volumes();
    assert_eq!((&*description.driver, description.growth), ("cinder.csi.openstack.org", Growth::Online));
    assert_eq!(description.topology_keys, ["topology.cinder.csi.openstack.org/zone"]);
    assert_eq!(description.publish_keys, ["DevicePath"]);
    let keys: Vec<_> = description.parameters.iter().map(|it| &*it.key).collect();
    assert_eq!(keys, ["type", "availability"]);
    let in_tree: Vec<_> = description.extra.iter().map(|(_, value)| &**value).collect();
    assert_eq!(in_tree, ["cinder", "kubernetes.io/cinder", "{volume}"]);
}

impl Cinder {
    fn volumes() -> aerostat_sdk::VolumeDescription {
        host().run(<Self as Volumes>::describe).unwrap()
    }
}

#[test]
fn settings_that_cannot_work_are_refused_at_load() {
    for (name, value, allowed) in [
        ("createAgainAfter", "2h", "between 1s and 1h"),
        ("ignoreVolumeAZ", "yes", "true or false"),
        ("region", "\u{7}", "the name of a region such as RegionOne"),
    ] {
        let refused = Host::new().setting(name, value).run(<Cinder as Provider>::describe).unwrap_err();
        assert_eq!(refused, Error::invalid(format_args!("setting {name}: {value:?} is not {allowed}")));
    }
    assert!(Host::new().run(<Cinder as Provider>::describe).is_ok(), "before anything is configured");
}

#[test]
fn the_identity_is_project_and_region() {
    let found = host().answers(|_| answer(200, r#"{ "project": { "project_id": "p-1" } }"#));
    let identity = Ok(Some("project p-1, region RegionOne".to_owned()));
    assert_eq!(found.run(Cinder::identity), identity, "the same as the provider of the cluster says it");
    assert_eq!(found.requests(), ["GET network /quotas/project"]);
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = host().run(<Cinder as Provider>::describe).unwrap();
    let filled = readme::filled(include_str!("../README.md"), &description, "");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../README.md"].assert_eq(&filled);
}
