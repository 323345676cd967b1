//! Classic Load Balancers in memory, as strict as the API about what is in the way of what.

use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{FakeCloud, FakeMoment, FakeObjects, Request, Response, reply};
use serde_json::{Value, json};

use crate::tests::pairs::{Pairs, members, pairs, refusal, text};
use crate::tests::{CLUSTER_ID, Machines, action, instance, published};

/// The cloud.
#[derive(Debug)]
pub(super) struct FakeSlb {
    pub(super) machines: Machines,
    pub(super) balancers: FakeObjects,
    pub(super) lists: FakeObjects,
    /// Certificates of listeners for further domains.
    pub(super) domains: FakeObjects,
    pub(super) given: u64,
    /// The most machines of a group.
    pub(super) most_servers: usize,
    /// The most further domains of a listener.
    pub(super) most_domains: usize,
    /// vSwitches without an address.
    pub(super) full: Vec<&'static str>,
    /// Actions that wait once for an earlier change.
    pub(super) busy_at: Vec<&'static str>,
    /// The status with which they do.
    pub(super) busy_with: u16,
    /// Whether it takes no change while it carries out another one.
    pub(super) is_slow: bool,
    /// Whether it carries out one: until the test says otherwise.
    pub(super) is_changing: bool,
    /// Actions that are refused.
    pub(super) refused_at: Vec<&'static str>,
    /// The code with which they are.
    pub(super) refused_with: &'static str,
    /// Whether no load balancer is shown by its id.
    pub(super) hides_balancers: bool,
    /// Whether a load balancer by its id shows no listener.
    pub(super) hides_listeners: bool,
    /// Whether there are no Network Load Balancers to ask about.
    pub(super) denies_networks: bool,
    /// The elastic address that is bound to each load balancer.
    pub(super) elastic: Option<&'static str>,
}

impl Default for FakeSlb {
    fn default() -> Self {
        Self {
            machines: Machines::default(),
            balancers: FakeObjects::new("load balancer", "lb-"),
            lists: FakeObjects::new("access list", "acl-"),
            domains: FakeObjects::new("domain", "de-"),
            given: 0,
            most_servers: 200,
            most_domains: 20,
            full: Vec::new(),
            busy_at: Vec::new(),
            busy_with: 400,
            is_slow: false,
            is_changing: false,
            refused_at: Vec::new(),
            refused_with: "InvalidParameter",
            hides_balancers: false,
            hides_listeners: false,
            denies_networks: false,
            elastic: None,
        }
    }
}

/// The tags of a request, as the API shows them.
fn tags(pairs: &Pairs) -> Vec<Value> {
    members(pairs, "Tag").iter().map(|it| json!({ "TagKey": it["Key"], "TagValue": it["Value"] })).collect()
}

/// Sticky sessions need what says of their cookie, and without them nothing of it is kept.
fn settle_cookies(listener: &mut Value) {
    if listener["StickySession"] != "on" {
        ["StickySessionType", "Cookie", "CookieTimeout"].iter().for_each(|it| listener[*it] = Value::Null);
        return;
    }
    let needed = match listener["StickySessionType"].as_str() {
        Some("insert") => "CookieTimeout",
        Some("server") => "Cookie",
        other => panic!("{other:?}"),
    };
    assert!(listener[needed].is_string(), "{listener}");
    ["Cookie", "CookieTimeout"].iter().filter(|it| **it != needed).for_each(|it| listener[*it] = Value::Null);
}

impl FakeSlb {
    fn make(&mut self, pairs: &Pairs, moment: FakeMoment) -> Response {
        if self.full.contains(&text(pairs, "VSwitchId")) {
            return refusal(400, "VSwitchAvailableIpNotExist");
        }
        let token = &pairs["ClientToken"];
        if let Some((id, it)) = self.balancers.all().find(|(_, it)| it.body["ClientToken"] == *token) {
            return reply(200, json!({ "LoadBalancerId": id, "LoadBalancerName": it.name }));
        }
        let mut body = json!({ "Tags": tags(pairs), "Listeners": [], "Groups": [] });
        for (name, value) in pairs.iter().filter(|(name, _)| !name.starts_with("Tag.")) {
            body[name] = value.clone();
        }
        let name = text(pairs, "LoadBalancerName").to_owned();
        let id = self.balancers.make(name.clone(), body, moment);
        reply(200, json!({ "LoadBalancerId": id, "LoadBalancerName": name }))
    }

