//! Route tables and their routes.

use aerostat_sdk::SortedMap;

use super::pages;
use crate::api::{AwsRefusal, EC2, Element};
use crate::settings::ClusterMarks;

/// A route table with its IPv4 routes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RouteTable {
    pub(crate) id: String,
    pub(crate) routes: Vec<Ec2Route>,
    pub(crate) tags: Vec<(String, String)>,
}

/// An IPv4 route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Ec2Route {
    pub(crate) destination: String,
    /// The instance that it leads to, if it leads to one.
    pub(crate) instance: Option<String>,
    /// Whether it leads to something else than an instance or a network interface: a gateway, a peering, the VPC itself.
    pub(crate) has_other_target: bool,
    /// The network interface that it leads to: an instance's own too.
    pub(crate) interface: Option<String>,
    /// Whether somebody made it, and not the table itself or a gateway.
    pub(crate) is_made: bool,
    /// Whether it leads nowhere.
    pub(crate) is_blackhole: bool,
}

/// Targets of routes that are no machines.
const OTHER_TARGETS: [&str; 9] = [
    "carrierGatewayId",
    "coreNetworkArn",
    "egressOnlyInternetGatewayId",
    "gatewayId",
    "localGatewayId",
    "natGatewayId",
    "odbNetworkArn",
    "transitGatewayId",
    "vpcPeeringConnectionId",
];

/// The route table with this id; `None`, if there is none.
pub(crate) fn find(id: &str) -> Result<Option<RouteTable>, AwsRefusal> {
    let mut found = Vec::new();
    let form = EC2.action("DescribeRouteTables").filter("route-table-id", [id]);
    EC2.each(form, &["routeTableSet", "item"], |it| found.push(read(&it)))?;
    Ok(found.into_iter().find(|it| it.id == id))
}

/// The route tables of the VPC with the cluster's tag.
pub(crate) fn tagged(cluster: &ClusterMarks) -> Result<Vec<RouteTable>, AwsRefusal> {
    let mut found = Vec::new();
    let keys = [Some(cluster.tag()), cluster.has_legacy_tag.then(|| ClusterMarks::LEGACY_TAG.to_owned())];
    let form = EC2.action("DescribeRouteTables").filter("vpc-id", [&cluster.vpc]);
    let form = form.filter("tag-key", keys.into_iter().flatten());
    EC2.each(form, &["routeTableSet", "item"], |it| found.push(read(&it)))?;
    found.retain(|it: &RouteTable| it.tags.iter().any(|(key, value)| cluster.owns(key, value)));
    Ok(found)
}

/// Which subnets of a VPC are public: there is a route to an internet gateway in their route table.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PublicSubnets {
    /// The answer for each subnet that has a route table of its own.
    by_subnet: SortedMap<String, bool>,
    /// The answer for all others: those of the main route table.
    others: Option<bool>,
}

impl PublicSubnets {
    /// Whether a subnet is public; `None`, if EC2 shows no route table of it.
    pub(crate) fn has(&self, subnet: &str) -> Option<bool> {
        self.by_subnet.get(subnet).copied().or(self.others)
    }
}

/// Which subnets of a VPC are public.
pub(crate) fn public_subnets(vpc: &str) -> Result<PublicSubnets, AwsRefusal> {
    let mut found = PublicSubnets::default();
    let form = EC2.action("DescribeRouteTables").filter("vpc-id", [vpc]);
    pages(&form, &["routeTableSet", "item"], &mut |item| {
        let is_public =
            item.items("routeSet").any(|it| it.text(&["gatewayId"]).is_some_and(|it| it.starts_with("igw-")));
        for association in item.items("associationSet") {
            match association.text(&["subnetId"]) {
                Some(subnet) => _ = found.by_subnet.insert(subnet.to_owned(), is_public),
                None if association.text(&["main"]) == Some("true") => found.others = Some(is_public),
                None => {}
            }
        }
    })?;
    Ok(found)
}

/// Makes a route to an instance where there is none to this destination.
pub(crate) fn create(table: &str, destination: &str, instance: &str) -> Result<(), AwsRefusal> {
    write("CreateRoute", table, destination, Some(instance))
}

/// Lets the route to this destination lead to an instance.
pub(crate) fn replace(table: &str, destination: &str, instance: &str) -> Result<(), AwsRefusal> {
    write("ReplaceRoute", table, destination, Some(instance))
}

/// Deletes the route to this destination.
pub(crate) fn delete(table: &str, destination: &str) -> Result<(), AwsRefusal> {
    write("DeleteRoute", table, destination, None)
}

/// Lets an instance forward packets that are not for itself.
pub(crate) fn forward(instance: &str) -> Result<(), AwsRefusal> {
    let form = EC2.action("ModifyInstanceAttribute").with("InstanceId", instance);
    EC2.call(form.with("SourceDestCheck.Value", "false")).map(drop)
}

fn write(action: &str, table: &str, destination: &str, instance: Option<&str>) -> Result<(), AwsRefusal> {
    let form = EC2.action(action).with("RouteTableId", table).with("DestinationCidrBlock", destination);
    EC2.call(form.with_some("InstanceId", instance)).map(drop)
}

fn read(it: &Element) -> RouteTable {
    RouteTable {
        id: it.text(&["routeTableId"]).unwrap_or_default().to_owned(),
        routes: it.items("routeSet").filter_map(route).collect(),
        tags: it.tags(),
    }
}

/// `None` for a route to an IPv6 network or to a list of networks.
fn route(it: &Element) -> Option<Ec2Route> {
    let text = |name: &str| it.text(&[name]).map(str::to_owned);
    Some(Ec2Route {
        destination: text("destinationCidrBlock")?,
        instance: text("instanceId"),
        has_other_target: OTHER_TARGETS.iter().any(|name| text(name).is_some()),
        interface: text("networkInterfaceId"),
        is_made: text("origin").as_deref() == Some("CreateRoute"),
        is_blackhole: text("state").as_deref() == Some("blackhole"),
    })
}
