//! Accounts that tests begin with: those that the recordings were made in.

use serde_json::{Value, json};

use super::kind::VpcKind;
use super::world::World;

/// The account of everybody.
pub const ACCOUNT: &str = "acc0123456789";
/// The account after [`crate::simulator::Simulator::set_owner`] has said that it is another.
pub const OTHER_ACCOUNT: &str = "acc9876543210";
/// The region of the cluster.
pub const REGION: &str = "us-south";
/// The cluster, as provider ids and names of load balancers have it.
pub const CLUSTER: &str = "c1clusterid";
/// The VPC of the cluster's machines.
pub const VPC: &str = "r006-vpc1";
/// Another one of the account.
pub const OTHER_VPC: &str = "r006-vpc2";

/// Subnets with their zones, networks and VPCs.
const SUBNETS: [(&str, &str, &str, &str, &str); 5] = [
    ("0717-s1", "sub-10", "us-south-1", "10.240.0.0/24", VPC),
    ("0727-s2", "sub-20", "us-south-2", "10.240.1.0/24", VPC),
    ("0737-s3", "sub-30", "us-south-3", "10.240.2.0/24", VPC),
    ("0717-s4", "sub-1", "us-south-1", "10.240.4.0/24", VPC),
    ("0717-s5", "sub-10", "us-south-1", "10.250.0.0/24", OTHER_VPC),
];

/// The ids and the names of resource groups: two have one name.
pub(super) const RESOURCE_GROUPS: [(&str, &str); 3] = [("rg0001", "Default"), ("rg0002", "other"), ("rg0003", "other")];

impl World {
    /// Puts two VPCs with their subnets, where nothing is.
    pub fn build_plain(&mut self) {
        for (id, name) in [(VPC, "vpc1"), (OTHER_VPC, "vpc2")] {
            self.insert(VpcKind::Vpc, json!({ "id": id, "name": name }));
            self.insert(VpcKind::SecurityGroup, json!({ "id": usual_group(id), "name": "group", "vpc": id }));
        }
        for (id, name, zone, cidr, vpc) in SUBNETS {
            let subnet = json!({ "id": id, "name": name, "zone": zone, "cidr": cidr, "vpc": vpc });
            self.insert(VpcKind::Subnet, subnet);
        }
    }

    /// Adds a running machine with this number, in the place of one that has it, in zone us-south-1 to 3 in turn.
    pub fn add_machine(&mut self, number: u32, name: &str) -> String {
        self.add_machine_in(VPC, number, name)
    }

    /// The same in any VPC.
    pub fn add_machine_in(&mut self, vpc: &str, number: u32, name: &str) -> String {
        let (subnet, _, zone, ..) = SUBNETS[(number as usize + 2) % 3];
        let id = machine_id(number);
        self.remove(&id);
        self.insert(
            VpcKind::Instance,
            json!({
                "id": id, "name": name, "zone": zone, "status": "running", "profile": "bx2-4x16", "vpc": vpc, "subnet": subnet,
                "address": machine_address(number), "nic": format!("0717-nic-{number}"), "is_attached": number.is_multiple_of(2),
            }),
        )
    }

    /// Gives a machine a public address.
    pub fn add_floating_ip(&mut self, machine: u32, address: &str) -> String {
        let target = format!("0717-nic-{machine}");
        self.insert(
            VpcKind::FloatingIp,
            json!({ "name": format!("fip-{machine}"), "address": address, "target": target, "zone": "us-south-1" }),
        )
    }

    /// Adds an entry of a VPC's own routing table that nobody here has made, in zone us-south-1: one with this action.
    pub fn add_route(&mut self, vpc: &str, name: &str, destination: &str, action: &str) -> String {
        self.insert(
            VpcKind::Route,
            json!({
                "vpc": vpc, "table": usual_table(vpc), "name": name, "destination": destination, "zone": "us-south-1",
                "action": action, "hop": "0.0.0.0", "priority": 2, "origin": "user",
            }),
        )
    }

    /// Adds a load balancer that nobody here has made, in the first subnet of a VPC.
    pub fn add_foreign(&mut self, vpc: &str, name: &str) -> String {
        let subnet = SUBNETS.iter().find(|it| it.4 == vpc).map_or("", |it| it.0);
        let mut made = balancer(name, &json!([subnet]), "203.0.113.250");
        made["groups"] = json!([usual_group(vpc)]);
        self.insert(VpcKind::LoadBalancer, made)
    }
}

/// A load balancer that is done.
fn balancer(name: &str, subnets: &Value, address: &str) -> Value {
    json!({
        "name": name, "is_public": true, "subnets": subnets, "family": "application", "profile": "dynamic", "group": "rg0001",
        "operating_status": "online", "provisioning_status": "active", "public_ips": [address], "_revision": 1,
    })
}

/// The id of the security group that a VPC has by itself.
pub(super) fn usual_group(vpc: &str) -> String {
    format!("{vpc}-sg")
}

/// The id of the routing table that a VPC has by itself.
pub(super) fn usual_table(vpc: &str) -> String {
    format!("{vpc}-rt")
}

/// The id of the machine with this number.
#[must_use]
pub fn machine_id(number: u32) -> String {
    format!("0717_e21b7391-{number}")
}

/// The address of the machine with this number: 10.240.0.11 for number 1.
#[must_use]
pub fn machine_address(number: u32) -> String {
    let [.., high, low] = (number + 10).to_be_bytes();
    format!("10.240.{high}.{low}")
}
