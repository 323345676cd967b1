//! The security groups of load balancers in memory.

use aerostat_sdk::testing::{FakeMoment, Response, reply};
use serde_json::{Value, json};

use super::{FakeNlb, listed};
use crate::tests::pairs::{Pairs, members, refusal, text};

impl FakeNlb {
    /// Lets load balancers have the security groups whose jobs are over.
    pub(super) fn join_late(&mut self, moment: FakeMoment) {
        for (job, balancer, ids) in std::mem::take(&mut self.joining) {
            match (self.jobs.is_done(&job, moment), self.balancers.get_mut(&balancer)) {
                (Some(true), Some(it)) => it.body["SecurityGroupIds"].as_array_mut().unwrap().extend(ids),
                _ => self.joining.push((job, balancer, ids)),
            }
        }
    }

    /// Actions on security groups.
    pub(super) fn do_with_security(&mut self, action: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        if action == "DescribeSecurityGroups" && text(pairs, "DryRun") == "true" {
            return if self.is_blind { refusal(403, "Forbidden.RAM") } else { refusal(400, "DryRunOperation") };
        }
        if action == "DescribeSecurityGroups" {
            let shown: Vec<Value> = listed(&self.security, pairs, moment)
                .into_iter()
                .filter(|_| !self.is_blind)
                .map(|id| {
                    let it = self.security.get(&id).unwrap();
                    json!({ "SecurityGroupId": id, "SecurityGroupName": it.name, "Tags": { "Tag": tags(&it.body) } })
                })
                .collect();
            return reply(200, json!({ "SecurityGroups": { "SecurityGroup": shown }, "NextToken": "" }));
        }
        if action == "CreateSecurityGroup" {
            let token = text(pairs, "ClientToken").to_owned();
            let made = self.tokens.get(&token).cloned();
            let id = made.unwrap_or_else(|| {
                let body =
                    json!({ "Tags": members(pairs, "Tag"), "Rules": [], "Description": text(pairs, "Description") });
                self.security.make(text(pairs, "SecurityGroupName"), body, moment)
            });
            self.tokens.insert(token, id.clone());
            return reply(200, json!({ "SecurityGroupId": id }));
        }
        let id = text(pairs, "SecurityGroupId").to_owned();
        let Some(it) = self.security.get_mut(&id) else { return refusal(404, "InvalidSecurityGroupId.NotFound") };
        let rules = it.body["Rules"].as_array_mut().unwrap();
        match action {
            "DescribeSecurityGroupAttribute" => {
                let most: usize = text(pairs, "MaxResults").parse().unwrap();
                assert!((10..=1_000).contains(&most));
                let start = pairs.get("NextToken").map_or(0, |it| it.as_str().unwrap().parse().unwrap());
                let size = most.min(self.most_rules);
                let next = if rules.len() > start + size { (start + size).to_string() } else { String::new() };
                let page: Vec<&Value> = rules.iter().skip(start).take(size).collect();
                let shown = json!({ "SecurityGroupId": id, "Permissions": { "Permission": page }, "NextToken": next });
                return reply(200, shown);
            }
            "AuthorizeSecurityGroup" => {
                for rule in members(pairs, "Permissions").into_iter().filter(|it| !it.is_null()) {
                    if !rules.contains(&rule) {
                        rules.push(rule);
                    }
                }
            }
            "RevokeSecurityGroup" => {
                let gone = members(pairs, "Permissions");
                rules.retain(|it| !gone.iter().any(|gone| gone["SourceCidrIp"] == it["SourceCidrIp"]));
            }
            "DeleteSecurityGroup" => {
                let is_used = |body: &Value| body["SecurityGroupIds"].as_array().unwrap().contains(&id.clone().into());
                if self.balancers.all().any(|(_, it)| is_used(&it.body)) {
                    return refusal(400, "DependencyViolation");
                }
                self.security.remove(&id);
            }
            other => panic!("{other}"),
        }
        reply(200, json!({}))
    }
}

/// The tags of a body as ECS shows them.
fn tags(body: &Value) -> Vec<Value> {
    let shown = |it: &Value| json!({ "TagKey": it["Key"], "TagValue": it["Value"] });
    body["Tags"].as_array().unwrap().iter().map(shown).collect()
}