    fn shown(&self, id: &str) -> Value {
        let it = self.balancers.get(id).unwrap();
        let field = |name: &str| it.body[name].clone();
        let is_internet = it.body["AddressType"] != "intranet";
        let number = id.trim_start_matches("lb-");
        json!({
            "LoadBalancerId": id, "LoadBalancerName": it.name, "AddressType": it.body["AddressType"], "LoadBalancerStatus": "active",
            "Address": if is_internet { format!("203.0.113.{number}") } else { format!("10.9.0.{number}") },
            "DeleteProtection": field("DeleteProtection"), "ModificationProtectionStatus": field("ModificationProtectionStatus"),
            "LoadBalancerSpec": field("LoadBalancerSpec"), "InternetChargeType": "paybytraffic", "Bandwidth": 5120,
            "AddressIPVersion": "ipv4", "Tags": { "Tag": field("Tags") },
        })
    }

    fn list(&self, pairs: &Pairs, moment: FakeMoment) -> Response {
        let asked: Vec<Value> = serde_json::from_str(text(pairs, "Tags")).unwrap();
        let has = |tags: &Value| asked.iter().all(|it| tags.as_array().unwrap().contains(it));
        let found: Vec<&str> =
            self.balancers.listed(moment).filter(|(_, it)| has(&it.body["Tags"])).map(|(id, _)| id).collect();
        let (page, size): (usize, usize) =
            (text(pairs, "PageNumber").parse().unwrap(), text(pairs, "PageSize").parse().unwrap());
        let shown: Vec<Value> = found.iter().skip((page - 1) * size).take(size).map(|it| self.shown(it)).collect();
        reply(200, json!({ "LoadBalancers": { "LoadBalancer": shown }, "TotalCount": found.len() }))
    }

    /// Actions on lists of access.
    fn do_with_list(&mut self, action: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        let id = text(pairs, "AclId").to_owned();
        let is_used = |body: &Value| {
            body["Listeners"].as_array().unwrap().iter().any(|it| it["AclId"] == *id && it["AclStatus"] == "on")
        };
        let is_used = self.balancers.all().any(|(_, it)| is_used(&it.body));
        let written: Vec<Value> = serde_json::from_str(text(pairs, "AclEntrys")).unwrap_or_default();
        assert!(written.len() <= 50);
        match action {
            "DescribeAccessControlLists" => {
                let tag = json!({ "TagKey": pairs["Tag.1.Key"], "TagValue": pairs["Tag.1.Value"] });
                let listed =
                    self.lists.listed(moment).filter(|(_, it)| it.body["Tags"].as_array().unwrap().contains(&tag));
                let shown: Vec<Value> =
                    listed.map(|(id, it)| json!({ "AclId": id, "Tags": { "Tag": it.body["Tags"] } })).collect();
                return reply(200, json!({ "Acls": { "Acl": shown }, "TotalCount": shown.len() }));
            }
            "CreateAccessControlList" => {
                let body = json!({ "Tags": tags(pairs), "Entries": [] });
                let id = self.lists.make(text(pairs, "AclName"), body, moment);
                return reply(200, json!({ "AclId": id }));
            }
            "DeleteAccessControlList" if is_used => return refusal(400, "AclUsed"),
            "DeleteAccessControlList" => {
                return if self.lists.remove(&id) { reply(200, json!({})) } else { refusal(400, "AclNotExist") };
            }
            _ => {}
        }
        let Some(it) = self.lists.get_mut(&id) else { return refusal(400, "AclNotExist") };
        let entries = it.body["Entries"].as_array_mut().unwrap();
        match action {
            "AddAccessControlListEntry" => entries.extend(written.iter().map(|it| it["entry"].clone())),
            "RemoveAccessControlListEntry" => entries.retain(|own| written.iter().all(|it| it["entry"] != *own)),
            _ => {}
        }
        let shown: Vec<Value> = entries.iter().map(|it| json!({ "AclEntryIP": it })).collect();
        let tags = json!({ "Tag": it.body["Tags"] });
        reply(
            200,
            json!({ "AclId": id, "AclEntrys": { "AclEntry": shown }, "TotalAclEntry": shown.len(), "Tags": tags }),
        )
    }

