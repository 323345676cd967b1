//! References from one resource to another, the other way round.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::id::key;
use super::kind::Kind;
use super::ongoing::Stored;
use super::world::{World, elements, parts, referred, text};

/// The meaning of a reference.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Tie {
    /// An interface's configuration, or a frontend, has this address.
    Address,
    /// An interface's configuration is in this pool.
    Member,
    /// A model of a scale set is in this pool.
    Model,
    /// A configuration, or a frontend, is in this subnet.
    InSubnet,
    /// An interface has this security group.
    InterfaceRules,
    /// A subnet has this security group.
    SubnetRules,
    /// A subnet has this route table.
    Table,
    /// A machine has this interface.
    Interface,
    /// A machine has this disk.
    Disk,
    /// A machine is in this availability set.
    InSet,
    /// A Private Link service leads to this frontend.
    Linked,
    /// A Private Link service has addresses of this subnet.
    LinkSubnet,
    /// An address comes from this prefix.
    OfPrefix,
}

/// The ids of those that refer to something, by what it is.
#[derive(Debug, Default)]
pub(super) struct References(BTreeMap<(Tie, String), Vec<String>>);

impl References {
    /// The ids of those that refer so to this.
    pub(super) fn of(&self, tie: Tie, id: &str) -> &[String] {
        self.0.get(&(tie, key(id))).map(Vec::as_slice).unwrap_or_default()
    }

    /// The first of them.
    pub(super) fn first(&self, tie: Tie, id: &str) -> Option<&str> {
        self.of(tie, id).first().map(String::as_str)
    }

    /// The same as a list of references.
    pub(super) fn shown(&self, tie: Tie, id: &str) -> Value {
        self.of(tie, id).iter().map(|it| json!({ "id": it })).collect()
    }

    fn add(&mut self, tie: Tie, target: &str, from: &str) {
        if !target.is_empty() {
            self.0.entry((tie, key(target))).or_default().push(from.to_owned());
        }
    }

    fn collect(&mut self, stored: &Stored) {
        let body = &stored.body;
        let (id, properties) = (text(body, "id"), &body["properties"]);
        match stored.kind {
            Kind::Interface | Kind::ScaleSetInterface => {
                self.add(Tie::InterfaceRules, referred(properties, "networkSecurityGroup"), id);
                for it in parts(body, "ipConfigurations") {
                    let (own, properties) = (text(it, "id"), &it["properties"]);
                    self.add(Tie::Address, referred(properties, "publicIPAddress"), own);
                    self.add(Tie::InSubnet, referred(properties, "subnet"), own);
                    for pool in elements(&properties["loadBalancerBackendAddressPools"]) {
                        self.add(Tie::Member, text(pool, "id"), own);
                    }
                }
            }
            Kind::LoadBalancer => {
                for it in parts(body, "frontendIPConfigurations") {
                    self.add(Tie::Address, referred(&it["properties"], "publicIPAddress"), text(it, "id"));
                    self.add(Tie::InSubnet, referred(&it["properties"], "subnet"), text(it, "id"));
                }
            }
            Kind::Network => {
                for it in parts(body, "subnets") {
                    self.add(Tie::SubnetRules, referred(&it["properties"], "networkSecurityGroup"), text(it, "id"));
                    self.add(Tie::Table, referred(&it["properties"], "routeTable"), text(it, "id"));
                }
            }
            Kind::PrivateLinkService => {
                for it in parts(body, "loadBalancerFrontendIpConfigurations") {
                    self.add(Tie::Linked, text(it, "id"), id);
                }
                for it in parts(body, "ipConfigurations") {
                    self.add(Tie::LinkSubnet, referred(&it["properties"], "subnet"), id);
                }
            }
            Kind::PublicIp => self.add(Tie::OfPrefix, referred(properties, "publicIPPrefix"), id),
            Kind::Machine | Kind::ScaleSetMachine => {
                self.add(Tie::InSet, referred(properties, "availabilitySet"), id);
                for it in elements(&properties["networkProfile"]["networkInterfaces"]) {
                    self.add(Tie::Interface, text(it, "id"), id);
                }
                let storage = &properties["storageProfile"];
                for it in elements(&storage["dataDisks"]).chain([&storage["osDisk"]]) {
                    self.add(Tie::Disk, referred(it, "managedDisk"), id);
                }
            }
            Kind::ScaleSet => pools_of_model(properties).for_each(|it| self.add(Tie::Model, it, id)),
            Kind::PublicIpPrefix
            | Kind::SecurityGroup
            | Kind::ApplicationSecurityGroup
            | Kind::RouteTable
            | Kind::AvailabilitySet
            | Kind::Disk => {}
        }
    }
}

/// The pools that the model of a scale set names.
pub(super) fn pools_of_model(properties: &Value) -> impl Iterator<Item = &str> {
    let interfaces = &properties["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"];
    let configurations = elements(interfaces).flat_map(|it| parts(it, "ipConfigurations"));
    configurations.flat_map(|it| parts(it, "loadBalancerBackendAddressPools")).map(|it| text(it, "id"))
}

impl World {
    /// All references that there are now.
    pub(super) fn references(&self) -> References {
        let mut all = References::default();
        self.everything().for_each(|(_, it)| all.collect(it));
        all
    }

    /// Gives what a resource refers to, and shows that, other etags.
    pub(super) fn mark_referred(&mut self, body: &Value) {
        let mut marked = Vec::new();
        for it in parts(body, "ipConfigurations") {
            marked.push(referred(&it["properties"], "publicIPAddress").to_owned());
            for pool in elements(&it["properties"]["loadBalancerBackendAddressPools"]) {
                marked.push(super::id::parent_of(text(pool, "id")).to_owned());
            }
        }
        for it in parts(body, "frontendIPConfigurations") {
            marked.push(referred(&it["properties"], "publicIPAddress").to_owned());
        }
        marked.sort();
        marked.dedup();
        marked.iter().for_each(|it| self.mark(it));
    }
}
