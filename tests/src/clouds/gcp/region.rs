//! Projects that tests begin with: those that the recordings were made in.

use serde_json::json;

use super::collection::Collection;
use super::place::{Place, Scope, link};
use super::world::World;

/// The project of the cluster's machines.
pub const PROJECT: &str = "p1";
/// The project of a shared network.
pub const NETWORK_PROJECT: &str = "shared";
/// The region of the cluster.
pub const REGION: &str = "europe-west1";

impl World {
    /// Puts two projects, each with a network and its subnets in a region of three zones, where nothing is. There is a second region.
    pub fn build_plain(&mut self) {
        self.add_region(REGION, &["b", "c", "d"]);
        self.add_region("us-east1", &["b"]);
        for project in [PROJECT, NETWORK_PROJECT] {
            self.add_project(project);
            let global = Place::global(project);
            let region = Place::region(project, REGION);
            let subnet = |name: &str| link(&region.path(Collection::Subnetworks, name));
            let network = self.insert(
                &global,
                Collection::Networks,
                json!({
                    "name": "default", "autoCreateSubnetworks": true, "subnetworks": [subnet("default"), subnet("other")],
                    "routingConfig": { "routingMode": "REGIONAL" },
                }),
            );
            for (name, range, gateway) in
                [("default", "10.132.0.0/20", "10.132.0.1"), ("other", "10.133.0.0/20", "10.133.0.1")]
            {
                self.insert(
                    &region,
                    Collection::Subnetworks,
                    json!({ "name": name, "ipCidrRange": range, "gatewayAddress": gateway, "network": link(&network) }),
                );
            }
        }
    }

    /// Adds what the recordings begin with beside: two machines, and an address of a person.
    pub fn build_recorded(&mut self) {
        self.build_plain();
        for (number, zone) in [(1, "b"), (2, "c")] {
            let place = Place::zone(PROJECT, &format!("{REGION}-{zone}"));
            self.add_machine(&place, number, &format!("node-{number}"));
        }
        self.insert(
            &Place::region(PROJECT, REGION),
            Collection::Addresses,
            json!({ "name": "mine", "address": "203.0.113.200", "addressType": "EXTERNAL", "networkTier": "PREMIUM" }),
        );
    }

    /// Adds a running machine of the number in the default network: number 1 has 10.132.0.2 and 198.51.100.2.
    pub fn add_machine(&mut self, place: &Place, number: u32, name: &str) -> String {
        let region = match &place.scope {
            Scope::Zone(zone) => self.region_of(zone).unwrap_or_default().to_owned(),
            Scope::Global | Scope::Region(_) => String::new(),
        };
        let subnet = link(&format!("projects/{}/regions/{region}/subnetworks/default", place.project));
        let [.., high, low] = (number + 1).to_be_bytes();
        let address = machine_address(number);
        let nic = json!({
            "name": "nic0", "network": link(&format!("projects/{}/global/networks/default", place.project)),
            "subnetwork": subnet, "networkIP": address, "stackType": "IPV4_ONLY",
            "accessConfigs": [{
                "type": "ONE_TO_ONE_NAT", "name": "External NAT", "networkTier": "PREMIUM",
                "natIP": format!("198.51.{}.{low}", 100 + u32::from(high)),
            }],
        });
        let body = json!({
            "name": name, "status": "RUNNING", "canIpForward": true, "networkInterfaces": [nic],
            "machineType": link(&format!("{place}/machineTypes/e2-standard-2")), "tags": { "items": ["k8s-node"] },
            "labels": { "goog-k8s-cluster-name": "kubernetes" },
        });
        self.insert(place, Collection::Instances, body)
    }
}

/// The internal address of the machine with this number: 10.132.0.2 for number 1.
#[must_use]
pub fn machine_address(number: u32) -> String {
    let [.., high, low] = (number + 1).to_be_bytes();
    format!("10.132.{high}.{low}")
}
