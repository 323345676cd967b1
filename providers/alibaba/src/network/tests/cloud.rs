//! Network Load Balancers in memory: each change takes its time, and what is at work refuses the next one.

mod groups;
mod security;
mod zones;

use std::collections::BTreeMap;

use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange, Setup};
use aerostat_sdk::testing::{FakeActions, FakeCloud, FakeMoment, FakeObjects, Request, Response, reply};
use serde_json::{Value, json};

use crate::load_balancer::PREFIX;
use crate::tests::pairs::{Pairs, members, pairs, refusal, text};
use crate::tests::{CLUSTER_ID, Machines, action, instance, published};

/// The zones of Services, as in the recordings.
pub(super) const ZONES: &str = "cn-hangzhou-b:vsw-b,cn-hangzhou-g:vsw-g";
/// How long a job takes, in seconds.
const JOB: u64 = 3;

/// The cloud.
#[derive(Debug)]
pub(super) struct FakeNlb {
    pub(super) machines: Machines,
    pub(super) balancers: FakeObjects,
    pub(super) groups: FakeObjects,
    pub(super) listeners: FakeObjects,
    pub(super) security: FakeObjects,
    pub(super) jobs: FakeActions,
    /// The ids that creations with these tokens gave.
    pub(super) tokens: BTreeMap<String, String>,
    /// An action whose next job fails, and the jobs that have failed.
    pub(super) fails: Option<&'static str>,
    pub(super) failed: Vec<String>,
    /// The most machines of a group.
    pub(super) most_servers: usize,
    /// Whether the credential lacks the right to see security groups: then lists of them are empty.
    pub(super) is_blind: bool,
    /// The most rules of a page.
    pub(super) most_rules: usize,
    /// Actions that are refused once, with these codes.
    pub(super) waits_at: Vec<(&'static str, &'static str)>,
    /// Whether a load balancer that gets security groups says nothing of it, nor shows them before the job is over; and those, by the job.
    pub(super) joins_late: bool,
    pub(super) joining: Vec<(String, String, Vec<Value>)>,
    /// An action just before which the load balancer that it is about goes.
    pub(super) goes_before: Option<&'static str>,
}

impl Default for FakeNlb {
    fn default() -> Self {
        Self {
            machines: Machines::default(),
            balancers: FakeObjects::new("load balancer", "nlb-"),
            groups: FakeObjects::new("server group", "sgp-"),
            listeners: FakeObjects::new("listener", "lsn-"),
            security: FakeObjects::new("security group", "sg-"),
            jobs: FakeActions::default(),
            tokens: BTreeMap::new(),
            fails: None,
            failed: Vec::new(),
            most_servers: 200,
            is_blind: false,
            most_rules: 1_000,
            waits_at: Vec::new(),
            joins_late: false,
            joining: Vec::new(),
            goes_before: None,
        }
    }
}

/// The objects of a list that have the tag that is asked for.
fn listed(objects: &FakeObjects, pairs: &Pairs, moment: FakeMoment) -> Vec<String> {
    let asked = json!({ "Key": text(pairs, "Tag.1.Key"), "Value": text(pairs, "Tag.1.Value") });
    let has = |body: &Value| body["Tags"].as_array().unwrap().contains(&asked);
    objects.listed(moment).filter(|(_, it)| has(&it.body)).map(|(id, _)| id.to_owned()).collect()
}

/// A page of shown objects: the token is the number of those before it.
fn page(field: &str, shown: &[Value], pairs: &Pairs) -> Response {
    let size: usize = text(pairs, "MaxResults").parse().unwrap();
    assert!((1..=100).contains(&size));
    let start: usize = pairs.get("NextToken").map_or(0, |it| it.as_str().unwrap().parse().unwrap());
    let next = if shown.len() > start + size { (start + size).to_string() } else { String::new() };
    let items: Vec<&Value> = shown.iter().skip(start).take(size).collect();
    reply(200, json!({ field: items, "NextToken": next, "TotalCount": shown.len() }))
}

