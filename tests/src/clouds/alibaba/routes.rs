//! Entries of route tables. A table takes one change at a time: new entries are `Pending` first, and those that go are `Deleting`.

use std::time::SystemTime;

use ipnet::Ipv4Net;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, busy, refused, unserved};
use super::listing::{self, TokenPage};
use super::pairs::{AcsPairs, text};
use super::route_writer::RouteWriter;
use super::world::World;

/// The most entries in one request.
const BATCH: usize = 50;

/// Answers a request about entries.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "DescribeRouteEntryList" => list(world, pairs),
        "CreateRouteEntries" => create(world, pairs),
        "DeleteRouteEntries" => delete(world, pairs),
        other => Err(unserved(other)),
    }
}

fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let table = found(world, pairs.needed("RouteTableId")?)?;
    world.routing.iter_mut().filter(|it| it.table == table).for_each(|it| it.end.count_read());
    let is = |name: &str, shown: &str| pairs.get(name).is_none_or(|it| it == shown);
    let is_asked = |route: &Value| {
        let hop = &route["NextHops"]["NextHop"][0];
        route["RouteTableId"] == *table
            && is("RouteEntryType", text(route, "Type"))
            && is("NextHopType", text(hop, "NextHopType"))
            && is("NextHopId", text(hop, "NextHopId"))
            && is("DestinationCidrBlock", text(route, "DestinationCidrBlock"))
    };
    let found = world.listed(|it| &it.routes, is_asked);
    let TokenPage { items, next, total, .. } = listing::by_token(pairs, found, "MaxResult", (50, 500))?;
    Ok(Answer::ok(&json!({ "RouteEntrys": { "RouteEntry": items }, "NextToken": next, "TotalCount": total })))
}

/// The only table of a request with entries, which takes no other change at the moment.
fn table(world: &World, entries: &[Value]) -> Result<String, Refused> {
    if entries.is_empty() || entries.len() > BATCH {
        return Err(bad("RouteEntries", "one sends 1 to 50"));
    }
    let table = found(world, text(&entries[0], "RouteTableId"))?;
    if entries.iter().any(|it| it["RouteTableId"] != *table) {
        return Err(bad("RouteEntries", "they are of several tables"));
    }
    if world.routing.iter().any(|it| it.table == table) {
        return Err(busy("TaskConflict", &table));
    }
    Ok(table)
}

fn found(world: &World, table: &str) -> Result<String, Refused> {
    let unknown = || refused(404, "InvalidRouteTableId.NotFound", "Specified route table does not exist.");
    world.route_tables.get(table).ok_or_else(unknown).map(|_| table.to_owned())
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let entries = pairs.members("RouteEntries");
    let table = table(world, &entries)?;
    let (mut made, mut failed) = (Vec::new(), Vec::new());
    for entry in &entries {
        let destination = text(entry, "DstCidrBlock").to_owned();
        match why_not(world, &table, entry) {
            Some(code) => failed.push(json!({
                "DstCidrBlock": destination, "NextHop": text(entry, "NextHop"), "FailedCode": code, "FailedMessage": "No.",
            })),
            None => {
                let hop = (text(entry, "NextHopType"), text(entry, "NextHop"));
                made.push(world.put_route(&table, &destination, hop, text(entry, "Description"), "Pending"));
            }
        }
    }
    if !made.is_empty() {
        let end = world.behaviour.route.begun(world.time());
        world.routing.push(RouteWriter { table, end });
    }
    Ok(Answer::ok(&json!({
        "RouteEntryIds": made, "SuccessCount": made.len(), "FailedCount": failed.len(), "FailedRouteEntries": failed,
    })))
}

/// The code with which an entry cannot be made.
fn why_not(world: &World, table: &str, entry: &Value) -> Option<String> {
    let destination = text(entry, "DstCidrBlock");
    let chosen = world.behaviour.refused_routes.iter().find(|(it, _)| destination.starts_with(it.as_str()));
    if let Some((_, code)) = chosen {
        return Some(code.clone());
    }
    let is_network = destination.parse::<Ipv4Net>().is_ok_and(|it| it.trunc() == it);
    let description = text(entry, "Description");
    let own = || world.routes.of("RouteTableId", table);
    if !is_network || description.len() > 256 || text(entry, "NextHopType") != "Instance" {
        Some("VPC_ROUTE_ENTRY_INVALID".to_owned())
    } else if world.instances.get(text(entry, "NextHop")).is_none() {
        Some("VPC_ROUTE_ENTRY_NEXT_HOP_NOT_EXIST".to_owned())
    } else if own().any(|(_, it)| it["DestinationCidrBlock"] == destination) {
        Some("VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE".to_owned())
    } else if own().count() >= world.behaviour.most_routes {
        Some("QuotaExceeded.RouteEntry".to_owned())
    } else {
        None
    }
}

fn delete(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let entries = pairs.members("RouteEntries");
    let table = table(world, &entries)?;
    let (mut count, mut failed) = (0, Vec::new());
    for entry in &entries {
        let id = text(entry, "RouteEntryId");
        let destination = entry.get("DstCidrBlock").and_then(Value::as_str);
        let is_asked = |entry: &Value| {
            entry["RouteTableId"] == *table && destination.is_none_or(|it| entry["DestinationCidrBlock"] == *it)
        };
        let code = match world.routes.get_mut(id).filter(|it| is_asked(it)) {
            None => "VPC_ROUTER_ENTRY_NOT_EXIST",
            Some(own) if own["Status"] == "Available" => {
                own["Status"] = json!("Deleting");
                count += 1;
                continue;
            }
            Some(_) => "VPC_ROUTE_ENTRY_STATUS_ERROR",
        };
        let mut refused = json!({ "RouteEntryId": id, "FailedCode": code, "FailedMessage": "No." });
        if let Some(destination) = destination {
            refused["DstCidrBlock"] = json!(destination);
        }
        failed.push(refused);
    }
    if count > 0 {
        let end = world.behaviour.route.begun(world.time());
        world.routing.push(RouteWriter { table, end });
    }
    Ok(Answer::ok(&json!({ "SuccessCount": count, "FailedCount": failed.len(), "FailedRouteEntries": failed })))
}

impl World {
    /// Adds an entry of a route table to a next hop of this kind and id. Answers its id.
    pub fn put_route(
        &mut self,
        table: &str,
        destination: &str,
        (kind, hop): (&str, &str),
        description: &str,
        status: &str,
    ) -> String {
        let (id, made) = (self.next("rte-bp"), self.time());
        let body = json!({
            "RouteEntryId": id, "RouteTableId": table, "DestinationCidrBlock": destination, "Description": description,
            "Status": status, "Type": "Custom", "IpVersion": "IPv4", "RouteEntryName": "",
            "NextHops": { "NextHop": [{ "NextHopType": kind, "NextHopId": hop, "Enabled": 1, "Weight": 0 }] },
        });
        self.routes.put(&id, made, body);
        id
    }

    /// Ends changes of route tables whose time has come.
    pub(super) fn end_routing(&mut self, now: SystemTime) {
        let (due, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.routing).into_iter().partition(|it| it.end.is_due(now));
        self.routing = open;
        for RouteWriter { table, .. } in due {
            self.routes.remove_all(|it| it["RouteTableId"] == *table && it["Status"] == "Deleting");
            let own: Vec<String> = self.routes.of("RouteTableId", &table).map(|(id, _)| id.to_owned()).collect();
            for id in own {
                if let Some(it) = self.routes.get_mut(&id) {
                    it["Status"] = json!("Available");
                }
            }
        }
    }
}
