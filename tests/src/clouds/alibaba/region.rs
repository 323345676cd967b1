//! The account that tests begin with: that of the recordings.

use serde_json::{Value, json};

use super::world::World;

/// The number of the account of everybody.
pub const ACCOUNT: u64 = 1_234_567_890_123_456;
/// The account after [`crate::simulator::Simulator::set_owner`] has said that it is another.
pub const OTHER_ACCOUNT: u64 = 6_543_210_987_654_321;
/// The region of the cluster.
pub const REGION: &str = "cn-hangzhou";
/// The cluster's id at the vendor's.
pub const CLUSTER: &str = "c1234567890abcdef";
/// The VPC of the cluster's machines.
pub const VPC: &str = "vpc-1";
/// The only route table of that.
pub const ROUTE_TABLE: &str = "vtb-1";
/// The zones of Network Load Balancers, with their vSwitches, as an annotation names them.
pub const ZONES: &str = "cn-hangzhou-b:vsw-b,cn-hangzhou-g:vsw-g";

/// vSwitches with their zones and networks.
const SWITCHES: [(&str, &str, &str); 2] =
    [("vsw-b", "cn-hangzhou-b", "10.0.0.0/16"), ("vsw-g", "cn-hangzhou-g", "10.1.0.0/16")];

impl World {
    /// Puts a VPC with its vSwitches and its route table, where nothing is.
    pub(super) fn build_plain(&mut self) {
        self.put_vpc(VPC, ROUTE_TABLE);
        for (id, zone, cidr) in SWITCHES {
            self.put_switch(id, zone, cidr);
        }
    }

    /// Puts a vSwitch into a zone of the VPC.
    pub fn put_switch(&mut self, id: &str, zone: &str, cidr: &str) {
        let made = self.time();
        let body = json!({
            "VSwitchId": id, "VSwitchName": id, "VpcId": VPC, "ZoneId": zone, "CidrBlock": cidr, "Status": "Available",
            "AvailableIpAddressCount": 60_000, "IsDefault": false,
        });
        self.switches.put(id, made, body);
    }

    /// Puts a VPC with a route table.
    pub fn put_vpc(&mut self, vpc: &str, table: &str) {
        let (made, owner) = (self.time(), self.owner);
        let body = json!({
            "VpcId": vpc, "VpcName": vpc, "RegionId": REGION, "CidrBlock": "10.0.0.0/8", "Status": "Available",
            "OwnerId": owner, "IsDefault": false, "VRouterId": format!("vrt-{vpc}"),
        });
        self.vpcs.put(vpc, made, body);
        self.put_route_table(vpc, table, "System");
    }

    /// Puts a route table.
    pub fn put_route_table(&mut self, vpc: &str, table: &str, kind: &str) {
        let (made, owner) = (self.time(), self.owner);
        let body = json!({
            "RouteTableId": table, "VpcId": vpc, "RouteTableType": kind, "Status": "Available", "OwnerId": owner,
            "AssociateType": "VSwitch",
        });
        self.route_tables.put(table, made, body);
    }

    /// Adds a running machine with this number, in the place of one that has it, in both zones in turn.
    pub fn add_machine(&mut self, number: u64, name: &str) {
        let (id, address, interface) = (machine_id(number), machine_address(number), format!("eni-{number}"));
        self.remove_machine(&id);
        let (switch, zone, _) = SWITCHES[usize::from(number.is_multiple_of(2))];
        let made = self.time();
        let private = json!({ "PrivateIpSet": [{ "PrivateIpAddress": address, "Primary": true }] });
        let body = json!({
            "InstanceId": id, "InstanceName": name, "HostName": name, "InstanceType": "ecs.g7.large", "Status": "Running",
            "ZoneId": zone, "RegionId": REGION, "PublicIpAddress": { "IpAddress": [] },
            "EipAddress": { "IpAddress": "", "AllocationId": "" }, "InnerIpAddress": { "IpAddress": [] },
            "VpcAttributes": { "VpcId": VPC, "VSwitchId": switch, "PrivateIpAddress": { "IpAddress": [address] } },
            "NetworkInterfaces": { "NetworkInterface": [{
                "NetworkInterfaceId": interface, "Type": "Primary", "PrimaryIpAddress": address, "Ipv6Sets": { "Ipv6Set": [] },
                "PrivateIpSets": private,
            }] },
            "InstanceChargeType": "PostPaid", "SpotStrategy": "NoSpot", "InstanceNetworkType": "vpc",
            "Tags": { "Tag": [{ "TagKey": "ack.alibabacloud.com/nodepool-id", "TagValue": "np1" }] },
        });
        self.instances.put(&id, made, body);
        let body = json!({
            "NetworkInterfaceId": interface, "Type": "Primary", "Status": "InUse", "VpcId": VPC, "VSwitchId": switch,
            "ZoneId": zone, "PrivateIpAddress": address, "SourceDestCheck": true, "InstanceId": id,
            "PrivateIpSets": private, "Ipv6Sets": { "Ipv6Set": [] }, "Tags": { "Tag": [] },
        });
        self.interfaces.put(&interface, made, body);
    }

    /// Takes a machine away with its interface.
    pub fn remove_machine(&mut self, id: &str) {
        self.instances.remove(id);
        self.interfaces.remove_all(|it| it["InstanceId"] == *id);
    }

    /// Adds a Classic Load Balancer with these tags that nobody here has made.
    pub fn add_foreign(&mut self, name: &str, tags: &[(&str, &str)]) -> String {
        let tags: Vec<Value> = tags.iter().map(|(key, value)| json!({ "TagKey": key, "TagValue": value })).collect();
        self.put_balancer(json!({ "LoadBalancerName": name, "AddressType": "internet", "Tags": tags }))
    }
}

/// The id of the machine with this number.
#[must_use]
pub fn machine_id(number: u64) -> String {
    format!("i-bp{number}")
}

/// The address of the machine with this number: 10.0.0.11 for number 1.
#[must_use]
pub fn machine_address(number: u64) -> String {
    let [.., high, low] = (number + 10).to_be_bytes();
    format!("10.0.{high}.{low}")
}
