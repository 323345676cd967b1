//! Servers, as Nova shows them from microversion 2.47 on, and flavours.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Error, Result, SortedMap};
use openstack_api::fields::{FromFields, object, objects, text, word};
use openstack_api::lists::{listed, shown_after};
use openstack_api::{MICROVERSION, NOVA};
use serde_json::Value;

/// From this version on a server shows its flavour's name: nobody has to ask for it.
const VERSION: &str = "compute 2.47";

/// One server.
#[derive(Clone, Debug)]
pub(crate) struct NovaServer {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: String,
    /// The project that it is of.
    pub(crate) tenant_id: Option<String>,
    /// The name of its flavour when it was made, which may be gone; empty where Nova does not show it.
    pub(crate) flavor: String,
    /// By the names of networks.
    pub(crate) addresses: SortedMap<String, Vec<NovaAddress>>,
    pub(crate) access_ipv4: Option<String>,
    pub(crate) access_ipv6: Option<String>,
    /// The host name that people have written into its metadata.
    pub(crate) hostname: Option<String>,
    pub(crate) zone: Option<String>,
}

/// An address in a network.
#[derive(Clone, Debug)]
pub(crate) struct NovaAddress {
    pub(crate) address: String,
    pub(crate) is_floating: bool,
}

impl FromFields for NovaServer {
    fn from_fields(shown: &Value) -> Option<Self> {
        let address = |shown: &Value| {
            Some(NovaAddress { address: word(shown, "addr")?, is_floating: shown["OS-EXT-IPS:type"] == "floating" })
        };
        let networks = shown["addresses"].as_object().into_iter().flatten();
        let addresses = networks
            .map(|(name, it)| (name.clone(), it.as_array().into_iter().flatten().filter_map(address).collect()));
        Some(Self {
            id: word(shown, "id")?,
            name: word(shown, "name")?,
            status: word(shown, "status")?,
            tenant_id: word(shown, "tenant_id"),
            flavor: text(&shown["flavor"], "original_name"),
            addresses: addresses.collect(),
            access_ipv4: word(shown, "accessIPv4"),
            access_ipv6: word(shown, "accessIPv6"),
            hostname: word(&shown["metadata"], "hostname"),
            zone: word(shown, "OS-EXT-AZ:availability_zone"),
        })
    }
}

impl NovaServer {
    /// Whether it exists. A deleted one is shown for a while.
    pub(crate) fn exists(&self) -> bool {
        !matches!(&*self.status, "DELETED" | "SOFT_DELETED")
    }
}

fn servers<'a>(path: impl IntoIterator<Item = &'a str>) -> Request {
    NOVA.get(std::iter::once("servers").chain(path)).header(MICROVERSION, VERSION)
}

/// The server with this id.
///
/// # Errors
///
/// Whatever Nova answered.
pub(crate) fn find(id: &str) -> Result<Option<NovaServer>> {
    servers([id]).find_response()?.map(|it| object(&it, "server")).transpose()
}

/// The servers with this name, in any case: names are not unique.
///
/// # Errors
///
/// Whatever Nova answered.
pub(crate) fn named(name: &str) -> Result<Vec<NovaServer>> {
    let mut found: Vec<NovaServer> =
        objects(&servers(["detail"]).query("name", format!("^{}$", quoted(name))), "servers")?;
    found.retain(|it| it.name.eq_ignore_ascii_case(name));
    Ok(found)
}

/// A page of the project's servers, after the one with the id `marker`, and the marker of the next page.
///
/// # Errors
///
/// Whatever Nova answered.
pub(crate) fn page(marker: Option<&str>, size: u32) -> Result<(Vec<NovaServer>, Option<String>)> {
    let (shown, next) = shown_after(servers(["detail"]), "servers", marker, size)?;
    let unread = || Error::unavailable("a server lacks its id, its name or its status");
    let found: Result<_> = shown.iter().map(|it| NovaServer::from_fields(it).ok_or_else(unread)).collect();
    Ok((found?, next))
}

/// The ids of flavours, by their names.
///
/// # Errors
///
/// Whatever Nova answered.
pub(crate) fn flavors() -> Result<SortedMap<String, String>> {
    let all = listed(&NOVA.get(["flavors"]), "flavors")?;
    Ok(all.iter().map(|it| (text(it, "name"), text(it, "id"))).collect())
}

/// A regular expression that is this name, and no other.
fn quoted(name: &str) -> String {
    let mut pattern = String::new();
    for it in name.chars() {
        if it.is_ascii_punctuation() && !matches!(it, '-' | '_') {
            pattern.push('\\');
        }
        pattern.push(it);
    }
    pattern
}

#[cfg(test)]
mod tests {
    #[test]
    fn openstack_012_a_name_is_no_pattern() {
        assert_eq!(super::quoted("web.1"), r"web\.1");
        assert_eq!(super::quoted("web-1_a(b)|c$"), r"web-1_a\(b\)\|c\$");
    }
}
