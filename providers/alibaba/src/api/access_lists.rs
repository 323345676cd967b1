//! Lists of access: the ranges of clients that listeners of Classic Load Balancers let in.

use aerostat_sdk::backend::{Creation, Found};
use serde_json::{Value, json};

use super::errors::AcsRefusal;
use super::fields::{borrowed, items, tag_list, text, wrapped_tags};
use super::product::SLB;

/// Entries in one request: the most that the API takes.
const BATCH: usize = 50;
/// Lists and entries of a page.
const PAGE: usize = 50;
/// The code for a list that is not there.
const GONE: &str = "AclNotExist";

/// A list, without its entries.
#[derive(Clone, Debug)]
pub(crate) struct SlbAccessList {
    pub(crate) id: String,
    pub(crate) tags: Vec<(String, String)>,
}

/// The items of all numbered pages of an answer.
fn all(
    action: &str,
    region: &str,
    pairs: &[(&str, &str)],
    names: [&str; 3],
    wrapper: [&str; 2],
) -> Result<Vec<Value>, AcsRefusal> {
    let [number_name, size_name, total] = names;
    let (mut all, mut number) = (Vec::new(), 1_usize);
    loop {
        let (page, size) = (number.to_string(), PAGE.to_string());
        let shown = SLB.call(action, region, &[pairs, &[(number_name, &*page), (size_name, &*size)]].concat())?;
        let found = items(&shown, wrapper[0], wrapper[1]);
        all.extend(found.iter().cloned());
        let most = shown[total].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or_default();
        if found.is_empty() || number * PAGE >= most {
            return Ok(all);
        }
        number += 1;
    }
}

/// The list with this id.
pub(crate) fn find(region: &str, id: &str) -> Result<Option<SlbAccessList>, AcsRefusal> {
    match SLB.call("DescribeAccessControlListAttribute", region, &[("AclId", id)]) {
        Err(refusal) if refusal.code == GONE => Ok(None),
        shown => shown.map(|it| Some(SlbAccessList { id: id.to_owned(), tags: wrapped_tags(&it) })),
    }
}

/// All lists with this tag.
pub(crate) fn tagged(region: &str, (key, value): (&str, &str)) -> Result<Vec<SlbAccessList>, AcsRefusal> {
    let pairs = [("Tag.1.Key", key), ("Tag.1.Value", value)];
    let names = ["PageNumber", "PageSize", "TotalCount"];
    let found = all("DescribeAccessControlLists", region, &pairs, names, ["Acls", "Acl"])?;
    let list = |it: &Value| SlbAccessList { id: text(it, "AclId"), tags: wrapped_tags(it) };
    Ok(found.iter().map(list).filter(|it| !it.id.is_empty()).collect())
}

/// The ranges in a list.
pub(crate) fn ranges(region: &str, id: &str) -> Result<Vec<String>, AcsRefusal> {
    let names = ["Page", "PageSize", "TotalAclEntry"];
    let found = all("DescribeAccessControlListAttribute", region, &[("AclId", id)], names, ["AclEntrys", "AclEntry"])?;
    Ok(found.iter().map(|it| text(it, "AclEntryIP")).collect())
}

/// Makes a list.
///
/// # Errors
///
/// That it was certainly not made.
pub(crate) fn create(region: &str, name: &str, tags: &[(&str, &str)]) -> Result<Creation, AcsRefusal> {
    let tags = tag_list(tags);
    let mut pairs = vec![("AclName", name), ("AddressIPVersion", "ipv4")];
    pairs.extend(borrowed(&tags));
    SLB.create("CreateAccessControlList", region, &pairs, |made| {
        Some(Found::new(Some(text(made, "AclId")).filter(|it| !it.is_empty())?, name, true))
    })
}

/// Adds ranges to a list, or takes them away: this action.
pub(crate) fn change(region: &str, id: &str, action: &str, ranges: &[String]) -> Result<(), AcsRefusal> {
    for part in ranges.chunks(BATCH) {
        let entries: Vec<Value> = part.iter().map(|it| json!({ "entry": it, "comment": "aerostat" })).collect();
        SLB.call(action, region, &[("AclId", id), ("AclEntrys", &*Value::from(entries).to_string())])?;
    }
    Ok(())
}

/// Deletes a list. One that is gone counts as deleted.
pub(crate) fn delete(region: &str, id: &str) -> Result<(), AcsRefusal> {
    match SLB.call("DeleteAccessControlList", region, &[("AclId", id)]) {
        Err(refusal) if refusal.code == GONE => Ok(()),
        done => done.map(drop),
    }
}
