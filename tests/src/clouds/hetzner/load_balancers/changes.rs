//! The actions of load balancers: what each of them will change.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use serde::Deserialize;
use serde_json::Value;

use super::super::action::Resource;
use super::super::errors::{self, Refused, parsed};
use super::super::load_balancer::{Kind, LoadBalancer, Named, Target, new_service, updated_service};
use super::super::location::Location;
use super::super::project::{Change, NETWORK, Project, SERVER};
use super::rules::{self, Algorithm, attached};

/// The change that an action will make.
pub(super) struct Planned {
    pub(super) command: &'static str,
    pub(super) change: Change,
    /// The resource of the action, beside the load balancer.
    pub(super) with: Option<Resource>,
    /// The server of a target that is to go, and that is gone itself.
    pub(super) gone: Option<u64>,
}

#[derive(Deserialize)]
struct Listening {
    listen_port: u16,
}

#[derive(Deserialize)]
struct Attachment {
    network: u64,
    ip: Option<Ipv4Addr>,
    /// In CIDR notation.
    ip_range: Option<String>,
}

#[derive(Deserialize)]
struct OfType {
    load_balancer_type: String,
}

#[derive(Deserialize)]
struct Protection {
    delete: Option<bool>,
}

#[derive(Deserialize)]
struct DnsPtr {
    ip: IpAddr,
    dns_ptr: Option<String>,
}

/// Returns what a request asks for.
///
/// # Errors
///
/// Fails with the service's answer if it cannot be.
pub(super) fn plan(project: &Project, of: &LoadBalancer, command: &str, body: &[u8]) -> Result<Planned, Refused> {
    match command {
        "add_service" => add_service(project, of, body),
        "update_service" => update_service(project, of, body),
        "delete_service" => delete_service(of, body),
        "add_target" => add_target(project, of, body),
        "remove_target" => remove_target(project, of, body),
        "attach_to_network" => attach(project, of, body),
        "detach_from_network" => detach(of, body),
        "change_algorithm" => {
            let Algorithm { kind } = parsed(body)?;
            Ok(planned("change_algorithm", Change::Algorithm(rules::algorithm(Some(kind))?)))
        }
        "change_type" => {
            let OfType { load_balancer_type } = parsed(body)?;
            let kind = rules::kind(&load_balancer_type)?;
            fits(project, of, kind)?;
            Ok(planned("change_load_balancer_type", Change::Kind(kind.name)))
        }
        "change_protection" => {
            let Protection { delete } = parsed(body)?;
            Ok(planned("change_protection", Change::Protection(delete.unwrap_or(of.protected))))
        }
        "enable_public_interface" => Ok(planned("enable_public_interface", Change::PublicInterface(true))),
        "disable_public_interface" => disable_public_interface(of),
        "change_dns_ptr" => {
            let DnsPtr { ip, dns_ptr } = parsed(body)?;
            let own = [of.ipv4.map(IpAddr::V4), of.ipv6.map(IpAddr::V6)].contains(&Some(ip));
            if !own {
                return Err(Box::new(errors::invalid("ip", "it is no address of the load balancer")));
            }
            Ok(planned("change_dns_ptr", Change::DnsPtr(ip, dns_ptr)))
        }
        _ => Err(Box::new(errors::not_found("command"))),
    }
}

fn add_service(project: &Project, of: &LoadBalancer, body: &[u8]) -> Result<Planned, Refused> {
    let service = new_service(&parsed::<Value>(body)?).map_err(|it| invalid("body", &it))?;
    rules::service(project, of, &service)?;
    let mut with = of.clone();
    with.services.push(service.clone());
    rules::services_allowed(&with, of.kind())?;
    Ok(planned("add_service", Change::AddService(service)))
}

fn update_service(project: &Project, of: &LoadBalancer, body: &[u8]) -> Result<Planned, Refused> {
    let wanted = parsed::<Value>(body)?;
    let Listening { listen_port } = parsed(body)?;
    let Some(service) = of.service(listen_port) else {
        return Err(Box::new(errors::not_found(&format!("service on port {listen_port}"))));
    };
    let service = updated_service(service, &wanted).map_err(|it| invalid("body", &it))?;
    let mut others = of.clone();
    others.services.retain(|it| it.listen_port != listen_port);
    rules::service(project, &others, &service)?;
    others.services.push(service.clone());
    rules::services_allowed(&others, of.kind())?;
    Ok(planned("update_service", Change::UpdateService(service)))
}