    /// Actions on certificates for further domains.
    fn do_with_domains(&mut self, action: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        let [id, balancer, port] = ["DomainExtensionId", "LoadBalancerId", "ListenerPort"].map(|it| text(pairs, it));
        match action {
            "CreateDomainExtension" => {
                let listeners = self.balancers.get(balancer).unwrap().body["Listeners"].as_array().unwrap();
                let is_it =
                    |it: &Value| it["ListenerPort"].as_u64() == port.parse().ok() && it["ListenerProtocol"] == "https";
                assert!(listeners.iter().any(is_it), "{pairs:?}");
                if self.domains.all().count() >= self.most_domains {
                    return refusal(400, "DomainExtensionNumberOverLimit");
                }
                let domain = text(pairs, "Domain");
                assert!(self.domains.all().all(|(_, it)| it.name != domain), "{domain} is there");
                let id = self.domains.make(domain, Value::Object(pairs.clone()), moment);
                return reply(200, json!({ "DomainExtensionId": id, "ListenerPort": 443 }));
            }
            "SetDomainExtensionAttribute" => {
                self.domains.get_mut(id).unwrap().body["ServerCertificateId"] = pairs["ServerCertificateId"].clone();
            }
            "DeleteDomainExtension" => assert!(self.domains.remove(id)),
            _ => {}
        }
        let own = self
            .domains
            .all()
            .filter(|(_, it)| it.body["LoadBalancerId"] == *balancer && it.body["ListenerPort"] == *port);
        let shown = own.map(|(id, it)| {
            json!({ "DomainExtensionId": id, "Domain": it.name, "ServerCertificateId": it.body["ServerCertificateId"] })
        });
        reply(200, json!({ "DomainExtensions": { "DomainExtension": shown.collect::<Vec<_>>() } }))
    }

    /// The load balancer that a group is of.
    fn balancer_of(&self, group: &str) -> Option<String> {
        let has = |body: &Value| body["Groups"].as_array().unwrap().iter().any(|it| it["VServerGroupId"] == group);
        self.balancers.all().find(|(_, it)| has(&it.body)).map(|(id, _)| id.to_owned())
    }

    /// Actions on a group.
    fn do_with_group(&mut self, action: &str, pairs: &Pairs) -> Response {
        let id = text(pairs, "VServerGroupId").to_owned();
        let Some(balancer) = self.balancer_of(&id) else { return refusal(404, "InvalidVServerGroupId.NotFound") };
        let most = self.most_servers;
        let body = &mut self.balancers.get_mut(&balancer).unwrap().body;
        let is_used = body["Listeners"].as_array().unwrap().iter().any(|it| it["VServerGroupId"] == *id);
        let groups = body["Groups"].as_array_mut().unwrap();
        let at = groups.iter().position(|it| it["VServerGroupId"] == *id).unwrap();
        if action == "DeleteVServerGroup" {
            if is_used {
                return refusal(400, "RspoolInUse");
            }
            groups.remove(at);
            return reply(200, json!({}));
        }
        let written: Vec<Value> =
            serde_json::from_str(pairs.get("BackendServers").and_then(Value::as_str).unwrap_or("[]")).unwrap();
        assert!(written.len() <= 40);
        let servers = groups[at]["Servers"].as_array_mut().unwrap();
        let is = |one: &Value, other: &Value| one["ServerId"] == other["ServerId"] && one["Port"] == other["Port"];
        match action {
            "AddVServerGroupBackendServers" => {
                assert!(!written.iter().any(|it| servers.iter().any(|own| is(own, it))));
                if servers.len() + written.len() > most {
                    return refusal(400, "InstanceBackendServerNumberOverLimit");
                }
                servers.extend(written);
            }
            "RemoveVServerGroupBackendServers" => servers.retain(|own| !written.iter().any(|it| is(own, it))),
            "SetVServerGroupAttribute" => {
                for it in written {
                    let at = servers.iter().position(|own| is(own, &it)).unwrap();
                    servers[at] = it;
                }
            }
            "DescribeVServerGroupAttribute" => {}
            other => panic!("{other}"),
        }
        let servers = servers.clone();
        reply(200, json!({ "VServerGroupId": id, "BackendServers": { "BackendServer": servers } }))
    }

