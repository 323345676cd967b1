//! Subscriptions that tests begin with: that in which the recordings were made.

use serde_json::{Value, json};

use super::kind::Kind;
use super::power::view;
use super::world::World;

/// The subscription of the cluster.
pub const SUBSCRIPTION: &str = "11111111-2222-3333-4444-555555555555";
/// The resource group of the cluster.
pub const GROUP: &str = "rg1";
/// The region of the cluster.
pub const LOCATION: &str = "westeurope";
/// The kind of the cluster's machines.
const SIZE: &str = "Standard_D2s_v5";

/// The id of a resource of the cluster's group, from its namespace on: `Microsoft.Network/loadBalancers/kubernetes`.
#[must_use]
pub fn id(rest: &str) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/{rest}")
}

/// The internal address of the machine with this number: 10.240.0.4 for number 1.
#[must_use]
pub fn machine_address(number: u32) -> String {
    let [.., high, low] = (number + 3).to_be_bytes();
    format!("10.240.{high}.{low}")
}

impl World {
    /// Puts a resource group with a virtual network of two subnets and a security group, where nothing else is.
    pub fn build_plain(&mut self) {
        self.add_subscription(SUBSCRIPTION);
        self.add_group(SUBSCRIPTION, GROUP, LOCATION);
        let subnet = |name: &str, range: &str| json!({ "name": name, "properties": { "addressPrefix": range } });
        self.insert(
            Kind::Network,
            &id("Microsoft.Network/virtualNetworks/vnet1"),
            json!({ "location": LOCATION, "properties": {
                "resourceGuid": uuid::Uuid::new_v4().to_string(),
                "addressSpace": { "addressPrefixes": ["10.240.0.0/16"] },
                "subnets": [subnet("subnet1", "10.240.0.0/16"), subnet("subnet2", "10.241.0.0/16")],
            } }),
        );
        self.insert(
            Kind::SecurityGroup,
            &id("Microsoft.Network/networkSecurityGroups/nsg1"),
            json!({ "location": LOCATION, "properties": { "securityRules": [], "defaultSecurityRules": [] } }),
        );
    }

    /// Adds a running machine of the number, with its interface. The first has a public address, too. Answers its id.
    pub fn add_machine(&mut self, number: u32, name: &str) -> String {
        let machine = id(&format!("Microsoft.Compute/virtualMachines/{name}"));
        let public = (number == 1).then(|| {
            let address = id(&format!("Microsoft.Network/publicIPAddresses/{name}-ip"));
            self.insert(
                Kind::PublicIp,
                &address,
                json!({ "location": LOCATION, "sku": { "name": "Standard" }, "properties": {
                    "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "idleTimeoutInMinutes": 4,
                    "ipAddress": "20.1.1.1",
                } }),
            );
            address
        });
        let interface = id(&format!("Microsoft.Network/networkInterfaces/{name}-nic"));
        self.add_interface(Kind::Interface, &interface, number, public.as_deref());
        self.insert(
            Kind::Machine,
            &machine,
            json!({ "location": LOCATION, "zones": [(number.wrapping_sub(1) % 3 + 1).to_string()], "tags": {}, "properties": {
                "vmId": uuid::Uuid::new_v4().to_string(), "hardwareProfile": { "vmSize": SIZE },
                "osProfile": { "computerName": name },
                "networkProfile": { "networkInterfaces": [{ "id": interface, "properties": { "primary": true } }] },
                "instanceView": view("running", u64::from(number % 2)),
            } }),
        );
        machine
    }

    /// Adds a machine of a flexible scale set, which is made if it is not there. Answers its id.
    pub fn add_flexible_machine(&mut self, set: &str, number: u32, name: &str) -> String {
        let set_id = id(&format!("Microsoft.Compute/virtualMachineScaleSets/{set}"));
        if self.get(&set_id).is_none() {
            self.insert(
                Kind::ScaleSet,
                &set_id,
                json!({ "location": LOCATION, "sku": { "name": SIZE }, "properties": {
                    "orchestrationMode": "Flexible", "virtualMachineProfile": { "osProfile": { "computerNamePrefix": set } },
                } }),
            );
        }
        let machine = self.add_machine(number, name);
        if let Some(it) = self.get_mut(&machine) {
            it["properties"]["virtualMachineScaleSet"] = json!({ "id": set_id });
        }
        machine
    }

