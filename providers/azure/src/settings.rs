//! The settings of the provider. They are called as the vendor's controller calls them in `azure.json`.

pub(crate) mod balancers;
pub(crate) mod several;
mod words;

use aerostat_sdk::form::{Custom, OneOf};
use aerostat_sdk::{Result, settings};

use self::words::{GROUP, NAME, SUBSCRIPTION};
use crate::id::{ResourceId, same};

aerostat_sdk::table! {
    /// Those about subscriptions, groups, networks and machines.
    pub(crate) const ACCOUNT;
    SUBSCRIPTION_ID: Custom<String> = ("subscriptionId", SUBSCRIPTION, "The subscription of the cluster's machines.").required();
    RESOURCE_GROUP: Custom<String> = ("resourceGroup", GROUP, "The resource group of the cluster's machines.").required();
    LOCATION: Custom<String> = ("location", Custom::slug("the name of a region such as westeurope"),
        "The region of the cluster.").required();
    NETWORK_SUBSCRIPTION: Custom<String> = ("networkResourceSubscriptionID", SUBSCRIPTION,
        "The subscription of the virtual network and of everything that is made for Services.").otherwise("the value of subscriptionId");
    VNET: Custom<String> = ("vnetName", NAME, "The virtual network of the cluster.");
    VNET_GROUP: Custom<String> = ("vnetResourceGroup", GROUP, "The resource group of the virtual network.")
        .otherwise("the value of resourceGroup");
    VM_TYPE: OneOf<bool> = ("vmType", OneOf(&[("vmss", true), ("vmssflex", true), ("standard", false)]),
        "Whether there are scale sets: with standard nobody asks for them.").default("vmss");
    ROUTE_TABLE: Custom<String> = ("routeTableName", NAME, "The route table for pods.");
    ROUTE_TABLE_GROUP: Custom<String> = ("routeTableResourceGroup", GROUP, "The resource group of the route table.")
        .otherwise("the value of resourceGroup");
}

/// The provider id of every object of Azure Resource Manager begins with these places.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct AccountSettings {
    /// The machines' subscription.
    pub(crate) subscription: String,
    /// The machines' resource group.
    pub(crate) group: String,
    /// The region, in lower case: "westeurope".
    pub(crate) location: String,
    /// The network's subscription.
    pub(crate) network_subscription: String,
    /// The name of the virtual network.
    pub(crate) vnet: Option<String>,
    /// The resource group of the virtual network.
    pub(crate) vnet_group: String,
    /// Whether scale sets are asked for.
    pub(crate) has_scale_sets: bool,
    /// The name of the route table.
    pub(crate) route_table: Option<String>,
    /// The resource group of the route table.
    pub(crate) route_table_group: String,
}

impl AccountSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let subscription = settings::get(&SUBSCRIPTION_ID)?;
        let group = settings::get(&RESOURCE_GROUP)?;
        Ok(Self {
            location: settings::get(&LOCATION)?,
            network_subscription: settings::read(&NETWORK_SUBSCRIPTION)?.unwrap_or_else(|| subscription.clone()),
            vnet: settings::read(&VNET)?,
            vnet_group: settings::read(&VNET_GROUP)?.unwrap_or_else(|| group.clone()),
            has_scale_sets: settings::get(&VM_TYPE)?,
            route_table: settings::read(&ROUTE_TABLE)?,
            route_table_group: settings::read(&ROUTE_TABLE_GROUP)?.unwrap_or_else(|| group.clone()),
            subscription,
            group,
        })
    }

    /// An id that the API has shown, with the machines' group as the settings spell it: the operator's rules name that one, and the API
    /// spells groups in any case.
    pub(crate) fn spelled(&self, id: ResourceId) -> ResourceId {
        let group = if same(&id.group, &self.group) { self.group.clone() } else { id.group };
        ResourceId { group, ..id }
    }

    /// An object of Microsoft.Compute in the machines' group.
    pub(crate) fn compute(&self, words: &[&str]) -> ResourceId {
        ResourceId::new(&self.subscription, &self.group, "Microsoft.Compute", words)
    }

    /// An object of Microsoft.Network in a group of the network's subscription.
    pub(crate) fn network(&self, group: &str, words: &[&str]) -> ResourceId {
        ResourceId::new(&self.network_subscription, group, "Microsoft.Network", words)
    }
}

/// Whether a subscription is named. One that is missing is the host's to refuse: it asks for the description of a module before anything
/// is configured, too.
///
/// # Errors
///
/// `invalid`, if it is none.
pub(crate) fn has_subscription() -> Result<bool> {
    settings::read(&SUBSCRIPTION_ID).map(|it| it.is_some())
}