/// A body with the parameters of these names, as numbers, flags and texts.
fn put(body: &mut Value, pairs: &Pairs, names: &[&str]) {
    // A list that is written takes the place of what stood there.
    let mut cleared = "";
    for (name, value) in pairs.iter().filter(|(name, _)| names.iter().any(|it| name.split('.').next() == Some(it))) {
        let word = value.as_str().unwrap();
        if name == "ProxyProtocolV2Config" {
            body[name] = serde_json::from_str(word).unwrap();
            continue;
        }
        let value = match (word, word.parse::<u64>()) {
            ("true", _) => true.into(),
            ("false", _) => false.into(),
            (_, Ok(number)) => number.into(),
            _ => word.into(),
        };
        let parts: Vec<&str> = name.split('.').collect();
        match parts[..] {
            [name] => body[name] = value,
            ["HealthCheckConfig", name] => body["HealthCheck"][name] = value,
            [list, _] => {
                if body[list].is_null() || list != cleared {
                    (body[list], cleared) = (json!([]), list);
                }
                body[list].as_array_mut().unwrap().push(value);
            }
            _ => panic!("{name}"),
        }
    }
}

impl FakeNlb {
    /// Begins the job of a change, unless it fails: then nothing is changed.
    fn job(&mut self, action: &str, object: &str, moment: FakeMoment) -> (Value, bool) {
        let id = self.jobs.begin(object, JOB, moment);
        let fails = self.fails == Some(action);
        if fails {
            self.fails = None;
            self.failed.push(id.clone());
        }
        (json!({ "JobId": id }), !fails)
    }

    fn shown_balancer(&self, id: &str, moment: FakeMoment) -> Value {
        let it = self.balancers.get(id).unwrap();
        let is_busy = self.jobs.is_busy(id, moment);
        let status = match (it.body["IsNew"] == true, is_busy) {
            (_, false) => "Active",
            (true, true) => "Provisioning",
            (false, true) => "Configuring",
        };
        let mut shown = it.body.clone();
        shown["LoadBalancerId"] = id.into();
        shown["LoadBalancerName"] = it.name.as_str().into();
        shown["DNSName"] = format!("{id}.cn-hangzhou.nlb.aliyuncs.example").into();
        shown["LoadBalancerStatus"] = status.into();
        shown
    }

    fn make_balancer(&mut self, pairs: &Pairs, moment: FakeMoment) -> Response {
        let token = text(pairs, "ClientToken").to_owned();
        if let Some(id) = self.tokens.get(&token) {
            return reply(200, json!({ "LoadbalancerId": id, "OrderId": 1 }));
        }
        let body = json!({
            "Tags": members(pairs, "Tag"), "ZoneMappings": zones::given(pairs, &Value::Null), "SecurityGroupIds": [], "IsNew": true,
            "AddressType": text(pairs, "AddressType"), "CrossZoneEnabled": true,
            "AddressIpVersion": pairs.get("AddressIpVersion").cloned().unwrap_or_else(|| "Ipv4".into()),
            "DeletionProtectionConfig": { "Enabled": text(pairs, "DeletionProtectionConfig.Enabled") == "true" },
            "ModificationProtectionConfig": { "Status": text(pairs, "ModificationProtectionConfig.Status") },
        });
        let id = self.balancers.make(text(pairs, "LoadBalancerName"), body, moment);
        self.tokens.insert(token, id.clone());
        self.jobs.begin(&id, 2 * JOB, moment);
        reply(200, json!({ "LoadbalancerId": id, "OrderId": 1 }))
    }

    /// Takes a load balancer away with its listeners.
    fn take_away(&mut self, id: &str) {
        self.balancers.remove(id);
        let own = self.listeners.all().filter(|(_, it)| it.body["LoadBalancerId"] == *id);
        for listener in own.map(|(id, _)| id.to_owned()).collect::<Vec<_>>() {
            self.listeners.remove(&listener);
        }
    }

