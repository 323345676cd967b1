//! The mapping, natively: what is asked, and what becomes of the answers. The whole way through the sandbox is tested elsewhere.
//!
//! The numbers in the names of tests are those of the cases in the provider's specification.

mod answers;
mod described;
mod errors;
mod list;
mod lookup;
mod places;
mod recorded;

use aerostat_sdk::testing::{Host, Outcome, Request, Response, answer};
use aerostat_sdk::{Address, Instance, Instances, Node, Result};

// With the settings that are required alone, authors of Services may name nothing but their own.
pub(crate) use aws_api::testing::{action, filter, line, refused, required, value};

use crate::Aws;

/// A host with the settings that are required.
pub(crate) fn host(answers: impl Fn(&Request) -> Outcome + 'static) -> Host {
    settings().answers(answers)
}

/// The same, where nothing may be sent.
pub(crate) fn settings() -> Host {
    let host = ALLOWED.iter().fold(required(), |host, setting| host.setting(setting, "*"));
    host.setting("loadBalancers.allowedHealthCheckPorts", "8080,30081")
}

/// Things that authors of Services may name.
const ALLOWED: [&str; 4] = [
    "loadBalancers.allowedSecurityGroups",
    "loadBalancers.allowedCertificates",
    "loadBalancers.allowedElasticIPs",
    "loadBalancers.allowedLogBuckets",
];

/// The requests that were sent, a line each.
pub(crate) fn sent(host: &Host) -> Vec<String> {
    host.bodies()
        .iter()
        .map(|it| it.split('&').filter(|it| !it.starts_with("Version=")).collect::<Vec<_>>().join(" "))
        .collect()
}

/// An answer of DescribeInstances with these instances, each a reservation of its own.
pub(crate) fn listed(instances: &[String], next: Option<&str>) -> Outcome {
    let item = |it: &String| format!("<item><instancesSet>{it}</instancesSet></item>");
    let next = next.map(|it| format!("<nextToken>{it}</nextToken>")).unwrap_or_default();
    let items: String = instances.iter().map(item).collect();
    answer(
        200,
        format!(
            "<DescribeInstancesResponse><reservationSet>{items}</reservationSet>{next}</DescribeInstancesResponse>"
        ),
    )
}

/// An instance in the list of EC2.
#[derive(Clone)]
pub(crate) struct Ec2 {
    pub(crate) id: String,
    pub(crate) state: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) private_dns: String,
    pub(crate) zone_id: Option<&'static str>,
    pub(crate) interfaces: String,
    pub(crate) tags: Vec<(&'static str, &'static str)>,
}

impl Ec2 {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            state: "running",
            kind: "m5.large",
            private_dns: format!("{id}.ec2.internal"),
            zone_id: Some("use1-az1"),
            interfaces: interface(0, "in-use", &["10.0.0.1"], &[]),
            tags: vec![("kubernetes.io/cluster/prod", "owned")],
        }
    }

    pub(crate) fn xml(&self) -> String {
        let Self { id, state, kind, private_dns, interfaces, .. } = self;
        let zone_id =
            self.zone_id.map(|it| format!("<availabilityZoneId>{it}</availabilityZoneId>")).unwrap_or_default();
        let tag = |(key, value): &(&str, &str)| format!("<item><key>{key}</key><value>{value}</value></item>");
        let tags: String = self.tags.iter().map(tag).collect();
        format!(
            "<item><instanceId>{id}</instanceId><instanceState><code>16</code><name>{state}</name></instanceState>\
             <privateDnsName>{private_dns}</privateDnsName><dnsName/><instanceType>{kind}</instanceType>\
             <placement><availabilityZone>us-east-1a</availabilityZone>{zone_id}</placement>\
             <networkInterfaceSet>{interfaces}</networkInterfaceSet><tagSet>{tags}</tagSet></item>"
        )
    }

    /// The instance that it becomes.
    pub(crate) fn instance(&self) -> Instance {
        Instance::new(&*self.private_dns, format!("aws:///us-east-1a/{}", self.id))
            .machine_type(self.kind)
            .zone("us-east-1a")
            .region("us-east-1")
            .addresses([
                Address::internal_ip("10.0.0.1"),
                Address::internal_dns(&*self.private_dns),
                Address::hostname(&*self.private_dns),
            ])
            .label("topology.k8s.aws/zone-id", "use1-az1")
    }
}

/// A network interface in the list of EC2.
pub(crate) fn interface(device: u32, status: &str, ipv4: &[&str], ipv6: &[&str]) -> String {
    let items = |name: &str, all: &[&str]| -> String {
        all.iter().map(|it| format!("<item><{name}>{it}</{name}></item>")).collect()
    };
    let (ipv4, ipv6) = (items("privateIpAddress", ipv4), items("ipv6Address", ipv6));
    format!(
        "<item><status>{status}</status><attachment><deviceIndex>{device}</deviceIndex></attachment>\
         <privateIpAddressesSet>{ipv4}</privateIpAddressesSet><ipv6AddressesSet>{ipv6}</ipv6AddressesSet></item>"
    )
}

/// EC2 with these instances, as filters by id find them.
pub(crate) fn cloud(instances: Vec<Ec2>) -> Host {
    host(move |request| {
        assert_eq!(action(request), "DescribeInstances", "{}", line(request));
        let ids = filter(request, "instance-id");
        let found: Vec<_> = instances.iter().filter(|it| ids.contains(&&*it.id)).map(Ec2::xml).collect();
        listed(&found, None)
    })
}

pub(crate) fn get(host: &Host, node: &Node) -> Result<Option<Instance>> {
    host.run(|| Aws::get(node))
}

pub(crate) fn node(provider_id: &str) -> Node {
    Node::named("n").with_provider_id(provider_id)
}

/// An answer with headers.
pub(crate) fn answer_with(status: u16, headers: &[(&str, &str)], body: &str) -> Outcome {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok(Response { status, headers, body: body.as_bytes().to_vec() })
}
