//! Network interfaces.

use aerostat_sdk::Result;
use serde_json::Value;

use super::PAGE;
use super::errors::AcsRefusal;
use super::fields::{borrowed, counted, items, text};
use super::product::{ECS, by_tokens};

const ACTION: &str = "DescribeNetworkInterfaces";
/// Interfaces of a page where they are not asked for by their ids: the most that the API takes.
const WIDE_PAGE: u32 = 500;

/// The primary interface of an instance.
pub(crate) struct PrimaryInterface {
    pub(crate) id: String,
    pub(crate) instance: String,
    /// Whether it drops packets of other addresses than its own.
    pub(crate) is_checking: bool,
}

/// The primary interfaces of all instances of a VPC.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn primary(region: &str, vpc: &str) -> Result<Vec<PrimaryInterface>> {
    let mut all = Vec::new();
    by_tokens(&mut |cursor| {
        let pairs = [("Type", "Primary"), ("VpcId", vpc)];
        let (shown, next) = ECS.page(ACTION, region, &pairs, cursor, WIDE_PAGE)?;
        all.extend(read(&shown));
        Ok(next)
    })?;
    Ok(all)
}

/// The interfaces among these, at most [`PAGE`], that are shown: who lacks the right gets an empty list, and no error, and there is no request
/// that tells these apart.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn by_ids(region: &str, ids: &[&str]) -> Result<Vec<PrimaryInterface>> {
    let (ids, size) = (counted("NetworkInterfaceId", ids), PAGE.to_string());
    let mut pairs = borrowed(&ids);
    pairs.push(("MaxResults", &size));
    Ok(read(&ECS.call(ACTION, region, &pairs)?))
}

fn read(shown: &Value) -> Vec<PrimaryInterface> {
    let interface = |own: &Value| PrimaryInterface {
        id: text(own, "NetworkInterfaceId"),
        instance: text(own, "InstanceId"),
        is_checking: own["SourceDestCheck"] == true,
    };
    items(shown, "NetworkInterfaceSets", "NetworkInterfaceSet").iter().map(interface).collect()
}

/// Lets an interface forward packets of pods.
pub(crate) fn forward(region: &str, id: &str) -> Result<(), AcsRefusal> {
    let pairs = [("NetworkInterfaceId", id), ("SourceDestCheck", "false")];
    ECS.call("ModifyNetworkInterfaceAttribute", region, &pairs).map(drop)
}
