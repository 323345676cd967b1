//! Contents of requests under the rules of the shipped config: those of the provider pass, and anything else that the
//! same operations could do is refused before it is signed.

use egress::{Body, Egress, Endpoint, GuestRequest, Method, Mode, SendError};
use serde_json::Value;
use tests::capture::Capture;
use tests::vendor::manifest;

use super::cloud::{Api, EC2, ELB, ELBV2, cloud, credentials, egress, endpoint, pairs, request, send};
use crate::setup::Folder;
use tests::audit;

const CONFIG: &str = include_str!("../../../../deploy/aws/config.yaml");

struct World {
    egress: Egress,
    cloud: Capture,
    _folder: Folder,
}

type Pairs<'a> = [(&'a str, &'a str)];

impl World {
    /// With the rules as shipped, for the VPC `vpc-1` and the cluster `prod`.
    async fn new() -> Self {
        let (folder, cloud) = (Folder::new(), cloud().await);
        let ca_file = folder.write("ca.pem", cloud.ca());
        let config = manifest::cloud_config(CONFIG).to_string().replace("VPC-OF-THE-CLUSTER", "vpc-1");
        let config: Value = serde_json::from_str(&config.replace("ID-OF-THE-CLUSTER", "prod")).unwrap();
        let endpoint = |api: Api| {
            let written = config["endpoints"].as_array().unwrap().iter().find(|own| own["name"] == api.name).unwrap();
            let allow = manifest::rules(written);
            Endpoint { ca_file: Some(ca_file.clone()), allow, ..endpoint(&api, &cloud.url()) }
        };
        let egress = egress([EC2, ELB, ELBV2].map(endpoint).into(), credentials(&folder));
        Self { egress, cloud, _folder: folder }
    }

    async fn send(
        &self,
        api: Api,
        action: &str,
        query: &Pairs<'_>,
        form: &Pairs<'_>,
    ) -> Result<(u16, String), SendError> {
        let form = [&[("Action", action), ("Version", api.version)][..], form].concat();
        let body = Some(Body::Form(pairs(&form)));
        let asked = GuestRequest { endpoint: api.name.to_owned(), query: pairs(query), body, ..request(Method::Post) };
        send(&self.egress, Mode::Write { deletes: 9 }, asked).await
    }

    /// Asserts that a form is refused for what it carries, and that nobody was dialled.
    async fn refused(&self, api: Api, action: &str, form: &Pairs<'_>, part: &str) {
        let before = self.cloud.connections();
        match self.send(api, action, &[], form).await {
            Err(SendError::Denied(text)) => {
                assert!(text.starts_with("E-EGRESS-CONTENT: ") && text.contains(part), "{action} {form:?}: {text}");
            }
            other => panic!("{action} {form:?}: {other:?}"),
        }
        assert_eq!(self.cloud.connections(), before, "{action} {form:?}");
    }

    async fn passes(&self, api: Api, action: &str, form: &Pairs<'_>) {
        let answer = self.send(api, action, &[], form).await;
        assert_eq!(answer, Ok((200, "<ok/>".to_owned())), "{action} {form:?}");
    }
}

const INSTANCE: (&str, &str) = ("InstanceId", "i-0123456789abcdef0");
const CHECK: (&str, &str) = ("SourceDestCheck.Value", "false");
const MODIFY: &str = "ModifyInstanceAttribute";

#[tokio::test]
async fn adv_164_an_instance_gets_no_user_data_and_no_groups() {
    let world = World::new().await;
    world.passes(EC2, MODIFY, &[INSTANCE, CHECK]).await;
    for name in [
        "UserData",
        "UserData.Value",
        "userdata",
        "userData.value",
        "USERDATA.VALUE",
        "UserData.value",
        "User%44ata.Value",
        "UserData%2EValue",
        "UserData.Value ",
        "GroupId.1",
        "Attribute",
        "Value",
        "InstanceType.Value",
        "DisableApiTermination.Value",
        "SourceDestCheck",
        "SourceDestCheck.Value.1",
    ] {
        let part = "is not one that `only` or `where` of the rule names";
        world.refused(EC2, MODIFY, &[INSTANCE, (name, "IyEvYmluL3No")], part).await;
        world.refused(EC2, MODIFY, &[INSTANCE, CHECK, (name, "IyEvYmluL3No")], part).await;
        let mixed = world.send(EC2, MODIFY, &[(name, "IyEvYmluL3No")], &[INSTANCE, CHECK]).await;
        assert!(matches!(&mixed, Err(SendError::Denied(text)) if text.contains(part)), "{name}: {mixed:?}");
    }
    world.refused(EC2, MODIFY, &[INSTANCE, CHECK, CHECK], "stands there twice").await;
    world.refused(EC2, MODIFY, &[INSTANCE, INSTANCE, CHECK], "stands there twice").await;
    let twice = world.send(EC2, MODIFY, &[INSTANCE], &[INSTANCE, CHECK]).await;
    assert!(matches!(&twice, Err(SendError::Denied(text)) if text.contains("stands there twice")), "{twice:?}");
    world.refused(EC2, MODIFY, &[INSTANCE, ("SourceDestCheck.Value", "true")], "`where` lets stand, false").await;
    world.refused(EC2, MODIFY, &[("InstanceId", "eni-1"), CHECK], "`where` lets stand, i-*").await;
    world.refused(EC2, MODIFY, &[("instanceid", "i-1"), CHECK], "is not one that").await;
    assert_eq!(world.cloud.requests().len(), 1);
    for content_type in ["application/json", "application/x-www-form-urlencoded"] {
        let asked = GuestRequest {
            query: pairs(&[("Action", MODIFY), ("Version", EC2.version), INSTANCE]),
            headers: pairs(&[("content-type", content_type)]),
            body: Some(Body::Bytes(b"{\"UserData\":{\"Value\":\"x\"}}".to_vec())),
            ..request(Method::Post)
        };
        let sent = send(&world.egress, Mode::Write { deletes: 9 }, asked).await;
        assert!(matches!(&sent, Err(SendError::Denied(text)) if text.starts_with("E-EGRESS-OPERATION")), "{sent:?}");
    }
}

