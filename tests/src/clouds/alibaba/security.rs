//! Security groups, and their rules about who comes in.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, busy, refused, unserved};
use super::instances::paged;
use super::listing;
use super::pairs::{AcsPairs, has_tags, text};
use super::region::REGION;
use super::world::World;

/// The most rules in one request.
const MOST_RULES: usize = 100;
/// Rules of a page that does not say how many, and the most.
const RULES: (i64, i64) = (500, 1_000);
/// The fields of a rule that tell it from others.
const SAME: [&str; 5] = ["IpProtocol", "PortRange", "Policy", "Priority", "SourceCidrIp"];

/// Answers a request about security groups.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateSecurityGroup" => return create(world, pairs),
        "DescribeSecurityGroups" => {
            let asked = pairs.tags()?;
            let found = world.listed(|it| &it.security, |it| has_tags(it, &asked));
            let found = found.into_iter().map(|mut group| {
                group["Tags"] = json!({ "Tag": group["Tags"] });
                without_rules(group)
            });
            let page = listing::by_token(pairs, found.collect(), "MaxResults", (10, 100))?;
            return Ok(paged("SecurityGroups", "SecurityGroup", page));
        }
        _ => {}
    }
    let id = pairs.needed("SecurityGroupId")?;
    let is_used = world
        .network_balancers
        .all()
        .any(|(_, it)| it["SecurityGroupIds"].as_array().is_some_and(|all| all.iter().any(|it| *it == *id)));
    let Some(group) = world.security.get_mut(id) else {
        return Err(refused(404, "InvalidSecurityGroupId.NotFound", "The specified SecurityGroupId does not exist."));
    };
    match pairs.action() {
        "DescribeSecurityGroupAttribute" => {
            let rules = group["Rules"].as_array().cloned().unwrap_or_default();
            let page = listing::by_token(pairs, rules, "MaxResults", RULES)?;
            let mut shown = json!({
                "Permissions": { "Permission": page.items }, "RegionId": REGION, "NextToken": page.next,
            });
            for name in ["SecurityGroupId", "SecurityGroupName", "Description", "VpcId"] {
                shown[name] = group[name].clone();
            }
            return Ok(Answer::ok(&shown));
        }
        "AuthorizeSecurityGroup" => {
            let rules = rules(pairs)?;
            let own = group["Rules"].as_array_mut().expect("a group has rules");
            for rule in rules {
                if !own.iter().any(|it| is_same(it, &rule)) {
                    own.push(rule);
                }
            }
        }
        "RevokeSecurityGroup" => {
            let rules = rules(pairs)?;
            let own = group["Rules"].as_array_mut().expect("a group has rules");
            own.retain(|own| !rules.iter().any(|it| is_same(own, it)));
        }
        "DeleteSecurityGroup" => {
            if is_used {
                return Err(busy("DependencyViolation", id));
            }
            world.security.remove(id);
        }
        other => return Err(unserved(other)),
    }
    Ok(Answer::ok(&json!({})))
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let token = pairs.text("ClientToken");
    if let Some(id) = world.made_with(pairs.action(), token).filter(|it| world.security.get(it).is_some()) {
        return Ok(Answer::ok(&json!({ "SecurityGroupId": id })));
    }
    let vpc = pairs.needed("VpcId")?;
    if world.vpcs.get(vpc).is_none() {
        return Err(refused(404, "InvalidVpcId.NotFound", "Specified VPC does not exist."));
    }
    let name = pairs.text("SecurityGroupName");
    if !(2..=128).contains(&name.len()) || pairs.text("Description").len() > 256 {
        return Err(bad("SecurityGroupName", "it, or the description, is too long or too short"));
    }
    let kind = pairs.word("SecurityGroupType", &["normal", "enterprise"])?;
    let id = world.put_security_group(json!({
        "SecurityGroupName": name, "Description": pairs.text("Description"), "VpcId": vpc, "SecurityGroupType": kind,
        "Tags": pairs.tags()?,
    }));
    world.remember(pairs.action(), token, &id);
    Ok(Answer::ok(&json!({ "SecurityGroupId": id })))
}

impl World {
    /// Adds a security group. Answers its id. What is not said of it is as usual.
    pub fn put_security_group(&mut self, body: Value) -> String {
        let (id, made) = (self.next("sg-bp"), self.time());
        let usual = json!({ "SecurityGroupId": id, "SecurityGroupType": "normal", "Tags": [], "Rules": [] });
        self.security.put(&id, made, listing::with(usual, &body));
        id
    }
}

fn without_rules(mut group: Value) -> Value {
    if let Some(fields) = group.as_object_mut() {
        fields.remove("Rules");
    }
    group
}

/// The rules of a request, as they are shown.
fn rules(pairs: AcsPairs<'_>) -> Result<Vec<Value>, Refused> {
    let rules = pairs.members("Permissions");
    if rules.is_empty() || rules.len() > MOST_RULES {
        return Err(bad("Permissions", "one sends 1 to 100"));
    }
    let rule = |written: &Value| {
        let policy = text(written, "Policy").to_lowercase();
        let is_range = text(written, "SourceCidrIp").parse::<ipnet::Ipv4Net>().is_ok();
        let has_priority = text(written, "Priority").parse::<u8>().is_ok_and(|it| (1..=100).contains(&it));
        if !["accept", "drop"].contains(&&*policy) || !is_range || !has_priority {
            return Err(bad("Permissions", &format!("{written} is no rule")));
        }
        let mut rule = written.clone();
        (rule["Direction"], rule["NicType"]) = (json!("ingress"), json!("intranet"));
        Ok(rule)
    };
    rules.iter().map(rule).collect()
}

fn is_same(one: &Value, other: &Value) -> bool {
    SAME.iter().all(|it| text(one, it).eq_ignore_ascii_case(text(other, it)))
}
