//! A VPC in memory: its route tables, and the interfaces of its machines.

use std::cell::RefCell;
use std::rc::Rc;

use aerostat_sdk::testing::{Body, Host, Outcome, Request, answer};
use aerostat_sdk::{Cluster, Result, Route, RouteChange, RouteOutcome, Routes};
use serde_json::{Value, json};

use crate::Alibaba;

const UID: &str = "c1a5e000-1111-2222-3333-444455556666";
/// Machines of the VPC, if a test does not say how many.
pub(super) const MACHINES: usize = 250;

/// The network of a cluster: its route tables, and the interfaces of its machines.
#[derive(Clone)]
pub(super) struct Network(pub(super) Rc<RefCell<State>>);

pub(super) struct State {
    pub(super) tables: Vec<&'static str>,
    pub(super) machines: usize,
    pub(super) entries: Vec<Value>,
    /// Primary interfaces that drop packets of pods, by the number of their instance.
    pub(super) checking: Vec<usize>,
    /// Whether the credential lacks the right to see interfaces: then lists of them are empty.
    pub(super) is_blind: bool,
    /// Codes with which the next writes are refused, each with the action, and a part of what it is about.
    pub(super) refusals: Vec<(&'static str, &'static str, &'static str)>,
    /// The field by which refused deletions are told.
    pub(super) named_by: &'static str,
    /// Whether new entries are Pending until the table takes others, or was read once more.
    pub(super) is_slow: bool,
    /// A destination whose entry is not there any more: requests that would delete it are refused as a whole.
    pub(super) gone: Option<&'static str>,
    /// A destination whose instance carries out a change: requests that would make or delete its entry are refused as a whole.
    pub(super) stuck: Option<&'static str>,
    /// An entry that somebody makes just before the next creation.
    pub(super) rival: Option<Value>,
    pub(super) sent: Vec<String>,
}

pub(super) fn entry(destination: &str, instance: &str, description: &str) -> Value {
    json!({
        "RouteEntryId": format!("rte-{}", destination.replace(['.', '/'], "-")), "DestinationCidrBlock": destination,
        "Description": description, "Status": "Available", "Type": "Custom",
        "NextHops": { "NextHop": [{ "NextHopType": "Instance", "NextHopId": instance }] },
    })
}

pub(super) fn mark() -> String {
    format!("aerostat:{UID}")
}

fn values(request: &Request) -> Vec<(String, String)> {
    let form = match &request.body {
        Some(Body::Form(pairs)) => pairs.clone(),
        _ => Vec::new(),
    };
    request.query.iter().cloned().chain(form).collect()
}

impl Network {
    pub(super) fn new(entries: Vec<Value>) -> Self {
        let (tables, checking, refusals, sent) = (vec!["vtb-1"], Vec::new(), Vec::new(), Vec::new());
        let named_by = "DstCidrBlock";
        Self(Rc::new(RefCell::new(State {
            tables,
            machines: MACHINES,
            entries,
            checking,
            is_blind: false,
            refusals,
            named_by,
            is_slow: false,
            gone: None,
            stuck: None,
            rival: None,
            sent,
        })))
    }

    pub(super) fn host(&self) -> Host {
        let network = self.clone();
        let host = Host::new().setting("region", "cn-hangzhou").setting("vpc", "vpc-1");
        host.cluster(Cluster::of("prod", UID)).answers(move |request| network.0.borrow_mut().answer(request))
    }

    pub(super) fn apply(&self, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        self.host().run(|| Alibaba::apply(changes))
    }

    /// The outcome of one change.
    pub(super) fn one(&self, change: RouteChange) -> Result<RouteOutcome> {
        self.apply(&[change]).pop().unwrap()
    }

    pub(super) fn list(&self) -> Result<Vec<Route>> {
        self.host().run(|| Alibaba::list(None, 500)).map(|it| it.routes)
    }

