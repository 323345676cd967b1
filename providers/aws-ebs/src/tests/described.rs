//! The provider's description, and its README.

use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Effect, Error, Method, OperationPlace, Provider, readme};
use aws_api::testing::{refused, required};

use super::host;
use crate::Ebs;

#[test]
fn it_describes_its_endpoint() {
    let description = required().run(Ebs::describe).unwrap();
    assert_eq!((&*description.name, description.provider_id_prefixes.len()), ("aws-ebs", 0), "no node is its own");
    let [endpoint] = &description.endpoints[..] else { panic!("{:?}", description.endpoints) };
    assert_eq!(
        (&*endpoint.name, &endpoint.parameters[..]),
        ("ec2", &[("Version".to_owned(), "2016-11-15".to_owned())][..])
    );
    assert_eq!(endpoint.operation, Some(OperationPlace::Parameter("Action".to_owned())));
    let effects = [
        ("AttachVolume", Effect::Update),
        ("CreateVolume", Effect::Write),
        ("DeleteVolume", Effect::Delete),
        ("DescribeInstances", Effect::Read),
        ("DescribeVolumes", Effect::Read),
        ("DescribeVolumesModifications", Effect::Read),
        ("DescribeVpcs", Effect::Read),
        ("DetachVolume", Effect::Detach),
        // A volume that has grown does not shrink.
        ("ModifyVolume", Effect::Write),
    ];
    let mut found = Vec::new();
    for rule in &endpoint.allow {
        assert_eq!((&rule.methods[..], &rule.paths[..]), (&[Method::Post][..], &["/".to_owned()][..]));
        let actions: Vec<_> = rule.operations.iter().map(|it| format!("ec2:{it}")).collect();
        assert_eq!(rule.actions, actions);
        found.extend(rule.operations.iter().map(|it| (it.as_str(), rule.effect)));
    }
    found.sort_by_key(|(operation, _)| *operation);
    assert_eq!(found, effects);
}

#[test]
fn settings_that_cannot_work_are_refused_at_load() {
    for (name, value, allowed) in [
        ("region", "eu central", "the name of a region such as eu-central-1"),
        ("vpc", "main", "the id of a VPC such as vpc-0123456789abcdef0"),
        ("createAgainAfter", "2h", "between 1s and 1h"),
    ] {
        let refused = Host::new().setting(name, value).run(Ebs::describe).unwrap_err();
        assert_eq!(refused, Error::invalid(format_args!("setting {name}: {value:?} is not {allowed}")));
    }
}

#[test]
fn it_describes_itself_before_anything_is_configured() {
    let description = Host::new().run(Ebs::describe).unwrap();
    let required: Vec<_> = description.settings.iter().filter(|it| it.required).map(|it| &*it.name).collect();
    assert_eq!(required, ["region", "vpc", "clusterID"], "the host refuses a config that lacks one");
}

#[test]
fn the_identity_is_account_region_and_vpc() {
    let found =
        host(|_| answer(200, "<R><vpcSet><item><vpcId>vpc-1</vpcId><ownerId>123</ownerId></item></vpcSet></R>"));
    let identity = Ok(Some("account 123, region us-east-1, vpc-1".to_owned()));
    assert_eq!(found.run(Ebs::identity), identity, "the same as the provider of the cluster says it");
    let another = host(|_| answer(200, "<R><vpcSet/></R>")).run(Ebs::identity);
    assert!(
        matches!(&another, Err(Error::Denied(why)) if why.contains("has no VPC vpc-1 in us-east-1")),
        "{another:?}"
    );
    assert!(matches!(host(|_| refused(401, "AuthFailure")).run(Ebs::identity), Err(Error::Denied(_))));
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = required().run(Ebs::describe).unwrap();
    let filled = readme::filled(include_str!("../../README.md"), &description, "");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../README.md"].assert_eq(&filled);
}
