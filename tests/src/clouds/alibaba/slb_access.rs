//! Lists of access: the ranges of clients that listeners of Classic Load Balancers let in.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, busy, refused, unserved};
use super::listing;
use super::pairs::{AcsPairs, has_tags};
use super::world::World;

/// The most entries in one request.
const BATCH: usize = 50;

/// Answers a request.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateAccessControlList" => {
            let name = pairs.needed("AclName")?;
            if name.len() > 80 {
                return Err(bad("AclName", "it is longer than 80 characters"));
            }
            let version = pairs.word("AddressIPVersion", &["ipv4", "ipv6"])?;
            let (id, tags) = (world.next("acl-bp"), pairs.tags()?);
            world.put_access_list(&id, json!({ "AclName": name, "AddressIPVersion": version, "Tags": tags }));
            return Ok(Answer::ok(&json!({ "AclId": id })));
        }
        "DescribeAccessControlLists" => {
            let asked = pairs.tags()?;
            let found = world.listed(|it| &it.access, |it| has_tags(it, &asked));
            let shown = |list: &Value| {
                json!({
                    "AclId": list["AclId"], "AclName": list["AclName"], "AddressIPVersion": list["AddressIPVersion"],
                    "Tags": { "Tag": list["Tags"] },
                })
            };
            let (items, mut counts) = listing::by_number(pairs, found.iter().map(shown).collect(), 50)?;
            counts["Count"] = json!(items.len());
            return Ok(Answer::ok(&listing::with(json!({ "Acls": { "Acl": items } }), &counts)));
        }
        _ => {}
    }
    let id = pairs.needed("AclId")?;
    let is_used = world.listeners.all().any(|(_, it)| it["AclId"] == *id && it["AclStatus"] == "on");
    let unknown = || refused(400, "AclNotExist", "The specified access control list does not exist.");
    let list = world.access.get_mut(id).ok_or_else(unknown)?;
    match pairs.action() {
        "DescribeAccessControlListAttribute" => return attribute(list, pairs),
        "DeleteAccessControlList" => {
            if is_used {
                return Err(busy("AclUsed", id));
            }
            world.access.remove(id);
        }
        "AddAccessControlListEntry" => {
            let own = list["Entries"].as_array_mut().expect("a list has entries");
            for entry in entries(pairs)? {
                if own.iter().any(|it| it["AclEntryIP"] == entry["AclEntryIP"]) {
                    return Err(refused(400, "AclEntryExist", "The entry is in the list already."));
                }
                own.push(entry);
            }
        }
        "RemoveAccessControlListEntry" => {
            let gone = entries(pairs)?;
            let own = list["Entries"].as_array_mut().expect("a list has entries");
            own.retain(|own| !gone.iter().any(|it| it["AclEntryIP"] == own["AclEntryIP"]));
        }
        other => return Err(unserved(other)),
    }
    Ok(Answer::ok(&json!({})))
}

impl World {
    /// Adds a list of access with this id. What is not said of it is as usual.
    pub fn put_access_list(&mut self, id: &str, body: Value) {
        let usual = json!({ "AclId": id, "AclName": id, "AddressIPVersion": "ipv4", "Tags": [], "Entries": [] });
        let made = self.time();
        self.access.put(id, made, listing::with(usual, &body));
    }
}

/// The entries of a request, as they are shown.
fn entries(pairs: AcsPairs<'_>) -> Result<Vec<Value>, Refused> {
    let written: Vec<Value> = serde_json::from_str(pairs.needed("AclEntrys")?)
        .map_err(|error| bad("AclEntrys", &format!("no JSON array: {error}")))?;
    if written.is_empty() || written.len() > BATCH {
        return Err(bad("AclEntrys", "one sends 1 to 50"));
    }
    let entry = |one: &Value| {
        let range = one["entry"].as_str().filter(|it| it.parse::<ipnet::IpNet>().is_ok());
        let range = range.ok_or_else(|| bad("AclEntrys", &format!("{one} has no range")))?;
        Ok(json!({ "AclEntryIP": range, "AclEntryComment": one["comment"].as_str().unwrap_or_default() }))
    };
    written.iter().map(entry).collect()
}

/// A list with a page of its entries, which are counted in their own way.
fn attribute(list: &Value, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let (page, size) = (pairs.number("Page", (1, 1_000), 1)?, pairs.number("PageSize", (1, 50), 50)?);
    let all = list["Entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entries = crate::simulator::lists::page(
        all,
        usize::try_from(page).unwrap_or_default(),
        usize::try_from(size).unwrap_or_default(),
    );
    Ok(Answer::ok(&json!({
        "AclId": list["AclId"], "AclName": list["AclName"], "AddressIPVersion": list["AddressIPVersion"],
        "TotalAclEntry": all.len(), "AclEntrys": { "AclEntry": entries }, "Tags": { "Tag": list["Tags"] },
    })))
}
