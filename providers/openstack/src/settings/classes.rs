//! Classes of load balancers: networks and subnets under a name that Services choose.

use aerostat_sdk::form::Custom;
use aerostat_sdk::{Result, settings};
use openstack_api::ID;

use super::balancers::{NetworkChoice, PATTERN, TAGS};

aerostat_sdk::table! {
    /// Those of classes.
    pub(crate) const TABLE;
    NETWORK: Custom<String> = ("loadBalancers.classes.*.networkID", ID, "The network of the addresses of a class.");
    SUBNET: Custom<String> = ("loadBalancers.classes.*.subnetID", ID, "The subnet of the addresses of a class.");
    MEMBER_SUBNET: Custom<String> = ("loadBalancers.classes.*.memberSubnetID", ID, "The subnet from which nodes are reached, of a class.");
    FLOATING_NETWORK: Custom<String> = ("loadBalancers.classes.*.floatingNetworkID", ID,
        "The external network of floating IPs of a class. It wins over annotations.");
    FLOATING_SUBNET_ID: Custom<String> = ("loadBalancers.classes.*.floatingSubnetID", ID,
        "The subnet of floating IPs of a class. It wins over annotations.");
    FLOATING_SUBNET: Custom<String> = ("loadBalancers.classes.*.floatingSubnet", PATTERN,
        "Which subnets floating IPs of a class are taken from, by name. It wins over annotations.");
    FLOATING_TAGS: Custom<String> = ("loadBalancers.classes.*.floatingSubnetTags", TAGS,
        "Which subnets floating IPs of a class are taken from, by tags. It wins over annotations.");
}

/// The networks of one class.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct LoadBalancerClassSettings {
    /// Where addresses come from.
    pub(crate) networks: NetworkChoice,
}

impl LoadBalancerClassSettings {
    /// The class of this name; `None` if the operator has written none.
    ///
    /// # Errors
    ///
    /// `invalid`, naming a setting of any class, its value and the allowed values.
    pub(crate) fn find(class: &str) -> Result<Option<Self>> {
        let mut found = None;
        let mut take = |key, put: fn(&mut NetworkChoice, String)| -> Result<()> {
            for (name, value) in settings::read_each::<String, _>(key)? {
                if name == class {
                    let it: &mut Self = found.get_or_insert_default();
                    put(&mut it.networks, value);
                }
            }
            Ok(())
        };
        take(&NETWORK, |it, value| it.network = Some(value))?;
        take(&SUBNET, |it, value| it.subnet = Some(value))?;
        take(&MEMBER_SUBNET, |it, value| it.member_subnet = Some(value))?;
        take(&FLOATING_NETWORK, |it, value| it.floating_network = Some(value))?;
        take(&FLOATING_SUBNET_ID, |it, value| it.floating_subnet.id = Some(value))?;
        take(&FLOATING_SUBNET, |it, value| it.floating_subnet.pattern = Some(value))?;
        take(&FLOATING_TAGS, |it, value| it.floating_subnet.tags = Some(value))?;
        Ok(found)
    }
}