    /// Actions on a load balancer.
    fn do_with_balancer(&mut self, action: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        let id = text(pairs, "LoadBalancerId").to_owned();
        if self.goes_before == Some(action) {
            self.take_away(&id);
        }
        if self.balancers.get(&id).is_none() {
            return refusal(404, "ResourceNotFound.loadBalancer");
        }
        if action == "GetLoadBalancerAttribute" {
            return reply(200, self.shown_balancer(&id, moment));
        }
        if self.jobs.is_busy(&id, moment) {
            return refusal(400, "IncorrectStatus.loadBalancer");
        }
        if action == "UpdateLoadBalancerProtection" {
            let body = &mut self.balancers.get_mut(&id).unwrap().body;
            if let Some(word) = pairs.get("DeletionProtectionEnabled") {
                body["DeletionProtectionConfig"]["Enabled"] = (word == "true").into();
            }
            if let Some(word) = pairs.get("ModificationProtectionStatus") {
                body["ModificationProtectionConfig"]["Status"] = word.clone();
            }
            return reply(200, json!({}));
        }
        if action == "DeleteLoadBalancer"
            && self.balancers.get(&id).unwrap().body["DeletionProtectionConfig"]["Enabled"] == true
        {
            return refusal(400, "OperationDenied.DeletionProtection");
        }
        if action == "CreateListener" {
            return self.make_listener(&id, pairs, moment);
        }
        let is_late = self.joins_late && action == "LoadBalancerJoinSecurityGroup";
        let (answer, goes) = self.job(action, if is_late { "" } else { &id }, moment);
        if !goes {
            return reply(200, answer);
        }
        let body = &mut self.balancers.get_mut(&id).unwrap().body;
        body["IsNew"] = false.into();
        let ids = pairs.iter().filter(|(name, _)| name.starts_with("SecurityGroupIds.")).map(|(_, it)| it.clone());
        match action {
            "EnableLoadBalancerIpv6Internet" => body["Ipv6AddressType"] = "Internet".into(),
            "DisableLoadBalancerIpv6Internet" => body["Ipv6AddressType"] = "Intranet".into(),
            "AttachCommonBandwidthPackageToLoadBalancer" => {
                assert!(body["BandwidthPackageId"].is_null(), "it is in one at a time");
                body["BandwidthPackageId"] = pairs["BandwidthPackageId"].clone();
            }
            "DetachCommonBandwidthPackageFromLoadBalancer" => {
                assert_eq!(body["BandwidthPackageId"].take(), pairs["BandwidthPackageId"]);
            }
            "UpdateLoadBalancerZones" => body["ZoneMappings"] = zones::given(pairs, &body["ZoneMappings"]),
            _ => {}
        }
        let groups = body["SecurityGroupIds"].as_array_mut().unwrap();
        match action {
            action if ["Ipv6", "BandwidthPackage", "Zones"].iter().any(|it| action.contains(it)) => {}
            "DeleteLoadBalancer" => self.take_away(&id),
            "LoadBalancerJoinSecurityGroup" if is_late => {
                self.joining.push((answer["JobId"].as_str().unwrap().to_owned(), id, ids.collect()));
            }
            "LoadBalancerJoinSecurityGroup" => groups.extend(ids),
            "LoadBalancerLeaveSecurityGroup" => {
                let gone: Vec<Value> = ids.collect();
                groups.retain(|it| !gone.contains(it));
            }
            "UpdateLoadBalancerAttribute" => put(body, pairs, &["CrossZoneEnabled"]),
            "UpdateLoadBalancerAddressTypeConfig" => put(body, pairs, &["AddressType"]),
            other => panic!("{other}"),
        }
        reply(200, answer)
    }

    fn make_listener(&mut self, balancer: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        let token = text(pairs, "ClientToken").to_owned();
        if let Some(id) = self.tokens.get(&token) {
            return reply(200, json!({ "ListenerId": id }));
        }
        let (port, protocol) = (text(pairs, "ListenerPort"), text(pairs, "ListenerProtocol"));
        let same = |body: &Value| {
            body["LoadBalancerId"] == balancer
                && body["ListenerPort"].as_u64() == port.parse().ok()
                && (body["ListenerProtocol"] == "UDP") == (protocol == "UDP")
        };
        if self.listeners.all().any(|(_, it)| same(&it.body)) {
            return refusal(400, "ResourceAlreadyExist.Listener");
        }
        assert!(self.groups.get(text(pairs, "ServerGroupId")).is_some(), "{pairs:?}");
        let mut body = json!({ "LoadBalancerId": balancer, "ListenerStatus": "Running" });
        put(&mut body, pairs, &LISTENING);
        let (mut answer, goes) = self.job("CreateListener", balancer, moment);
        self.balancers.get_mut(balancer).unwrap().body["IsNew"] = false.into();
        if goes {
            let id = self.listeners.make("", body, moment);
            answer["ListenerId"] = id.as_str().into();
            self.tokens.insert(token, id);
        }
        reply(200, answer)
    }

