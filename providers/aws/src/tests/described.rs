//! The provider's description, and its README.

use aerostat_sdk::testing::answer;
use aerostat_sdk::{Effect, Error, Method, OperationPlace, Provider, readme};

use super::{Host, host, refused, sent, settings};
use crate::Aws;

#[test]
fn it_describes_its_endpoints() {
    let description = settings().run(Aws::describe).unwrap();
    assert_eq!((&*description.name, description.get_batch_size, description.list_page_size), ("aws", 200, 1_000));
    assert_eq!(description.provider_id_prefixes, ["aws://", ""]);
    let services = [
        ("ec2", "ec2", "2016-11-15"),
        ("elb", "elasticloadbalancing", "2012-06-01"),
        ("elbv2", "elasticloadbalancing", "2015-12-01"),
    ];
    assert_eq!(description.endpoints.len(), services.len());
    for (endpoint, (name, service, version)) in description.endpoints.iter().zip(services) {
        assert_eq!(endpoint.name, name);
        assert_eq!(endpoint.operation, Some(OperationPlace::Parameter("Action".to_owned())));
        assert_eq!(endpoint.parameters, [("Version".to_owned(), version.to_owned())]);
        for rule in &endpoint.allow {
            assert_eq!((&rule.methods[..], &rule.paths[..]), (&[Method::Post][..], &["/".to_owned()][..]));
            let begins =
                |words: &[&str]| rule.operations.iter().all(|it| words.iter().any(|word| it.starts_with(word)));
            assert_eq!(rule.effect == Effect::Read, begins(&["Describe"]), "{:?}", rule.operations);
            let whole = ["LoadBalancer", "SecurityGroup"];
            let are = |verb: &str| rule.operations.iter().all(|it| whole.iter().any(|of| *it == format!("{verb}{of}")));
            assert_eq!(rule.effect == Effect::Delete, are("Delete"), "{:?}", rule.operations);
            assert_eq!(rule.effect == Effect::Write, are("Create"), "{:?}", rule.operations);
            let takes_away = ["Delete", "Deregister", "Detach", "Revoke", "Apply", "Set"];
            assert!(rule.effect != Effect::Detach || begins(&takes_away), "{:?}", rule.operations);
            let may_take =
                |it: &String| ["Delete", "Deregister", "Detach", "Revoke"].iter().any(|word| it.starts_with(word));
            assert!(rule.effect != Effect::Update || !rule.operations.iter().any(may_take), "{:?}", rule.operations);
            let actions: Vec<_> = rule.operations.iter().map(|it| format!("{service}:{it}")).collect();
            assert_eq!(rule.actions, actions);
        }
    }
}

#[test]
fn settings_that_cannot_work_are_refused_at_load() {
    for (name, value, allowed) in [
        ("nodeIPFamilies", "ipv5", "a list of families such as ipv6,ipv4"),
        ("topologyInstanceTypes", "p,,g", "a list of beginnings of instance types such as p,trn,hpc"),
        ("legacyClusterTag", "yes", "true or false"),
        ("loadBalancers.securityGroup", "default", "the id of a security group such as sg-0123456789abcdef0"),
        ("loadBalancers.nlbSecurityGroupMode", "managed", "None or Managed"),
        ("loadBalancers.healthProbeMode", "kube-proxy", "ServiceNodePort or Shared"),
        ("loadBalancers.sharedHealthProbePort", "0", "one port, a whole number from 1 to 65535"),
        ("loadBalancers.sharedHealthProbePath", "healthz", "a path that begins with /"),
        ("routeTable", "main", "the id of a route table such as rtb-0123456789abcdef0"),
    ] {
        let refused = settings().setting(name, value).run(Aws::describe).unwrap_err();
        assert_eq!(refused, Error::invalid(format_args!("setting {name}: {value:?} is not {allowed}")));
    }
}

#[test]
fn it_describes_itself_before_anything_is_configured() {
    let description = Host::new().run(Aws::describe).unwrap();
    let required: Vec<_> = description.settings.iter().filter(|it| it.required).map(|it| &*it.name).collect();
    assert_eq!(required, ["region", "vpc", "clusterID"], "the host refuses a config that lacks one");
}

#[test]
fn the_identity_is_account_region_and_vpc() {
    let found =
        host(|_| answer(200, "<R><vpcSet><item><vpcId>vpc-1</vpcId><ownerId>123</ownerId></item></vpcSet></R>"));
    assert_eq!(found.run(Aws::identity), Ok(Some("account 123, region us-east-1, vpc-1".to_owned())));
    assert_eq!(sent(&found), ["Action=DescribeVpcs Filter.1.Name=vpc-id Filter.1.Value.1=vpc-1"]);
    let another = host(|_| answer(200, "<R><vpcSet/></R>")).run(Aws::identity);
    assert!(
        matches!(&another, Err(Error::Denied(why)) if why.contains("has no VPC vpc-1 in us-east-1")),
        "{another:?}"
    );
    assert!(matches!(host(|_| refused(401, "AuthFailure")).run(Aws::identity), Err(Error::Denied(_))));
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = settings().run(Aws::describe).unwrap();
    let filled = readme::filled(include_str!("../../README.md"), &description, "service.beta.kubernetes.io/");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../README.md"].assert_eq(&filled);
}
