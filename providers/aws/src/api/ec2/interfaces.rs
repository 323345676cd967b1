//! Network interfaces (`DescribeNetworkInterfaces`): what shows of a pod of Fargate.

use super::FILTER_VALUES;
use crate::api::{AwsRefusal, EC2};

/// A network interface that is attached to something.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct NetworkInterface {
    pub(crate) address: String,
    pub(crate) zone: Option<String>,
    pub(crate) zone_id: Option<String>,
    pub(crate) private_dns: Option<String>,
}

/// The attached interfaces of a VPC with these private addresses.
pub(crate) fn attached(vpc: &str, addresses: &[&String]) -> Result<Vec<NetworkInterface>, AwsRefusal> {
    let mut found = Vec::new();
    for addresses in addresses.chunks(FILTER_VALUES) {
        let form = EC2
            .action("DescribeNetworkInterfaces")
            .filter("attachment.status", ["attached"])
            .filter("vpc-id", [vpc])
            .filter("private-ip-address", addresses);
        EC2.each(form, &["networkInterfaceSet", "item"], |item| {
            let text = |name: &str| item.text(&[name]).map(str::to_owned);
            found.push(NetworkInterface {
                address: text("privateIpAddress").unwrap_or_default(),
                zone: text("availabilityZone"),
                zone_id: text("availabilityZoneId"),
                private_dns: text("privateDnsName"),
            });
        })?;
    }
    Ok(found)
}
