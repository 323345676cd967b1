//! The settings of the provider.

pub(crate) mod balancers;

use aerostat_sdk::form::{Bool, Custom};
use aerostat_sdk::{Result, settings};

aerostat_sdk::table! {
    /// Those about the region, the network and its machines.
    pub(crate) const TABLE;
    REGION: Custom<String> = ("region", Custom::slug("the name of a region such as cn-hangzhou"),
        "The region of the cluster.").required();
    VPC: Custom<String> = ("vpc", VPC_ID, "The VPC of the cluster, by its id: machines in it are listed for nodes.").required();
    DUAL_STACK: Bool = ("dualStack", Bool,
        "IPv6 addresses of a machine's primary network interface are addresses of its node, too.").default("false");
    ROUTE_TABLE: Custom<String> = ("routeTable", TABLE_ID, "The route table for pods, by its id.")
        .otherwise("the only one of the VPC");
}

/// The id of a route table.
const TABLE_ID: Custom<String> = Custom { allowed: "the id of a route table such as vtb-bp1abc", parse: table_id };
/// The id of a VPC.
const VPC_ID: Custom<String> = Custom { allowed: "the id of a VPC such as vpc-bp1abc", parse: vpc_id };

/// The region, the VPC, and what nodes get from its machines.
#[derive(Clone, Debug)]
pub(crate) struct VpcSettings {
    pub(crate) region: String,
    pub(crate) vpc: String,
    /// Whether IPv6 addresses are told.
    pub(crate) is_dual_stack: bool,
}

impl VpcSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            region: settings::get(&REGION)?,
            vpc: settings::get(&VPC)?,
            is_dual_stack: settings::get(&DUAL_STACK)?,
        })
    }
}

/// The region, once there is one: a description is asked for before anything is configured, too.
///
/// # Errors
///
/// As [`VpcSettings::read`].
pub(crate) fn region() -> Result<Option<String>> {
    settings::read(&REGION)
}

/// The route table, if one is set.
///
/// # Errors
///
/// As [`VpcSettings::read`].
pub(crate) fn route_table() -> Result<Option<String>> {
    settings::read(&ROUTE_TABLE)
}

/// Refuses settings that cannot work. One that is missing is the host's to refuse.
///
/// # Errors
///
/// As [`VpcSettings::read`].
pub(crate) fn check() -> Result<()> {
    settings::read(&VPC)?;
    settings::read(&DUAL_STACK)?;
    Ok(())
}

fn vpc_id(text: &str) -> Option<String> {
    id(text, "vpc-")
}

fn table_id(text: &str) -> Option<String> {
    id(text, "vtb-")
}

/// An id with this beginning, that may have dashes behind it.
pub(crate) fn dashed_id(text: &str, beginning: &str) -> Option<String> {
    let rest = text.strip_prefix(beginning)?;
    let is_word =
        !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
    (is_word && text.len() <= 64).then(|| text.to_owned())
}

/// An id with this beginning.
fn id(text: &str, beginning: &str) -> Option<String> {
    let id = text.strip_prefix(beginning)?;
    let is_word = !id.is_empty() && id.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    (is_word && text.len() <= 64).then(|| text.to_owned())
}