    /// Actions on a listener.
    fn do_with_listener(&mut self, action: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        let id = text(pairs, "ListenerId").to_owned();
        let Some(it) = self.listeners.get(&id) else { return refusal(404, "ResourceNotFound.listener") };
        assert!(self.balancers.get(it.body["LoadBalancerId"].as_str().unwrap()).is_some());
        if action == "ListListenerCertificates" {
            let further = it.body["Further"].as_array().into_iter().flatten().map(|it| (it, false));
            let own = it.body["CertificateIds"].as_array().into_iter().flatten().map(|it| (it, true));
            let shown = own.chain(further).map(|(id, is_own)| json!({ "CertificateId": id, "IsDefault": is_own }));
            return page("Certificates", &shown.collect::<Vec<_>>(), pairs);
        }
        if self.jobs.is_busy(&id, moment) {
            return refusal(400, "IncorrectStatus.listener");
        }
        let (answer, goes) = self.job(action, &id, moment);
        match action {
            _ if !goes => {}
            action if action.ends_with("AdditionalCertificatesWithListener") => {
                let ids: Vec<Value> =
                    pairs.iter().filter(|(it, _)| it.starts_with("AdditionalCert")).map(|(_, it)| it.clone()).collect();
                assert!((1..=15).contains(&ids.len()));
                let own = &mut self.listeners.get_mut(&id).unwrap().body["Further"];
                let mut all = own.as_array().cloned().unwrap_or_default();
                match action.starts_with("Associate") {
                    true => all.extend(ids),
                    false => all.retain(|it| !ids.contains(it)),
                }
                *own = all.into();
            }
            "DeleteListener" => _ = self.listeners.remove(&id),
            "UpdateListenerAttribute" => put(&mut self.listeners.get_mut(&id).unwrap().body, pairs, &LISTENING),
            "StartListener" => self.listeners.get_mut(&id).unwrap().body["ListenerStatus"] = "Running".into(),
            other => panic!("{other}"),
        }
        reply(200, answer)
    }
}

/// The parameters of listeners.
const LISTENING: [&str; 14] = [
    "ListenerPort",
    "ListenerProtocol",
    "ListenerDescription",
    "ServerGroupId",
    "IdleTimeout",
    "Cps",
    "ProxyProtocolEnabled",
    "ProxyProtocolV2Config",
    "CertificateIds",
    "SecurityPolicyId",
    "CaEnabled",
    "CaCertificateIds",
    "AlpnEnabled",
    "AlpnPolicy",
];

