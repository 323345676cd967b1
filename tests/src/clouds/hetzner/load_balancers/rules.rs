//! The service's refusals, with their codes: those of its description, and no others.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use serde::Deserialize;

use super::super::errors::{self, Refused};
use super::super::load_balancer::{Kind, LoadBalancer, Named, PORTS, Service, Target};
use super::super::location::Location;
use super::super::project::Project;

/// How a load balancer chooses among its targets.
#[derive(Deserialize)]
pub(super) struct Algorithm {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// The type with this name.
pub(super) fn kind(name: &str) -> Result<&'static Kind, Refused> {
    match Kind::find(name) {
        Some(kind) if kind.is_offered() => Ok(kind),
        Some(_) => Err(errors::refused(422, "invalid_load_balancer_type", "the load balancer type is deprecated")),
        None => Err(Box::new(errors::invalid("load_balancer_type", "load balancer type not found"))),
    }
}

/// The name of an algorithm, by default `round_robin`.
pub(super) fn algorithm(name: Option<String>) -> Result<String, Refused> {
    let name = name.unwrap_or_else(|| "round_robin".to_owned());
    if matches!(name.as_str(), "round_robin" | "least_connections") {
        return Ok(name);
    }
    Err(Box::new(errors::invalid("algorithm", "it must be round_robin or least_connections")))
}

/// The target that a request names.
pub(super) fn named(named: Named) -> Result<Target, Refused> {
    named.target().map_err(|field| Box::new(errors::invalid(field, "missing data for required field")))
}

/// Checks a service beside the others of a load balancer.
pub(super) fn service(project: &Project, beside: &LoadBalancer, service: &Service) -> Result<(), Refused> {
    let invalid = |field, message: &str| Err(Box::new(errors::invalid(field, message)));
    let used = |port: u16| beside.services.iter().any(|it| it.listen_port == port);
    let redirects = |it: &Service| it.http.as_ref().is_some_and(|it| it.redirect_http);
    let port_80_is_led_on = beside.services.iter().any(redirects);
    if used(service.listen_port) || (service.listen_port == 80 && port_80_is_led_on) {
        return Err(errors::refused(409, "source_port_already_used", "the source port is already in use"));
    }
    let ports = [service.listen_port, service.destination_port, service.health_check.port];
    if !ports.iter().all(|it| PORTS.contains(&u64::from(*it))) {
        return invalid("listen_port", "ports are between 1 and 65535");
    }
    if !matches!(service.protocol.as_str(), "tcp" | "http" | "https") {
        return invalid("protocol", "it must be tcp, http or https");
    }
    let check = &service.health_check;
    if !matches!(check.protocol.as_str(), "tcp" | "http") {
        return invalid("health_check.protocol", "it must be tcp or http");
    }
    if check.http.as_ref().is_some_and(|it| it.path.contains(' ')) {
        return invalid("health_check.http.path", "it must have no spaces");
    }
    let Some(http) = &service.http else { return Ok(()) };
    if service.protocol == "http" && !http.certificates.is_empty() {
        return invalid("http.certificates", "http takes no certificate");
    }
    if let Some(id) = http.certificates.iter().find(|it| !project.certificates.contains_key(it)) {
        return invalid("http.certificates", &format!("certificate with ID '{id}' not found"));
    }
    if http.redirect_http {
        if service.protocol != "https" {
            return invalid("http.redirect_http", "it needs https");
        }
        if used(80) || port_80_is_led_on {
            return Err(errors::refused(409, "source_port_already_used", "the source port 80 is already in use"));
        }
    }
    if http.timeout_idle.is_some_and(|it| !(30..=300).contains(&it)) {
        return invalid("http.timeout_idle", "it must be between 30 and 300");
    }
    Ok(())
}

/// Checks that a load balancer does not have more services and certificates than its type allows.
pub(super) fn services_allowed(load_balancer: &LoadBalancer, kind: &Kind) -> Result<(), Refused> {
    if load_balancer.services.len() > kind.max_services {
        return Err(exceeded("services", kind.max_services));
    }
    if load_balancer.certificates().len() > kind.max_assigned_certificates {
        return Err(exceeded("certificates", kind.max_assigned_certificates));
    }
    Ok(())
}

/// Checks that a load balancer does not have more targets than its type allows.
pub(super) fn targets_allowed(project: &Project, load_balancer: &LoadBalancer, kind: &Kind) -> Result<(), Refused> {
    let servers = |target: &Target| match target {
        Target::Selector { selector, .. } => project.selected(selector).len(),
        Target::Server { .. } | Target::Ip(_) => 1,
    };
    if load_balancer.targets.iter().map(servers).sum::<usize>() > kind.max_targets {
        return Err(exceeded("targets", kind.max_targets));
    }
    Ok(())
}

/// Checks a target beside the others of a load balancer.
pub(super) fn target(project: &Project, of: &LoadBalancer, target: &Target) -> Result<(), Refused> {
    if of.targets.iter().any(|it| it.is(target)) {
        return Err(errors::refused(409, "target_already_defined", "the target is already defined"));
    }
    if target.uses_private_ip() && of.private_net.is_none() {
        let message = "the load balancer is not attached to a network";
        return Err(errors::refused(422, "load_balancer_not_attached_to_network", message));
    }
    if !target.uses_private_ip() && !of.public {
        let message = "the public interface of the load balancer is disabled";
        return Err(errors::refused(422, "load_balancer_public_interface_disabled", message));
    }
    match target {
        Target::Server { id, use_private_ip } => {
            let Some(server) = project.servers.get(id) else {
                return Err(Box::new(errors::invalid("server", &format!("server with ID '{id}' not found"))));
            };
            let network = of.private_net.map(|(network, _)| network);
            if *use_private_ip && network.is_none_or(|it| server.address_in(it).is_none()) {
                let message = "the server is not attached to the network of the load balancer";
                return Err(errors::refused(422, "server_not_attached_to_network", message));
            }
            if !use_private_ip && server.ipv4.is_none() {
                return Err(errors::refused(422, "missing_ipv4", "the server has no public IPv4 address"));
            }
            Ok(())
        }
        Target::Selector { .. } => Ok(()),
        Target::Ip(ip) => address(project, *ip),
    }
}

/// Checks the address of a dedicated server.
fn address(project: &Project, ip: IpAddr) -> Result<(), Refused> {
    let clouds = |ip| {
        project.servers.values().any(|server| {
            server.ipv4.is_some_and(|it| IpAddr::V4(it) == ip)
                || server.private_net.iter().any(|server| IpAddr::V4(server.ip) == ip)
        })
    };
    if clouds(ip) {
        let message = "the IP belongs to a cloud resource";
        return Err(errors::refused(422, "cloud_resource_ip_not_allowed", message));
    }
    if !project.dedicated.contains(&ip) {
        return Err(errors::refused(422, "ip_not_owned", "the IP is not owned by the owner of the project"));
    }
    Ok(())
}

/// The network and the address in it that a load balancer gets.
pub(super) fn attached(
    project: &Project,
    network: u64,
    location: &Location,
    ip: Option<Ipv4Addr>,
    range: Option<Ipv4Net>,
) -> Result<(u64, Ipv4Addr), Refused> {
    let found = project.networks.get(&network);
    let found = found.ok_or_else(|| Box::new(errors::not_found(&format!("network with ID '{network}'"))))?;
    let ip = found.address(location.network_zone, ip, range, |it| project.is_taken(network, it))?;
    Ok((network, ip))
}

fn exceeded(what: &str, most: usize) -> Refused {
    errors::refused(403, "resource_limit_exceeded", &format!("a load balancer of this type has at most {most} {what}"))
}