fn delete_service(of: &LoadBalancer, body: &[u8]) -> Result<Planned, Refused> {
    let Listening { listen_port } = parsed(body)?;
    if of.service(listen_port).is_none() {
        return Err(Box::new(errors::not_found(&format!("service on port {listen_port}"))));
    }
    Ok(planned("delete_service", Change::DeleteService(listen_port)))
}

fn add_target(project: &Project, of: &LoadBalancer, body: &[u8]) -> Result<Planned, Refused> {
    let target = rules::named(parsed::<Named>(body)?)?;
    rules::target(project, of, &target)?;
    let mut with = of.clone();
    with.targets.push(target.clone());
    rules::targets_allowed(project, &with, of.kind())?;
    Ok(Planned { with: server(&target), ..planned("add_target", Change::AddTarget(target)) })
}

fn remove_target(project: &Project, of: &LoadBalancer, body: &[u8]) -> Result<Planned, Refused> {
    let target = rules::named(parsed::<Named>(body)?)?;
    let gone = target.server_id().filter(|id| !project.servers.contains_key(id));
    if gone.is_none() && !of.targets.iter().any(|it| it.is(&target)) {
        return Err(Box::new(errors::not_found("target")));
    }
    Ok(Planned { with: server(&target), gone, ..planned("remove_target", Change::RemoveTarget(target)) })
}

fn attach(project: &Project, of: &LoadBalancer, body: &[u8]) -> Result<Planned, Refused> {
    let Attachment { network, ip, ip_range } = parsed(body)?;
    if of.private_net.is_some() {
        let message = "the load balancer is already attached to a network";
        return Err(errors::refused(409, "load_balancer_already_attached", message));
    }
    let location = Location::find(&of.location).ok_or_else(|| Box::new(errors::not_found("location")))?;
    let range = ip_range.map(|it| it.parse::<Ipv4Net>()).transpose();
    let range = range.map_err(|_| invalid("ip_range", "it must be a network in CIDR notation"))?;
    let (network, ip) = attached(project, network, location, ip, range)?;
    let with = Some(Resource { kind: NETWORK, id: network });
    Ok(Planned { with, ..planned("attach_to_network", Change::Attach(network, ip)) })
}

fn detach(of: &LoadBalancer, body: &[u8]) -> Result<Planned, Refused> {
    let Attachment { network, .. } = parsed(body)?;
    if of.private_net.is_none_or(|(id, _)| id != network) {
        return Err(Box::new(errors::not_found(&format!("network with ID '{network}' at the load balancer"))));
    }
    let with = Some(Resource { kind: NETWORK, id: network });
    Ok(Planned { with, ..planned("detach_from_network", Change::Detach) })
}

fn disable_public_interface(of: &LoadBalancer) -> Result<Planned, Refused> {
    if of.private_net.is_none() {
        let message = "the load balancer is not attached to a network";
        return Err(errors::refused(422, "load_balancer_not_attached_to_network", message));
    }
    if of.targets.iter().any(|it| !it.uses_private_ip()) {
        let message = "the load balancer has targets that use the public IP";
        return Err(errors::refused(422, "targets_without_use_private_ip", message));
    }
    Ok(planned("disable_public_interface", Change::PublicInterface(false)))
}

/// Checks that a load balancer may have this type.
fn fits(project: &Project, of: &LoadBalancer, kind: &'static Kind) -> Result<(), Refused> {
    let fits = rules::services_allowed(of, kind).and_then(|()| rules::targets_allowed(project, of, kind));
    if fits.is_err() || of.kind == kind.name {
        let message = "the load balancer type does not fit for the given load balancer";
        return Err(errors::refused(422, "invalid_load_balancer_type", message));
    }
    Ok(())
}

fn planned(command: &'static str, change: Change) -> Planned {
    Planned { command, change, with: None, gone: None }
}

fn server(target: &Target) -> Option<Resource> {
    target.server_id().map(|id| Resource { kind: SERVER, id })
}

fn invalid(field: &str, message: &str) -> Refused {
    Box::new(errors::invalid(field, message))
}
