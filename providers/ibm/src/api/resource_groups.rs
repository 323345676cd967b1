//! Resource groups by their names: the resource manager has an API of its own.

use aerostat_sdk::Result;
use aerostat_sdk::http::Client;
use serde::Deserialize;

/// The endpoint. It is needed where the operator knows a resource group by its name.
pub(crate) const MANAGER: &str = "resource-manager";
const API: Client<'_> = Client::new(MANAGER);

#[derive(Clone, Debug, Deserialize)]
struct VpcResourceGroup {
    id: String,
    name: String,
}

/// The ids of the account's resource groups with exactly this name.
///
/// # Errors
///
/// Whatever the API answered; `denied` without the endpoint.
pub(crate) fn named(account: &str, name: &str) -> Result<Vec<String>> {
    let request = API.get(["resource_groups"]).query("account_id", account).query("name", name);
    let found: Vec<VpcResourceGroup> = request.send()?.json_in("resources")?;
    Ok(found.into_iter().filter(|it| it.name == name).map(|it| it.id).collect())
}