    /// Actions on the listeners and groups of a load balancer.
    fn do_with_parts(&mut self, action: &str, id: &str, pairs: &Pairs) -> Response {
        let number = self.given + 1;
        self.given += u64::from(action == "CreateVServerGroup");
        let group = format!("rsp-{number}");
        let body = &mut self.balancers.get_mut(id).unwrap().body;
        let port: u16 = text(pairs, "ListenerPort").parse().unwrap_or_default();
        let protocol_of = |prefix: &str, suffix: &str| {
            action.strip_prefix(prefix).and_then(|it| it.strip_suffix(suffix)).map(str::to_lowercase)
        };
        let created = protocol_of("CreateLoadBalancer", "Listener");
        let set = protocol_of("SetLoadBalancer", "ListenerAttribute");
        let said = text(pairs, "ListenerProtocol").to_owned();
        let groups: Vec<Value> = body["Groups"].as_array().unwrap().clone();
        let has_group = |it: &Value| it.is_null() || groups.iter().any(|own| own["VServerGroupId"] == *it);
        let listeners = body["Listeners"].as_array_mut().unwrap();
        let at = |protocol: &str| {
            let same = |it: &Value| it["ListenerPort"] == port && it["ListenerProtocol"] == *protocol;
            listeners.iter().position(same)
        };
        if let Some(protocol) = created {
            let is_udp = protocol == "udp";
            let mut same = listeners.iter().filter(|it| it["ListenerPort"] == port);
            if same.any(|it| (it["ListenerProtocol"] == "udp") == is_udp) {
                return refusal(400, "ListenerAlreadyExists");
            }
            assert!(has_group(&pairs.get("VServerGroupId").cloned().unwrap_or_default()));
            let mut listener = json!({ "Status": "stopped", "ListenerPort": port, "ListenerProtocol": protocol });
            for (name, value) in pairs.iter().filter(|(it, _)| *it != "ListenerPort" && *it != "LoadBalancerId") {
                listener[name.replace("healthCheck", "HealthCheck")] = value.clone();
            }
            settle_cookies(&mut listener);
            listeners.push(listener);
        } else if let Some(protocol) = set {
            let Some(at) = at(&protocol) else { return refusal(400, "ListenerNotFound") };
            assert_eq!((text(pairs, "VServerGroup"), has_group(&pairs["VServerGroupId"])), ("on", true));
            for (name, value) in pairs
                .iter()
                .filter(|(it, _)| !["ListenerPort", "LoadBalancerId", "VServerGroup"].contains(&it.as_str()))
            {
                listeners[at][name] = value.clone();
            }
            settle_cookies(&mut listeners[at]);
        } else if action == "StartLoadBalancerListener" {
            let Some(at) = at(&said) else { return refusal(400, "ListenerNotFound") };
            listeners[at]["Status"] = "running".into();
        } else if action == "DeleteLoadBalancerListener" {
            let Some(at) = at(&said) else { return refusal(400, "ListenerNotFound") };
            listeners.remove(at);
        } else if action == "CreateVServerGroup" {
            let servers: Vec<Value> =
                serde_json::from_str(pairs.get("BackendServers").and_then(Value::as_str).unwrap_or("[]")).unwrap();
            assert!(servers.len() <= 20);
            let made =
                json!({ "VServerGroupId": group, "VServerGroupName": pairs["VServerGroupName"], "Servers": servers });
            body["Groups"].as_array_mut().unwrap().push(made);
            return reply(200, json!({ "VServerGroupId": group }));
        } else if action == "DescribeVServerGroups" {
            return reply(200, json!({ "VServerGroups": { "VServerGroup": groups } }));
        } else {
            panic!("{action}");
        }
        reply(200, json!({}))
    }

    fn listeners(&self, id: &str) -> Response {
        let shown = |listener: &Value| {
            let protocol = listener["ListenerProtocol"].as_str().unwrap().to_uppercase();
            let mut shown = listener.clone();
            shown[format!("{protocol}ListenerConfig")] = listener.clone();
            shown
        };
        let Some(it) = self.balancers.get(id) else { return reply(200, json!({ "Listeners": [] })) };
        let all: Vec<Value> = it.body["Listeners"].as_array().unwrap().iter().map(shown).collect();
        reply(200, json!({ "Listeners": all, "NextToken": "" }))
    }
}