    /// Adds a uniform scale set without machines. Answers its id.
    pub fn add_scale_set(&mut self, name: &str) -> String {
        let set = id(&format!("Microsoft.Compute/virtualMachineScaleSets/{name}"));
        let configuration = json!({ "name": "nic0", "properties": {
            "primary": true, "networkSecurityGroup": { "id": id("Microsoft.Network/networkSecurityGroups/nsg1") },
            "ipConfigurations": [configuration()],
        } });
        self.insert(
            Kind::ScaleSet,
            &set,
            json!({ "location": LOCATION, "zones": ["1", "2"], "sku": { "name": SIZE, "capacity": 2 }, "properties": {
                "orchestrationMode": "Uniform",
                "virtualMachineProfile": { "networkProfile": { "networkInterfaceConfigurations": [configuration] } },
            } }),
        );
        set
    }

    /// Adds a machine of a uniform scale set: `pool1000002` is the name of instance 2 of `pool1`, and 10.240.0.6 its address. Answers
    /// its id.
    pub fn add_instance(&mut self, set: &str, instance: u32) -> String {
        let machine = id(&format!("Microsoft.Compute/virtualMachineScaleSets/{set}/virtualMachines/{instance}"));
        let interface = format!("{machine}/networkInterfaces/nic0");
        self.add_interface(Kind::ScaleSetInterface, &interface, instance + 1, None);
        if let Some(it) = self.get_mut(&interface) {
            it["properties"]["virtualMachine"] = json!({ "id": machine });
        }
        self.insert(
            Kind::ScaleSetMachine,
            &machine,
            json!({
                "location": LOCATION, "instanceId": instance.to_string(), "zones": [(instance % 3 + 1).to_string()],
                "sku": { "name": SIZE, "tier": "Standard" },
                "properties": {
                    "vmId": uuid::Uuid::new_v4().to_string(), "latestModelApplied": true, "hardwareProfile": {},
                    "osProfile": { "computerName": format!("{set}{instance:06}") },
                    "networkProfile": { "networkInterfaces": [{ "id": interface, "properties": { "primary": true } }] },
                    "networkProfileConfiguration": { "networkInterfaceConfigurations": [{ "name": "nic0", "properties": {
                        "primary": true, "ipConfigurations": [configuration()],
                    } }] },
                    "instanceView": view("running", 0),
                },
            }),
        );
        machine
    }

    fn add_interface(&mut self, kind: Kind, interface: &str, number: u32, public: Option<&str>) {
        let mut properties = json!({
            "primary": true, "privateIPAddress": machine_address(number), "privateIPAddressVersion": "IPv4",
            "subnet": { "id": id("Microsoft.Network/virtualNetworks/vnet1/subnets/subnet1") },
        });
        // Those of scale sets do not say how.
        if kind == Kind::Interface {
            properties["privateIPAllocationMethod"] = json!("Dynamic");
        }
        if let Some(public) = public {
            properties["publicIPAddress"] = json!({ "id": public });
        }
        self.insert(
            kind,
            interface,
            json!({ "location": LOCATION, "properties": {
                "primary": true, "networkSecurityGroup": { "id": id("Microsoft.Network/networkSecurityGroups/nsg1") },
                "ipConfigurations": [{ "name": "ipc", "properties": properties }],
            } }),
        );
    }
}

/// The configuration of an interface in a scale set.
fn configuration() -> Value {
    json!({ "name": "ipc", "properties": {
        "primary": true, "privateIPAddressVersion": "IPv4",
        "subnet": { "id": id("Microsoft.Network/virtualNetworks/vnet1/subnets/subnet1") },
    } })
}