#[tokio::test]
async fn adv_164_a_route_leads_to_an_instance_and_nowhere_else() {
    let world = World::new().await;
    let (table, to) = (("RouteTableId", "rtb-1"), ("DestinationCidrBlock", "10.0.1.0/24"));
    for action in ["CreateRoute", "ReplaceRoute"] {
        world.passes(EC2, action, &[table, to, INSTANCE]).await;
        for other in [
            ("GatewayId", "igw-1"),
            ("gatewayid", "igw-1"),
            ("NatGatewayId", "nat-1"),
            ("TransitGatewayId", "tgw-1"),
            ("VpcPeeringConnectionId", "pcx-1"),
            ("NetworkInterfaceId", "eni-1"),
            ("EgressOnlyInternetGatewayId", "eigw-1"),
            ("LocalTarget", "true"),
            ("DestinationPrefixListId", "pl-1"),
            ("DestinationIpv6CidrBlock", "::/0"),
        ] {
            world.refused(EC2, action, &[table, to, other], "is not one that").await;
            world.refused(EC2, action, &[table, to, INSTANCE, other], "is not one that").await;
        }
        world.refused(EC2, action, &[("RouteTableId", "tgw-rtb-1"), to, INSTANCE], "rtb-*").await;
        world.refused(EC2, action, &[table, to, ("InstanceId", "igw-1")], "i-*").await;
    }
}

#[tokio::test]
async fn adv_164_all_protocols_come_from_no_network() {
    let world = World::new().await;
    let authorize = "AuthorizeSecurityGroupIngress";
    let (group, all) = (("GroupId", "sg-1"), ("IpPermissions.1.IpProtocol", "-1"));
    let world_wide = ("IpPermissions.1.IpRanges.1.CidrIp", "0.0.0.0/0");
    let ports = [("IpPermissions.1.FromPort", "30080"), ("IpPermissions.1.ToPort", "30080")];
    let tcp = ("IpPermissions.1.IpProtocol", "tcp");
    world.passes(EC2, authorize, &[group, tcp, ports[0], ports[1], world_wide]).await;
    world.passes(EC2, authorize, &[group, all, ("IpPermissions.1.Groups.1.GroupId", "sg-2")]).await;
    world.refused(EC2, authorize, &[group, all, world_wide], "`where` lets stand, tcp, udp, icmp").await;
    world.refused(EC2, authorize, &[group, all, ("IpPermissions.1.Ipv6Ranges.1.CidrIpv6", "::/0")], "tcp, udp").await;
    let second = [("IpPermissions.2.IpProtocol", "-1"), ("IpPermissions.2.IpRanges.1.CidrIp", "0.0.0.0/0")];
    world
        .refused(EC2, authorize, &[group, tcp, ports[0], ports[1], world_wide, second[0], second[1]], "tcp, udp")
        .await;
    let both = [all, ("IpPermissions.1.Groups.1.GroupId", "sg-2"), world_wide];
    world.refused(EC2, authorize, &[group, both[0], both[1], both[2]], "in one rule").await;
    for other in [
        ("CidrIp", "0.0.0.0/0"),
        ("IpProtocol", "-1"),
        ("ipPermissions.1.IpProtocol", "-1"),
        ("IpPermissions.1.ipProtocol", "-1"),
        ("IpPermissions.1.PrefixListIds.1.PrefixListId", "pl-1"),
        ("GroupName", "default"),
        ("SourceSecurityGroupName", "default"),
    ] {
        world.refused(EC2, authorize, &[group, tcp, ports[0], ports[1], world_wide, other], "in one rule").await;
    }
}

