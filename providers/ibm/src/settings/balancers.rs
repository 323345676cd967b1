//! The settings of load balancers.

use std::time::Duration;

use aerostat_sdk::allowed::{self, Allowed};
use aerostat_sdk::backend::Pauses;
use aerostat_sdk::form::{Bool, Custom, List, Span};
use aerostat_sdk::{Error, Result, settings};

use crate::api::resource_groups::{self, MANAGER};

const SECOND: Duration = Duration::from_secs(1);

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    SUBNET_NAMES: List<Custom<String>> = ("g2VpcSubnetNames",
        List { of: Custom { allowed: "no empty item", parse: item }, what: "names or ids of subnets", example: "sub-1,sub-2" },
        "The subnets of the VPC that load balancers are in, by their exact names. Needed for load balancers.");
    RESOURCE_GROUP: Custom<String> = ("resourceGroupID", Custom { allowed: "the id of a resource group", parse: super::id },
        "The resource group of new load balancers.").otherwise("the account's default");
    RESOURCE_GROUP_NAME: Custom<String> = ("g2ResourceGroupName", Custom { allowed: "the name of a resource group", parse: item },
        "The same by its name, in the place of resourceGroupID: then endpoint resource-manager is asked before each creation.");
    ALLOWED_GROUPS: List<Custom<String>> = ("allowedSecurityGroups", allowed::names("security groups", "clients,r006-group"),
        "Which security groups authors of Services may name, as they write them in annotation `vpc-security-group`: by id or by name. What a \
         security group lets in is decided elsewhere. `none` allows none, `*` all, `clients-*` those that begin so.").default("none");
    OWN_GROUPS: Bool = ("sourceRangeGroups", Bool,
        "Whether a Service with loadBalancerSourceRanges gets a security group of its own, with a rule for each range, in the place of the \
         VPC's default one. Needs rights to make, change and delete security groups.").default("false");
    OUTBOUND_GROUP: Custom<String> = ("outboundSecurityGroup", Custom { allowed: "the id of a security group", parse: super::id },
        "The security group of the nodes, in which annotation `vpc-allow-outbound-traffic` makes rules. Without it the annotation is refused. Needs \
         rights to change security groups.");
    POLL_INTERVAL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How long to wait before a load balancer that is being built or changed is read again.").default("15s");
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "After a creation without a clear answer: how long the load balancer must be absent from the list before it is created again.")
        .default("60s");
}

/// The resource group of what is made.
#[derive(Clone, Debug, Eq, PartialEq)]
enum IbmResourceGroup {
    /// The account's default.
    Usual,
    Id(String),
    /// The resource manager knows its id.
    Named(String),
}

/// The settings of load balancers.
pub(crate) struct IbmBalancerSettings {
    /// Names or ids.
    pub(crate) subnets: Vec<String>,
    resource_group: IbmResourceGroup,
    pub(crate) allowed_groups: Allowed,
    /// Whether source ranges make security groups.
    pub(crate) own_groups: bool,
    /// The id of the nodes' security group.
    pub(crate) outbound_group: Option<String>,
    pub(crate) pauses: Pauses,
}

impl IbmBalancerSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let resource_group = match (settings::read(&RESOURCE_GROUP)?, settings::read(&RESOURCE_GROUP_NAME)?) {
            (None, None) => IbmResourceGroup::Usual,
            (Some(id), None) => IbmResourceGroup::Id(id),
            (None, Some(name)) => IbmResourceGroup::Named(name),
            (Some(_), Some(_)) => {
                return Err(Error::invalid(format_args!(
                    "settings {} and {} are for one thing: take one of them out",
                    RESOURCE_GROUP.name, RESOURCE_GROUP_NAME.name
                )));
            }
        };
        Ok(Self {
            subnets: settings::read(&SUBNET_NAMES)?.unwrap_or_default(),
            resource_group,
            allowed_groups: Allowed::read(&ALLOWED_GROUPS)?,
            own_groups: settings::get(&OWN_GROUPS)?,
            outbound_group: settings::read(&OUTBOUND_GROUP)?,
            pauses: Pauses { poll: settings::get(&POLL_INTERVAL)?, create_again: settings::get(&CREATE_AGAIN_AFTER)? },
        })
    }

    /// Whether the resource manager is asked.
    pub(crate) fn names_resource_group(&self) -> bool {
        matches!(self.resource_group, IbmResourceGroup::Named(_))
    }

    /// The id of the resource group of what is made; `None` for the account's default. Of one that is known by its id nobody is asked.
    ///
    /// # Errors
    ///
    /// `invalid` unless the account has exactly one of this name, `denied` without the endpoint or the right to it; whatever the cloud answered.
    pub(crate) fn resource_group(&self, account: &str) -> Result<Option<String>> {
        let name = match &self.resource_group {
            IbmResourceGroup::Usual => return Ok(None),
            IbmResourceGroup::Id(id) => return Ok(Some(id.clone())),
            IbmResourceGroup::Named(name) => name,
        };
        let (own, by_id) = (RESOURCE_GROUP_NAME.name, RESOURCE_GROUP.name);
        let mut found = resource_groups::named(account, name).map_err(|error| match error {
            Error::Denied(why) => Error::denied(format_args!(
                "setting {own} needs endpoint {MANAGER} with GET /resource_groups, and a credential that may look at the group; write \
                 {by_id} in its place and nobody is asked: {why}"
            )),
            other => other,
        })?;
        match found.len() {
            1 => Ok(found.pop()),
            0 => Err(Error::invalid(format_args!(
                "setting {own}: account {account} has no resource group {name:?}, or the credential lacks the role Viewer on it"
            ))),
            count => Err(Error::invalid(format_args!(
                "setting {own}: account {account} has {count} resource groups {name:?}: write {by_id} with the id of one"
            ))),
        }
    }

    /// Whether a load balancer has a place.
    ///
    /// # Errors
    ///
    /// `invalid`, if no subnet is configured.
    pub(crate) fn can_create(&self) -> Result<()> {
        if self.subnets.is_empty() {
            return Err(Error::invalid(format_args!(
                "setting {} is missing, and so load balancers have no place: write it under provider.settings",
                SUBNET_NAMES.name
            )));
        }
        Ok(())
    }
}

fn item(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