impl FakeCloud for FakeSlb {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        published::check(request);
        if request.endpoint == "ecs" {
            return self.machines.answer(request).unwrap();
        }
        let (action, pairs) = (action(request), pairs(request));
        if self.denies_networks && request.endpoint == "nlb" {
            return refusal(403, "Forbidden.RAM");
        }
        // A Service without a memo may have a Network Load Balancer: its list is read, too.
        if (&*request.endpoint, action) == ("nlb", "ListLoadBalancers") {
            return reply(200, json!({ "LoadBalancers": [], "NextToken": "" }));
        }
        if action == "DescribeEipAddresses" {
            assert_eq!(text(&pairs, "AssociatedInstanceType"), "SlbInstance");
            assert!(self.balancers.get(text(&pairs, "AssociatedInstanceId")).is_some());
            let bound: Vec<Value> = self.elastic.iter().map(|it| json!({ "IpAddress": it })).collect();
            return reply(200, json!({ "EipAddresses": { "EipAddress": bound } }));
        }
        assert_eq!(request.endpoint, "slb");
        if let Some(at) = self.busy_at.iter().position(|it| *it == action) {
            self.busy_at.remove(at);
            return refusal(self.busy_with, "OperationBusy");
        }
        let is_early = self.is_slow && self.writes(request) && std::mem::replace(&mut self.is_changing, true);
        if is_early {
            return refusal(400, "ServiceIsConfiguring");
        }
        if self.refused_at.contains(&action) {
            return refusal(400, self.refused_with);
        }
        let id = text(&pairs, "LoadBalancerId").to_owned();
        match action {
            "DescribeLoadBalancers" => return self.list(&pairs, moment),
            "DescribeLoadBalancerListeners" => return self.listeners(text(&pairs, "LoadBalancerId.1")),
            "CreateLoadBalancer" => return self.make(&pairs, moment),
            it if it.contains("DomainExtension") => return self.do_with_domains(action, &pairs, moment),
            it if it.contains("AccessControlList") => return self.do_with_list(action, &pairs, moment),
            _ if id.is_empty() && pairs.contains_key("VServerGroupId") => return self.do_with_group(action, &pairs),
            _ => {}
        }
        let id = if id.is_empty() { text(&pairs, "ResourceId.1").to_owned() } else { id };
        let found = self.balancers.get_mut(&id).filter(|_| !self.hides_balancers);
        let Some(it) = found else { return refusal(404, "InvalidLoadBalancerId.NotFound") };
        match action {
            "DescribeLoadBalancerAttribute" => {
                // Lists do not say what listens.
                let listening = if self.hides_listeners { json!([]) } else { it.body["Listeners"].clone() };
                let mut shown = self.shown(&id);
                shown["ListenerPortsAndProtocol"] = json!({ "ListenerPortAndProtocol": listening });
                return reply(200, shown);
            }
            "DeleteLoadBalancer" if it.body["DeleteProtection"] == "on" => {
                return refusal(400, "OperationDenied.DeleteProtection");
            }
            "DeleteLoadBalancer" => {
                self.balancers.remove(&id);
            }
            "SetLoadBalancerName" => text(&pairs, "LoadBalancerName").clone_into(&mut it.name),
            "SetLoadBalancerDeleteProtection" => it.body["DeleteProtection"] = pairs["DeleteProtection"].clone(),
            "SetLoadBalancerModificationProtection" => {
                it.body["ModificationProtectionStatus"] = pairs["ModificationProtectionStatus"].clone();
            }
            "TagResources" => it.body["Tags"].as_array_mut().unwrap().extend(tags(&pairs)),
            "UntagResources" => {
                let gone: Vec<&Value> =
                    pairs.iter().filter(|(it, _)| it.starts_with("TagKey.")).map(|(_, it)| it).collect();
                it.body["Tags"].as_array_mut().unwrap().retain(|it| !gone.contains(&&it["TagKey"]));
            }
            _ => return self.do_with_parts(action, &id, &pairs),
        }
        reply(200, json!({}))
    }

    fn objects(&self) -> Vec<CloudObject> {
        let mut objects = self.balancers.shown();
        for it in &mut objects {
            // Tokens and ids of groups are chosen by chance.
            it.body["ClientToken"] = Value::Null;
            let groups = it.body["Groups"].as_array_mut().unwrap();
            let ids: Vec<(Value, Value)> = groups
                .iter_mut()
                .map(|group| (group["VServerGroupId"].take(), group["VServerGroupName"].clone()))
                .collect();
            for listener in it.body["Listeners"].as_array_mut().unwrap() {
                let name = ids.iter().find(|(id, _)| *id == listener["VServerGroupId"]).map(|(_, name)| name.clone());
                listener["VServerGroupId"] = name.unwrap_or_default();
            }
        }
        objects.extend(self.lists.shown());
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
                let body = json!({ "Tags": [{ "TagKey": "ack.aliyun.com", "TagValue": CLUSTER_ID }], "Listeners": [], "Groups": [] });
                let id = self.balancers.make(name.clone(), body, FakeMoment::default());
                Some(Changed { id: Some(id) })
            }
            _ => None,
        }
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("region", "cn-hangzhou"), ("vpc", "vpc-1"), ("clusterID", CLUSTER_ID)]
    }

    fn busy(&self, _request: &Request) -> Response {
        refusal(400, "OperationConflict")
    }

    fn refused(&self, _request: &Request) -> Response {
        refusal(400, "InvalidParameter")
    }

    fn writes(&self, request: &Request) -> bool {
        !["Describe", "List"].iter().any(|it| action(request).starts_with(it))
    }
}
