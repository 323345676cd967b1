//! Instances of the VPC.

use aerostat_sdk::Result;
use serde::Deserialize;

use super::{VpcId, VpcName, get, lists};

/// One instance.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcInstance {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) profile: VpcName,
    pub(crate) zone: VpcName,
    pub(crate) vpc: VpcId,
    primary_network_interface: Option<VpcInterface>,
    primary_network_attachment: Option<VpcAttachment>,
}

/// A network interface. Of an instance with attachments it is a shadow of the attachment.
#[derive(Clone, Debug, Deserialize)]
struct VpcInterface {
    id: String,
    primary_ip: VpcAddress,
}

/// An attachment of an instance to a network interface that is an object of its own.
#[derive(Clone, Debug, Deserialize)]
struct VpcAttachment {
    primary_ip: VpcAddress,
    virtual_network_interface: VpcId,
}

#[derive(Clone, Debug, Deserialize)]
struct VpcAddress {
    address: String,
}

impl VpcInstance {
    /// Its primary address; `None` while it has none.
    pub(crate) fn address(&self) -> Option<&str> {
        let attached = self.primary_network_attachment.as_ref().map(|it| &it.primary_ip);
        let address = attached.or(self.primary_network_interface.as_ref().map(|it| &it.primary_ip))?;
        // The API shows this one until there is another.
        Some(&*address.address).filter(|it| !it.is_empty() && *it != "0.0.0.0")
    }

    /// The id of what a floating address of its primary interface leads to.
    pub(crate) fn target(&self) -> Option<&str> {
        self.attached().or(self.primary_network_interface.as_ref().map(|it| it.id.as_str()))
    }

    /// The id of its primary interface, if that is an object of its own.
    pub(crate) fn attached(&self) -> Option<&str> {
        self.primary_network_attachment.as_ref().map(|it| it.virtual_network_interface.id.as_str())
    }
}

/// The instance with this id, in any VPC.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(id: &str) -> Result<Option<VpcInstance>> {
    get(["instances", id]).find()
}

/// A page of the VPC's instances, and the token of the next one.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn page(vpc: &str, start: Option<&str>, limit: u32) -> Result<(Vec<VpcInstance>, Option<String>)> {
    lists::page(get(["instances"]).query("vpc.id", vpc), "instances", start, limit)
}

/// The VPC's instances with exactly this name: names of running ones are unique there, and lists may lag.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn named(vpc: &str, name: &str) -> Result<Vec<VpcInstance>> {
    let list = get(["instances"]).query("vpc.id", vpc).query("name", name);
    let mut found: Vec<VpcInstance> = lists::all(&list, "instances")?;
    found.retain(|it| it.name == name && it.vpc.id == vpc);
    Ok(found)
}
