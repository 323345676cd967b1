//! The machine of a node: an instance of the VPC, or a worker whose labels say all.

use aerostat_sdk::{Address, Error, Instance, Instances, Node, Page, Result, State, events};

use crate::api::floating_ips::VpcFloatingIps;
use crate::api::instances::{self, VpcInstance};
use crate::api::lists::PAGE;
use crate::machine::IbmMachineId;
use crate::provider::Ibm;
use crate::settings::IbmAccountSettings;
use crate::worker;

impl Instances for Ibm {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let settings = IbmAccountSettings::read()?;
        let id = node.provider_id.as_ref().map(|it| IbmMachineId::parse(it, &settings)).transpose()?;
        let (None | Some(IbmMachineId::Worker(_))) = id else {
            return in_vpc(node, id.as_ref(), &settings);
        };
        if let Some(instance) = worker::of_labels(node, &settings)? {
            // A node keeps the id that it has.
            let provider_id = node.provider_id.clone().or(instance.provider_id);
            return Ok(Some(Instance { provider_id, ..instance }));
        }
        match id {
            Some(_) => Ok(Some(worker::unseen(node))),
            None => in_vpc(node, None, &settings),
        }
    }

    /// The instances of the VPC. Floating addresses are one list beside it, and no instance costs a request.
    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let settings = IbmAccountSettings::read()?;
        let Some(vpc) = &settings.vpc else { return Ok(Page::new(Vec::new(), None)) };
        let (found, next) = instances::page(vpc, cursor, limit.clamp(1, PAGE))?;
        let floating = if found.is_empty() { VpcFloatingIps::default() } else { VpcFloatingIps::all()? };
        let shown = found.iter().filter(|it| it.vpc.id == *vpc).map(|it| shown(it, &it.name, &floating, &settings));
        Ok(Page::new(shown.collect(), next))
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        let settings = IbmAccountSettings::read()?;
        Ok(IbmMachineId::parse(provider_id, &settings)?.provider_id(&settings))
    }
}

/// The instance of a node in the VPC, by the id that it has, or by the node's name.
fn in_vpc(node: &Node, id: Option<&IbmMachineId>, settings: &IbmAccountSettings) -> Result<Option<Instance>> {
    let Some(vpc) = &settings.vpc else {
        let missing = worker::missing(node).unwrap_or("ibm-cloud.kubernetes.io/worker-id with the id of a worker");
        return Err(Error::invalid(format_args!(
            "node {} lacks the label {missing}: on classic infrastructure machines are known by their nodes' labels alone",
            node.name
        )));
    };
    let found = match id {
        Some(IbmMachineId::Instance(id)) => instances::find(id)?,
        Some(IbmMachineId::Named(name)) => match named(node, vpc, name)? {
            Some(found) => Some(found),
            // A person may have renamed the instance.
            None => {
                return Err(Error::unavailable(format_args!(
                    "no instance of VPC {vpc} is called {name}, as the provider id of node {} says; names can be changed, so that this \
                     does not show that its machine is gone: delete the node if it is",
                    node.name
                )));
            }
        },
        Some(IbmMachineId::Worker(_)) | None => named(node, vpc, &node.name)?,
    };
    let Some(found) = found else { return Ok(None) };
    if found.vpc.id != *vpc {
        return Err(Error::invalid(format_args!(
            "instance {} of node {} is in VPC {}, and setting vpcID says {vpc}",
            found.id, node.name, found.vpc.id
        )));
    }
    let floating = found.target().map_or(Ok(VpcFloatingIps::default()), VpcFloatingIps::of_target)?;
    Ok(Some(shown(&found, &node.name, &floating, settings)))
}

/// The one instance of the VPC with this name.
fn named(node: &Node, vpc: &str, name: &str) -> Result<Option<VpcInstance>> {
    let mut found = instances::named(vpc, name)?;
    if let [one, another, ..] = &found[..] {
        let message = format!(
            "instances {} and {} of VPC {vpc} are more than one that is called {name}, and either could be node {}: rename one of them",
            one.id, another.id, node.name
        );
        events::warning(Some(&node.name), "InstanceLookupFailed", &message);
        return Err(Error::Invalid(message));
    }
    Ok(found.pop())
}

/// An instance as the host knows it.
fn shown(instance: &VpcInstance, node: &str, floating: &VpcFloatingIps, settings: &IbmAccountSettings) -> Instance {
    let VpcInstance { id, status, profile, zone, .. } = instance;
    let public = instance.target().and_then(|it| floating.to(it));
    Instance::new(node, IbmMachineId::Instance(id.clone()).provider_id(settings))
        .state(if status == "stopped" { State::Stopped } else { State::Running })
        .machine_type(&*profile.name)
        .zone(&*zone.name)
        .region(&*settings.region)
        .addresses(instance.address().map(Address::internal_ip))
        .addresses(public.map(Address::external_ip))
        .addresses([Address::hostname(node)])
}
