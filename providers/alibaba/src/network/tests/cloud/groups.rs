//! The server groups of load balancers in memory.

use aerostat_sdk::testing::{FakeMoment, Response, reply};
use serde_json::{Value, json};

use super::{FakeNlb, listed, page, put};
use crate::tests::pairs::{Pairs, members, refusal, text};

/// The parameters of groups.
const SENDING: [&str; 5] =
    ["Scheduler", "ConnectionDrainEnabled", "ConnectionDrainTimeout", "PreserveClientIpEnabled", "HealthCheckConfig"];

impl FakeNlb {
    /// A page of groups: those that are asked for by id, or all with a tag.
    pub(super) fn groups_page(&self, pairs: &Pairs, moment: FakeMoment) -> Response {
        let shown = |id: &String| {
            let it = self.groups.get(id).unwrap();
            let mut shown = it.body.clone();
            shown["ServerGroupId"] = id.as_str().into();
            shown["ServerGroupName"] = it.name.as_str().into();
            shown["ServerGroupStatus"] = if self.jobs.is_busy(id, moment) { "Configuring" } else { "Available" }.into();
            let own = self.listeners.all().filter(|(_, it)| it.body["ServerGroupId"] == **id);
            shown["RelatedLoadBalancerIds"] = own.map(|(_, it)| it.body["LoadBalancerId"].clone()).collect();
            shown
        };
        let asked: Vec<&Value> =
            pairs.iter().filter(|(it, _)| it.starts_with("ServerGroupIds.")).map(|(_, it)| it).collect();
        let found = match asked.is_empty() {
            true => listed(&self.groups, pairs, moment),
            false => {
                self.groups.all().map(|(id, _)| id.to_owned()).filter(|id| asked.iter().any(|it| *it == id)).collect()
            }
        };
        let shown: Vec<Value> = found.iter().map(shown).collect();
        page("ServerGroups", &shown, pairs)
    }

    pub(super) fn make_group(&mut self, pairs: &Pairs, moment: FakeMoment) -> Response {
        let token = text(pairs, "ClientToken").to_owned();
        if let Some(id) = self.tokens.get(&token) {
            return reply(200, json!({ "ServerGroupId": id }));
        }
        let mut body = json!({
            "Tags": members(pairs, "Tag"), "Servers": [], "Scheduler": "Wrr", "Protocol": text(pairs, "Protocol"),
            "HealthCheck": { "HealthCheckEnabled": true, "HealthCheckType": "TCP", "HealthCheckConnectPort": 0 },
        });
        put(&mut body, pairs, &SENDING);
        let id = self.groups.make(text(pairs, "ServerGroupName"), body, moment);
        let (mut answer, _) = self.job("CreateServerGroup", &id, moment);
        answer["ServerGroupId"] = id.as_str().into();
        self.tokens.insert(token, id);
        reply(200, answer)
    }

    /// Actions on a group.
    pub(super) fn do_with_group(&mut self, action: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        let id = text(pairs, "ServerGroupId").to_owned();
        let Some(it) = self.groups.get(&id) else { return refusal(404, "ResourceNotFound.serverGroup") };
        let mut servers = it.body["Servers"].as_array().unwrap().clone();
        if action == "ListServerGroupServers" {
            return page("Servers", &servers, pairs);
        }
        if self.jobs.is_busy(&id, moment) {
            return refusal(400, "IncorrectStatus.serverGroup");
        }
        let written = members(pairs, "Servers");
        assert!(written.len() <= 40);
        let is = |one: &Value, other: &Value| one["ServerId"] == other["ServerId"] && one["Port"] == other["Port"];
        let is_used = self.listeners.all().any(|(_, it)| it.body["ServerGroupId"] == *id);
        match action {
            "AddServersToServerGroup" => {
                assert!(!written.iter().any(|it| servers.iter().any(|own| is(own, it))), "{written:?}");
                if servers.len() + written.len() > self.most_servers {
                    return refusal(400, "QuotaExceeded.ServersNum");
                }
                servers.extend(written);
            }
            "RemoveServersFromServerGroup" => servers.retain(|own| !written.iter().any(|it| is(own, it))),
            "UpdateServerGroupServersAttribute" => {
                for it in written {
                    let at = servers.iter().position(|own| is(own, &it)).unwrap();
                    servers[at] = it;
                }
            }
            "DeleteServerGroup" if is_used => return refusal(400, "ResourceInUse.serverGroup"),
            _ => {}
        }
        let (answer, goes) = self.job(action, &id, moment);
        match action {
            _ if !goes => {}
            "DeleteServerGroup" => _ = self.groups.remove(&id),
            "UpdateServerGroupAttribute" => put(&mut self.groups.get_mut(&id).unwrap().body, pairs, &SENDING),
            _ => self.groups.get_mut(&id).unwrap().body["Servers"] = servers.into(),
        }
        reply(200, answer)
    }
}
