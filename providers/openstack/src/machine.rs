//! Provider ids of servers. All forms that were ever written are read for ever.

use aerostat_sdk::form::{Custom, Form as _};
use aerostat_sdk::{Error, Result};

/// The beginning of provider ids: a region, or nothing, and the server's id follow. Nodes keep theirs for as long as they exist: it
/// must not change.
pub(crate) const PREFIX: &str = "openstack://";
/// The beginning of provider ids without it: the bare id of a server is read too.
pub(crate) const BARE: &str = "";

/// The id of the server in a provider id: `openstack:///<id>`, `openstack://<region>/<id>` with the cluster's own region, or the
/// id alone. Ids are UUIDs, and are read in lower case.
///
/// # Errors
///
/// `invalid`, if it is of another cloud or region, or no server has such an id.
pub(crate) fn server_id(provider_id: &str, region: &str) -> Result<String> {
    let (named, id) = match provider_id.strip_prefix(PREFIX) {
        Some(path) => path.split_once('/').unwrap_or(("", "")),
        None => ("", provider_id),
    };
    let id = Custom::uuid("").parse(id).ok_or_else(|| {
        Error::invalid(format_args!(
            "provider id {provider_id:?} is not {PREFIX}, a region or nothing, / and the id of a server such as \
             4de7ac8b-495b-4884-9a69-1050c6793cd6"
        ))
    })?;
    match named == region || named.is_empty() {
        true => Ok(id),
        false => Err(Error::invalid(format_args!(
            "provider id {provider_id:?} names region {named:?}, and the cluster's is {region}: the server is not looked for"
        ))),
    }
}

/// The provider id of the server with this id: with its region, or without as the vendor's controller writes it unless it is told
/// otherwise.
pub(crate) fn provider_id(id: &str, region: Option<&str>) -> String {
    format!("{PREFIX}{}/{id}", region.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";

    #[test]
    fn openstack_009_every_spelling_names_one_server() {
        let upper = ID.to_ascii_uppercase();
        for text in [ID, &upper, &format!("openstack:///{ID}"), &format!("openstack://RegionOne/{upper}")] {
            assert_eq!(server_id(text, "RegionOne").as_deref(), Ok(ID), "{text}");
        }
    }

    #[test]
    fn openstack_010_a_server_of_another_region_is_refused() {
        let refused = server_id(&format!("openstack://other/{ID}"), "RegionOne").unwrap_err();
        assert!(matches!(&refused, Error::Invalid(why) if why.contains("names region \"other\"")), "{refused:?}");
    }

    #[test]
    fn ids_that_no_server_has_are_refused() {
        let texts = ["", "aws:///z/i-1", "i-1", "openstack://", "openstack:///", "openstack:///web-1", "openstack://x"];
        let deep = format!("openstack://RegionOne/x/{ID}");
        let no_region = format!("openstack://{ID}");
        for text in texts.into_iter().chain([&*deep, &*no_region]) {
            assert!(
                matches!(server_id(text, "RegionOne"), Err(Error::Invalid(why)) if why.contains(&format!("{text:?}")))
            );
        }
    }

    #[test]
    fn openstack_011_a_provider_id_may_name_the_region() {
        assert_eq!(provider_id("u", None), "openstack:///u");
        assert_eq!(provider_id("u", Some("RegionOne")), "openstack://RegionOne/u");
    }
}
