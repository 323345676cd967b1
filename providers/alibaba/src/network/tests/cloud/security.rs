//! The security groups of load balancers in memory.

use aerostat_sdk::testing::{FakeMoment, Response, reply};
use serde_json::{Value, json};

use super::{FakeNlb, listed};
use crate::tests::pairs::{Pairs, members, refusal, text};

impl FakeNlb {
    /// Actions on security groups.
    pub(super) fn do_with_security(&mut self, action: &str, pairs: &Pairs, moment: FakeMoment) -> Response {
        if action == "DescribeSecurityGroups" {
            let shown: Vec<Value> = listed(&self.security, pairs, moment)
                .into_iter()
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
                let rules = rules.clone();
                return reply(200, json!({ "SecurityGroupId": id, "Permissions": { "Permission": rules } }));
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