    pub(super) fn sent(&self) -> Vec<String> {
        std::mem::take(&mut self.0.borrow_mut().sent)
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Outcome {
        let pairs = values(request);
        let (_, action) = request.headers.iter().find(|(name, _)| name == "x-acs-action").unwrap();
        let value = |name: &str| pairs.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
        self.sent.push(action.clone());
        if let Some(at) = self.refusals.iter().position(|(it, part, _)| it == action && part.is_empty()) {
            let (_, _, code) = self.refusals.remove(at);
            return answer(400, json!({ "Code": code, "Message": "m" }).to_string());
        }
        let faults = [
            ("DeleteRouteEntries", self.gone, "InvalidRouteEntry.NotFound"),
            ("DeleteRouteEntries", self.stuck, "IncorrectStatus.Instance"),
            ("CreateRouteEntries", self.stuck, "IncorrectStatus.Instance"),
        ];
        let has = |destination: Option<&str>| pairs.iter().any(|(_, it)| Some(it.as_str()) == destination);
        if let Some((.., code)) = faults.into_iter().find(|it| it.0 == action && has(it.1)) {
            return answer(400, json!({ "Code": code, "Message": "m" }).to_string());
        }
        let ok = |body: Value| answer(200, body.to_string());
        match &**action {
            "DescribeRouteTableList" => {
                let tables: Vec<_> = self.tables.iter().map(|it| json!({ "RouteTableId": it })).collect();
                ok(json!({ "RouterTableList": { "RouterTableListType": tables } }))
            }
            "DescribeRouteEntryList" => {
                assert_eq!(value("RouteTableId").as_deref(), Some("vtb-1"));
                let size: usize = value("MaxResult").unwrap().parse().unwrap();
                let start: usize = value("NextToken").map_or(0, |it| it.parse().unwrap());
                let page: Vec<_> = self.entries.iter().skip(start).take(size).cloned().collect();
                let is_last = start + size >= self.entries.len();
                let next = if is_last { String::new() } else { (start + size).to_string() };
                if self.is_slow {
                    self.entries.iter_mut().skip(start).take(size).for_each(|it| it["Status"] = json!("Available"));
                }
                ok(json!({ "RouteEntrys": { "RouteEntry": page }, "NextToken": next }))
            }
            "DescribeInstances" => {
                let ids: Vec<String> = serde_json::from_str(&value("InstanceIds").unwrap()).unwrap();
                let shown = ids.iter().map(|id| {
                    let number = id.rsplit('-').next().unwrap();
                    let interface = json!({ "NetworkInterfaceId": format!("eni-{number}"), "Type": "Primary" });
                    json!({ "InstanceId": id, "NetworkInterfaces": { "NetworkInterface": [interface] } })
                });
                ok(json!({ "Instances": { "Instance": shown.collect::<Vec<_>>() }, "NextToken": "" }))
            }
            "DescribeNetworkInterfaces" => {
                let ids = pairs.iter().filter(|(name, _)| name.starts_with("NetworkInterfaceId."));
                let asked = ids.map(|(_, id)| id.rsplit('-').next().unwrap().parse().unwrap());
                let start: usize = value("NextToken").map_or(0, |it| it.parse().unwrap());
                let (numbers, size): (Vec<usize>, _) = match value("VpcId") {
                    Some(_) => ((start..self.machines.min(start + 500)).collect(), "500"),
                    None => (asked.collect(), "100"),
                };
                assert_eq!(value("MaxResults").as_deref(), Some(size));
                let has_more = value("VpcId").is_some() && start + 500 < self.machines;
                let next = if has_more { (start + 500).to_string() } else { String::new() };
                let shown = numbers.iter().map(|number| {
                    json!({
                        "NetworkInterfaceId": format!("eni-{number}"), "InstanceId": format!("i-{number}"),
                        "SourceDestCheck": self.checking.contains(number),
                    })
                });
                let shown: Vec<_> = shown.filter(|_| !self.is_blind).collect();
                ok(json!({ "NetworkInterfaceSets": { "NetworkInterfaceSet": shown }, "NextToken": next }))
            }
            "ModifyNetworkInterfaceAttribute" => {
                assert_eq!(value("SourceDestCheck").as_deref(), Some("false"));
                let number: usize = value("NetworkInterfaceId").unwrap().rsplit('-').next().unwrap().parse().unwrap();
                self.checking.retain(|it| *it != number);
                ok(json!({}))
            }
            "CreateRouteEntries" | "DeleteRouteEntries" => ok(self.write(action, &value)),
            other => panic!("{other}"),
        }
    }

    fn write(&mut self, action: &str, value: &dyn Fn(&str) -> Option<String>) -> Value {
        self.entries.extend(self.rival.take());
        if self.is_slow {
            self.entries.iter_mut().for_each(|it| it["Status"] = json!("Available"));
        }
        let mut failed = Vec::new();
        for number in 1.. {
            let of = |name: &str| value(&format!("RouteEntries.{number}.{name}"));
            let Some(table) = of("RouteTableId") else { break };
            assert!(table == "vtb-1" && number <= 50);
            let destination = of("DstCidrBlock").unwrap();
            let told = self.refusals.iter().find(|(it, part, _)| *it == action && destination.contains(part));
            if action == "DeleteRouteEntries" {
                let id = of("RouteEntryId").unwrap();
                let is_there = self.entries.iter().any(|it| it["RouteEntryId"] == id.as_str());
                let code = told.map(|it| it.2).or((!is_there).then_some("InvalidRouteEntry.NotFound"));
                if let Some(code) = code {
                    let all = json!({ "RouteEntryId": id, "DstCidrBlock": destination });
                    let mut refused = json!({ "FailedCode": code, "FailedMessage": "m" });
                    refused[self.named_by] = all[self.named_by].clone();
                    failed.push(refused);
                    continue;
                }
                self.entries.retain(|it| it["RouteEntryId"] != id.as_str());
                continue;
            }
            let hop = of("NextHop").unwrap();
            assert_eq!(of("NextHopType").as_deref(), Some("Instance"));
            let is_taken = self.entries.iter().any(|it| it["DestinationCidrBlock"] == destination.as_str());
            let code = told.map(|it| it.2).or(is_taken.then_some("VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE"));
            match code {
                Some(code) => failed.push(json!({
                    "DstCidrBlock": destination, "NextHop": hop, "FailedCode": code, "FailedMessage": "m",
                })),
                None => {
                    let mut new = entry(&destination, &hop, &of("Description").unwrap());
                    if self.is_slow {
                        new["Status"] = json!("Pending");
                    }
                    self.entries.push(new);
                }
            }
        }
        json!({ "FailedCount": failed.len(), "FailedRouteEntries": failed })
    }
}