impl FakeCloud for FakeNlb {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        published::check(request);
        let (action, pairs) = (action(request), pairs(request));
        self.join_late(moment);
        if let Some(at) = self.waits_at.iter().position(|(it, _)| *it == action) {
            return refusal(400, self.waits_at.remove(at).1);
        }
        match (&*request.endpoint, action) {
            ("ecs", "DescribeInstances") => self.machines.answer(request).unwrap(),
            ("ecs", _) => self.do_with_security(action, &pairs, moment),
            // A Service without a memo may have a Classic Load Balancer: its list is read, too.
            ("slb", "DescribeLoadBalancers") => {
                reply(200, json!({ "LoadBalancers": { "LoadBalancer": [] }, "TotalCount": 0 }))
            }
            ("nlb", "ListLoadBalancers") => {
                let found = listed(&self.balancers, &pairs, moment);
                let shown: Vec<Value> = found.iter().map(|it| self.shown_balancer(it, moment)).collect();
                page("LoadBalancers", &shown, &pairs)
            }
            ("nlb", "ListServerGroups") => self.groups_page(&pairs, moment),
            ("nlb", "ListListeners") => {
                let own = self.listeners.listed(moment);
                let own = own.filter(|(_, it)| it.body["LoadBalancerId"] == pairs["LoadBalancerIds.1"]);
                let shown: Vec<Value> = own
                    .map(|(id, it)| {
                        let mut shown = it.body.clone();
                        shown["ListenerId"] = id.into();
                        shown
                    })
                    .collect();
                page("Listeners", &shown, &pairs)
            }
            ("nlb", "ListAsynJobs") => {
                let ids: Vec<&str> = pairs.values().map(|it| it.as_str().unwrap()).collect();
                assert!((1..=20).contains(&ids.len()));
                let state = |id: &str| match self.jobs.is_done(id, moment) {
                    Some(true) if self.failed.iter().any(|it| it == id) => Some("Failed"),
                    Some(true) => Some("Succeeded"),
                    Some(false) => Some("Processing"),
                    None => None,
                };
                let jobs = ids.iter().filter_map(|id| Some(json!({ "Id": id, "Status": state(id)? })));
                reply(200, json!({ "Jobs": jobs.collect::<Vec<_>>() }))
            }
            ("nlb", "CreateLoadBalancer") => self.make_balancer(&pairs, moment),
            ("nlb", "CreateServerGroup") => self.make_group(&pairs, moment),
            ("nlb", "TagResources" | "UntagResources") => {
                let Some(it) = self.balancers.get_mut(text(&pairs, "ResourceId.1")) else {
                    return refusal(404, "ResourceNotFound.loadBalancer");
                };
                let tags = it.body["Tags"].as_array_mut().unwrap();
                tags.extend(members(&pairs, "Tag"));
                let gone: Vec<&Value> =
                    pairs.iter().filter(|(it, _)| it.starts_with("TagKey.")).map(|(_, it)| it).collect();
                tags.retain(|it| !gone.contains(&&it["Key"]));
                reply(200, json!({}))
            }
            ("nlb", _) if pairs.contains_key("ListenerId") => self.do_with_listener(action, &pairs, moment),
            ("nlb", _) if pairs.contains_key("LoadBalancerId") => self.do_with_balancer(action, &pairs, moment),
            ("nlb", _) if pairs.contains_key("ServerGroupId") => self.do_with_group(action, &pairs, moment),
            other => panic!("{other:?}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        let mut objects = self.balancers.shown();
        for it in &mut objects {
            it.body["IsNew"] = Value::Null;
        }
        objects.extend(self.groups.shown());
        objects.extend(self.listeners.shown());
        objects.extend(self.security.shown());
        objects
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                let mut machine = instance(self.machines.instances.len() + 1);
                machine["HostName"] = name.as_str().into();
                self.machines.instances.push(machine);
                Some(Changed::default())
            }
            ForeignChange::AddForeign { name } => {
                let body = json!({
                    "Tags": [{ "Key": "ack.aliyun.com", "Value": CLUSTER_ID }], "SecurityGroupIds": [], "IsNew": false,
                    "ZoneMappings": [], "DeletionProtectionConfig": { "Enabled": true }, "ModificationProtectionConfig": {},
                });
                let id = self.balancers.make(name.clone(), body, FakeMoment::default());
                Some(Changed { id: Some(id) })
            }
            _ => None,
        }
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("region", "cn-hangzhou"), ("vpc", "vpc-1"), ("clusterID", CLUSTER_ID)]
    }

    fn setup(&self) -> Setup {
        let zones = (format!("{PREFIX}zone-maps"), ZONES.to_owned());
        Setup { annotations: [zones].into_iter().collect(), ..Setup::default() }
    }

    fn busy(&self, _request: &Request) -> Response {
        refusal(400, "IncorrectStatus.loadBalancer")
    }

    fn refused(&self, _request: &Request) -> Response {
        refusal(400, "InvalidParameter")
    }

    fn writes(&self, request: &Request) -> bool {
        !["Describe", "List", "Get"].iter().any(|it| action(request).starts_with(it))
    }
}