#[tokio::test]
async fn adv_166_tags_are_the_clusters_own_and_on_security_groups() {
    let world = World::new().await;
    let (group, value) = (("ResourceId.1", "sg-1"), ("Tag.1.Value", "owned"));
    let key = |it| ("Tag.1.Key", it);
    world.passes(EC2, "CreateTags", &[group, key("kubernetes.io/cluster/prod"), value]).await;
    world.passes(EC2, "CreateTags", &[group, key("aerostat.dev/service-uid"), value]).await;
    for foreign in ["kubernetes.io/cluster/other", "Name", "kubernetes.io/cluster/prod2", "KubernetesClusters", ""] {
        world.refused(EC2, "CreateTags", &[group, key(foreign), value], "\"Tag.1.Key\"").await;
    }
    let own = key("kubernetes.io/cluster/prod");
    world.refused(EC2, "CreateTags", &[group, own, value, ("Tag.2.Key", "Name")], "\"Tag.2.Key\"").await;
    world.refused(EC2, "CreateTags", &[group, own, value, ("tag.1.key", "Name")], "\"tag.1.key\"").await;
    for resource in ["i-1", "vpc-1", "rtb-1", "subnet-1", "SG-1", " sg-1", ""] {
        let form = [("ResourceId.1", resource), own, value];
        world.refused(EC2, "CreateTags", &form, "\"ResourceId.1\"").await;
    }
    world.refused(EC2, "CreateTags", &[group, ("ResourceId.2", "i-1"), own, value], "\"ResourceId.2\"").await;
    let made = [("GroupName", "k8s-a"), ("GroupDescription", "d")];
    world.passes(EC2, "CreateSecurityGroup", &[made[0], made[1], ("VpcId", "vpc-1")]).await;
    world.refused(EC2, "CreateSecurityGroup", &[made[0], made[1], ("VpcId", "vpc-2")], "\"VpcId\"").await;
}

#[tokio::test]
async fn adv_166_listeners_forward_and_targets_are_instances() {
    let world = World::new().await;
    let arn = |it: &str| format!("arn:aws:elasticloadbalancing:eu-west-1:1:{it}");
    let (balancer, group) = (arn("loadbalancer/net/a/1"), arn("targetgroup/k8s-a/1"));
    let (balancer, group) = (("LoadBalancerArn", &*balancer), &*group);
    let to = ("DefaultActions.member.1.TargetGroupArn", group);
    let plain = [("Port", "80"), ("Protocol", "TCP"), balancer];
    let forward = ("DefaultActions.member.1.Type", "forward");
    world.passes(ELBV2, "CreateListener", &[plain[0], plain[1], plain[2], forward, to]).await;
    let redirect = ("DefaultActions.member.1.Type", "redirect");
    world.refused(ELBV2, "CreateListener", &[plain[0], plain[1], plain[2], redirect, to], "forward").await;
    let url = ("DefaultActions.member.1.RedirectConfig.Host", "evil.test");
    world.refused(ELBV2, "CreateListener", &[plain[0], plain[1], plain[2], forward, to, url], "is not one that").await;
    let registered = ("TargetGroupArn", group);
    world.passes(ELBV2, "RegisterTargets", &[registered, ("Targets.member.1.Id", "i-1")]).await;
    world.refused(ELBV2, "RegisterTargets", &[registered, ("Targets.member.1.Id", "10.0.0.1")], "i-*").await;
    let other = arn("loadbalancer/app/a/1");
    world.refused(ELBV2, "DeleteLoadBalancer", &[("LoadBalancerArn", &other)], "loadbalancer/net/*").await;
    let classic = [("LoadBalancerName", "a"), ("Instances.member.1.InstanceId", "i-1")];
    world.passes(ELB, "RegisterInstancesWithLoadBalancer", &classic).await;
}

#[tokio::test]
async fn adv_164_the_audit_names_what_may_not_stand_and_no_value() {
    let world = World::new().await;
    audit::keep();
    world.refused(EC2, MODIFY, &[INSTANCE, ("UserData.Audited", "c2VjcmV0")], "\"UserData.Audited\"").await;
    let lines = audit::lines("/");
    let said = |it: &&Value| it["error"].as_str().is_some_and(|it| it.contains("the parameter \"UserData.Audited\""));
    let line = lines.iter().find(said).unwrap();
    assert_eq!((&line["decision"], &line["code"]), (&"deny".into(), &"E-EGRESS-CONTENT".into()));
    assert!(line["error"].as_str().unwrap().contains("ec2.allow["), "{line}");
    assert!(!line.to_string().contains("c2VjcmV0"), "{line}");
}
