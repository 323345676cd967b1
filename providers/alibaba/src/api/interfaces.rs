//! Network interfaces.

use aerostat_sdk::Result;

use super::PAGE;
use super::errors::AcsRefusal;
use super::fields::{items, text};
use super::product::ECS;

/// The interfaces among these, at most [`PAGE`], that drop packets of other addresses than their own.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn checking(region: &str, ids: &[&str]) -> Result<Vec<String>> {
    let names: Vec<String> = (1..=ids.len()).map(|number| format!("NetworkInterfaceId.{number}")).collect();
    let size = PAGE.to_string();
    let mut pairs: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(ids.iter().copied()).collect();
    pairs.push(("MaxResults", &size));
    let shown = ECS.call("DescribeNetworkInterfaces", region, &pairs)?;
    let found = items(&shown, "NetworkInterfaceSets", "NetworkInterfaceSet");
    Ok(found.iter().filter(|it| it["SourceDestCheck"] == true).map(|it| text(it, "NetworkInterfaceId")).collect())
}

/// Lets an interface forward packets of pods.
pub(crate) fn forward(region: &str, id: &str) -> Result<(), AcsRefusal> {
    let pairs = [("NetworkInterfaceId", id), ("SourceDestCheck", "false")];
    ECS.call("ModifyNetworkInterfaceAttribute", region, &pairs).map(drop)
}
