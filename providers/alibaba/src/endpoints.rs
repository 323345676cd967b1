//! The endpoints: what their requests do, and which actions of RAM they need.

use aerostat_sdk::{Effect, Endpoint, OperationPlace};

use crate::api::{AcsProduct, ECS, VPC};

/// The region that stands for any before one is configured.
const EXAMPLE: &str = "cn-hangzhou";

/// Machines, their network interfaces, and disks.
pub(crate) fn ecs(region: Option<&str>) -> Endpoint {
    const FORWARD: &str = "ModifyNetworkInterfaceAttribute";
    let reads = ["DescribeInstances", "DescribeNetworkInterfaces", "DescribeDisks"];
    reading(endpoint(ECS, "machines, their network interfaces, and disks", region), ECS, &reads)
        .allow_operations(Effect::Update, [FORWARD], [&*ECS.ram_action(FORWARD)])
        .only_values("NetworkInterfaceId", ["eni-*"])
        .only_values("SourceDestCheck", ["false"])
}

/// The network of the cluster, and its route table.
pub(crate) fn vpc(region: Option<&str>, table: Option<&str>) -> Endpoint {
    let reads = ["DescribeVpcAttribute", "DescribeRouteTableList", "DescribeRouteEntryList"];
    let entry = |name: &str| format!("RouteEntries.*.{name}");
    let tables = [table.unwrap_or("vtb-*")];
    let fields = ["DstCidrBlock", "NextHop", "NextHopType", "Description"].map(entry);
    let endpoint = reading(endpoint(VPC, "the network of the cluster, and its route table", region), VPC, &reads);
    let (create, delete) = ("CreateRouteEntries", "DeleteRouteEntries");
    endpoint
        .allow_operations(Effect::Update, [create], [&*VPC.ram_action(create)])
        .only(fields.iter().map(String::as_str))
        .only_values(&entry("RouteTableId"), tables)
        .allow_operations(Effect::Detach, [delete], [&*VPC.ram_action(delete)])
        .only([&*entry("RouteEntryId")])
        .only_values(&entry("RouteTableId"), tables)
}

fn endpoint(product: AcsProduct, purpose: &str, region: Option<&str>) -> Endpoint {
    let region = region.unwrap_or(EXAMPLE);
    let example = format!("https://{}.{region}.aliyuncs.com", product.endpoint);
    let endpoint = Endpoint::new(product.endpoint, purpose, example).parameter(AcsProduct::REGION, region);
    Endpoint { operation: Some(OperationPlace::Header(AcsProduct::ACTION.to_owned())), ..endpoint }
}

/// Allows operations that read, with whatever they carry.
fn reading(endpoint: Endpoint, product: AcsProduct, operations: &[&str]) -> Endpoint {
    let actions: Vec<_> = operations.iter().map(|it| product.ram_action(it)).collect();
    endpoint.allow_operations(Effect::Read, operations.iter().copied(), actions.iter().map(String::as_str))
}
