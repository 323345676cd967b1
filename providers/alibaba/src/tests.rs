//! The mapping, natively: what is asked, and what becomes of the answers.
//!
//! The numbers in the names of tests are those of the cases in the provider's specification.

mod described;
mod errors;
mod list;
mod lookup;
pub(crate) mod pairs;
pub(crate) mod played;
pub(crate) mod published;
pub(crate) mod recorded;
mod volumes;

use aerostat_sdk::testing::{Body, Host, Outcome, Request, answer};
use serde_json::{Value, json};

/// The cluster's id at the vendor's, as in the recordings.
pub(crate) const CLUSTER_ID: &str = "c1234567890abcdef";

/// The settings of a cluster.
pub(crate) fn settings() -> Host {
    Host::new().setting("region", "cn-hangzhou").setting("vpc", "vpc-1")
}

/// A refusal of the API.
fn refused(status: u16, code: &str) -> Outcome {
    let body = json!({ "Code": code, "Message": format!("it is {code}"), "RequestId": "R-1", "HostId": "x" });
    answer(status, body.to_string())
}

/// The action of a request.
pub(crate) fn action(request: &Request) -> &str {
    let [(_, value)] = &request.headers.iter().filter(|(name, _)| name == "x-acs-action").collect::<Vec<_>>()[..]
    else {
        panic!("{request:?} has no action");
    };
    value
}

/// The value of this name in a request's query or form.
fn asked<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let form = match &request.body {
        Some(Body::Form(pairs)) => &pairs[..],
        _ => &[],
    };
    let mut found = request.query.iter().chain(form).filter(|(it, _)| it == name);
    let value = found.next().map(|(_, value)| value.as_str());
    assert!(found.next().is_none(), "{name} stands there twice");
    value
}

/// The instance with this number as ECS shows it.
pub(crate) fn instance(number: usize) -> Value {
    json!({
        "InstanceId": format!("i-bp{number}"), "InstanceName": format!("node-{number}"), "HostName": format!("Node-{number}"),
        "InstanceType": "ecs.g7.large", "Status": "Running", "ZoneId": "cn-hangzhou-b", "RegionId": "cn-hangzhou",
        "PublicIpAddress": { "IpAddress": ["198.51.100.1"] }, "EipAddress": { "IpAddress": "198.51.100.2", "AllocationId": "eip-1" },
        "InnerIpAddress": { "IpAddress": [] },
        "VpcAttributes": { "VpcId": "vpc-1", "PrivateIpAddress": { "IpAddress": [format!("10.0.{}.{}", number / 250, number % 250)] } },
        "NetworkInterfaces": { "NetworkInterface": [
            { "Type": "Secondary", "Ipv6Sets": { "Ipv6Set": [{ "Ipv6Address": "2001:db8::99" }] } },
            { "Type": "Primary", "Ipv6Sets": { "Ipv6Set": [{ "Ipv6Address": "2001:db8::1" }] } },
        ] },
        "InstanceChargeType": "PostPaid", "SpotStrategy": "NoSpot",
        "Tags": { "Tag": [{ "TagKey": "ack.alibabacloud.com/nodepool-id", "TagValue": "np1" }] },
    })
}

/// An account's machines in one VPC.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machines {
    pub(crate) instances: Vec<Value>,
    /// Whether the credential lacks the right to see them: then all lists are empty.
    is_blind: bool,
}

impl Machines {
    fn of(numbers: impl IntoIterator<Item = usize>) -> Self {
        Self { instances: numbers.into_iter().map(instance).collect(), is_blind: false }
    }

    fn host(self) -> Host {
        settings().answers(move |request| self.answer(request))
    }

    pub(crate) fn answer(&self, request: &Request) -> Outcome {
        assert_eq!(
            (&*request.endpoint, action(request), asked(request, "RegionId")),
            ("ecs", "DescribeInstances", Some("cn-hangzhou"))
        );
        if asked(request, "DryRun") == Some("true") {
            return if self.is_blind { refused(403, "Forbidden.RAM") } else { refused(400, "DryRunOperation") };
        }
        let size: usize = asked(request, "MaxResults").unwrap().parse().unwrap();
        assert!((1..=100).contains(&size));
        let list = |name| -> Option<Vec<String>> { asked(request, name).map(|it| serde_json::from_str(it).unwrap()) };
        let (ids, addresses) = (list("InstanceIds"), list("PrivateIpAddresses"));
        assert!(ids.iter().chain(&addresses).all(|it| !it.is_empty() && it.len() <= 100));
        let address = |it: &Value| it["VpcAttributes"]["PrivateIpAddress"]["IpAddress"][0].as_str().unwrap().to_owned();
        let vpc = asked(request, "VpcId");
        let shown = self.instances.iter().filter(|shown| {
            !self.is_blind
                && vpc.is_none_or(|vpc| shown["VpcAttributes"]["VpcId"] == vpc)
                // As the vendor's controller does, the API of this test takes parts of ids for ids.
                && ids.as_ref().is_none_or(|ids| ids.iter().any(|id| shown["InstanceId"].as_str().unwrap().contains(&**id)))
                && addresses.as_ref().is_none_or(|all| all.contains(&address(shown)))
        });
        let start: usize = asked(request, "NextToken").map_or(0, |it| it.parse().unwrap());
        let rest: Vec<&Value> = shown.skip(start).collect();
        let next = if rest.len() > size { (start + size).to_string() } else { String::new() };
        let page: Vec<&Value> = rest.into_iter().take(size).collect();
        answer(200, json!({ "Instances": { "Instance": page }, "NextToken": next, "RequestId": "R-1" }).to_string())
    }
}
