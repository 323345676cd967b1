//! Networks of the VPC: the VPC itself, its vSwitches, and its route tables.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, refused, unserved};
use super::listing;
use super::pairs::AcsPairs;
use super::table::Table;
use super::world::World;

/// Answers a request.
pub(super) fn answer(world: &World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "DescribeVpcAttribute" => {
            let found = world.vpcs.get(pairs.needed("VpcId")?);
            let found = found.ok_or_else(|| refused(404, "InvalidVpcId.NotFound", "Specified VPC does not exist."))?;
            let mut shown = found.clone();
            shown["VSwitchIds"] = json!({ "VSwitchId": ids(&world.switches) });
            Ok(Answer::ok(&shown))
        }
        // Those that a test has bound to a Classic Load Balancer.
        "DescribeEipAddresses" => {
            pairs.word("AssociatedInstanceType", &["SlbInstance"])?;
            let balancer = world.balancers.get(pairs.needed("AssociatedInstanceId")?);
            let bound = balancer.and_then(|it| it["ElasticAddress"].as_str());
            let shown = |it: &str| json!({ "IpAddress": it, "InstanceType": "SlbInstance", "Status": "InUse" });
            paged(pairs, "EipAddresses", "EipAddress", bound.map(shown).into_iter().collect())
        }
        "DescribeVSwitches" => {
            let shown = |(id, it): (&str, &Value)| {
                let mut shown = it.clone();
                if world.behaviour.full_switches.contains(id) {
                    shown["AvailableIpAddressCount"] = json!(0);
                }
                shown
            };
            let found = world.switches.all().map(shown).collect();
            paged(pairs, "VSwitches", "VSwitch", found)
        }
        "DescribeRouteTableList" => {
            let vpc = pairs.get("VpcId");
            let found = world.route_tables.all().filter(|(_, it)| vpc.is_none_or(|vpc| it["VpcId"] == *vpc));
            let found = found.map(|(_, it)| it.clone()).collect();
            paged(pairs, "RouterTableList", "RouterTableListType", found)
        }
        other => Err(unserved(other)),
    }
}

fn ids(table: &Table) -> Vec<&str> {
    table.all().map(|(id, _)| id).collect()
}

/// A page with a list in its wrapper.
fn paged(pairs: AcsPairs<'_>, wrapper: &str, field: &str, all: Vec<Value>) -> Result<Answer, Refused> {
    let (items, counts) = listing::by_number(pairs, all, 50)?;
    Ok(Answer::ok(&listing::with(json!({ wrapper: { field: items } }), &counts)))
}
