//! The floating IP of a load balancer's first address: found by the port that has it, made, taken over, given back.

use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Error, IpFamily, LoadBalancer, Result};
use serde_json::{Map, Value};

use super::annotations::FLOATING_SUBNET;
use super::bodies::put;
use super::desired::{DesiredBalancer, family_of};
use super::names;
use super::ownership::ServiceNames;
use crate::api::neutron::{self, FloatingIp, NewFloatingIp};
use crate::api::octavia::OctaviaBalancer;
use crate::patterns;
use crate::settings::FloatingSubnetChoice;

/// The place of a load balancer to the outside.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum OutsideAddress {
    /// It is reached at this address.
    Address(String),
    /// Not known yet: a request was sent whose answer was lost.
    Unclear(String),
}

/// The facts that decide about a floating IP.
pub(crate) struct FloatingIps<'a> {
    /// The Service.
    pub(crate) service: &'a LoadBalancer,
    /// The load balancer that it asks for.
    pub(crate) desired: &'a DesiredBalancer,
    /// Its names.
    pub(crate) names: &'a ServiceNames,
    /// Its load balancer.
    pub(crate) live: &'a OctaviaBalancer,
    /// Whether the load balancer is the Service's.
    pub(crate) is_owner: bool,
}

impl FloatingIps<'_> {
    /// The floating IP on the load balancer's port.
    ///
    /// # Errors
    ///
    /// Whatever Neutron answered.
    pub(crate) fn present(&self) -> Result<Option<FloatingIp>> {
        let Some(port) = &self.live.vip_port_id else { return Ok(None) };
        if self.service.is_listed() {
            let all = neutron::floating_ips()?;
            return Ok(all.into_iter().find(|it| it.port_id.as_ref() == Some(port)));
        }
        Ok(neutron::floating_ips_by("port_id", port)?.into_iter().next())
    }

    /// Whether its first address can have a floating IP.
    pub(crate) fn is_possible(&self) -> bool {
        self.live.vip_address.as_deref().and_then(family_of) != Some(IpFamily::Ipv6)
    }

    /// Makes the floating IP as the Service asks for it.
    ///
    /// # Errors
    ///
    /// Whatever Neutron answered; `invalid` for an address that is not free, and for a part of a load balancer that has no floating IP.
    pub(crate) fn ensure(&self, warnings: &mut Warnings) -> Result<OutsideAddress> {
        let own = self.live.vip_address.clone().unwrap_or_default();
        if !self.is_possible() {
            if !self.desired.is_internal {
                let why = format_args!("an IPv6 address gets no floating IP: the Service is reached at {own} itself");
                warnings.add("LoadBalancerFloatingIPSkipped", why);
            }
            return Ok(OutsideAddress::Address(own));
        }
        let present = self.present()?;
        if self.desired.is_internal {
            if let Some(present) = present.filter(|_| self.is_owner) {
                self.give_back(&present)?;
            }
            return Ok(OutsideAddress::Address(own));
        }
        match present {
            Some(present) => {
                self.warn_of_other_address(&present, warnings);
                Ok(OutsideAddress::Address(present.floating_ip_address))
            }
            None if self.is_owner => self.attach(own, warnings),
            None => Err(self.refuse_without()),
        }
    }

    /// The error for a part of a load balancer that has no floating IP: one that is made would make its owner public.
    pub(crate) fn refuse_without(&self) -> Error {
        Error::invalid(format_args!(
            "{} has no floating IP, and only its owner can give it one: make this Service internal, or choose another load balancer",
            self.live.title()
        ))
    }

    fn warn_of_other_address(&self, present: &FloatingIp, warnings: &mut Warnings) {
        if let Some(wanted) = self.service.load_balancer_ip.as_deref().filter(|it| *it != present.floating_ip_address) {
            warnings.immutable("loadBalancerIP", &present.floating_ip_address, wanted);
        }
    }

    /// Takes the floating IP off a load balancer that is internal now: one that was made for it is deleted, unless it is to be kept.
    fn give_back(&self, present: &FloatingIp) -> Result<()> {
        let is_made = names::is_floating_ip_of(&present.description, &self.names.clusters());
        if is_made && !self.desired.keeps_floating_ip {
            return neutron::delete_floating_ip(&present.id);
        }
        neutron::attach_floating_ip(&present.id, None)
    }

    /// Puts a floating IP on the port: the one that the Service names, the one that it had, or another.
    fn attach(&self, own: String, warnings: &mut Warnings) -> Result<OutsideAddress> {
        let port = self.live.vip_port_id.clone().unwrap_or_default();
        if let Some(free) = self.named()?.map_or_else(|| self.lost(), |it| Ok(Some(it)))? {
            neutron::attach_floating_ip(&free.id, Some(&port))?;
            return Ok(OutsideAddress::Address(free.floating_ip_address));
        }
        let Some(network) = network(self.desired)? else {
            let why = "there is no external network: the Service is reached at the load balancer's own address. Set \
                       loadBalancers.floatingNetworkID, or make the Service internal";
            warnings.add("LoadBalancerForcedInternal", why);
            return Ok(OutsideAddress::Address(own));
        };
        let mut body = Map::new();
        put(&mut body, "description", Value::from(names::floating_ip(&self.service.owner)));
        put(&mut body, "floating_network_id", Value::from(network.as_str()));
        put(&mut body, "port_id", Value::from(port.as_str()));
        if let Some(address) = &self.service.load_balancer_ip {
            put(&mut body, "floating_ip_address", Value::from(address.as_str()));
        }
        let choice = &self.desired.networks.floating_subnet;
        let subnets = match (&choice.id, &self.service.load_balancer_ip) {
            (Some(id), _) => vec![Some(id.clone())],
            (None, Some(_)) => vec![None],
            (None, None) => subnets(&network, choice)?,
        };
        let mut last = String::new();
        for subnet in subnets {
            let mut body = body.clone();
            if let Some(subnet) = subnet {
                put(&mut body, "subnet_id", Value::from(subnet.as_str()));
            }
            match neutron::make_floating_ip(body)? {
                NewFloatingIp::Made(made) => return Ok(OutsideAddress::Address(made.floating_ip_address)),
                NewFloatingIp::Unclear(why) => return Ok(OutsideAddress::Unclear(why)),
                NewFloatingIp::Full(why) => last = why,
            }
        }
        let pattern = choice.pattern.as_deref().or(choice.tags.as_deref()).or(choice.id.as_deref()).unwrap_or(&network);
        Err(Error::quota(format_args!("no subnet for floating IPs that {pattern} names has a free address: {last}")))
    }

    /// The floating IP with the address that the Service names, if there is one: it has to be free.
    fn named(&self) -> Result<Option<FloatingIp>> {
        let Some(address) = &self.service.load_balancer_ip else { return Ok(None) };
        let found = neutron::floating_ips_by("floating_ip_address", address)?.into_iter().next();
        match found {
            Some(used) if used.port_id.is_some() => Err(Error::invalid(format_args!(
                "loadBalancerIP: floating IP {address} is not available: something else has it"
            ))),
            found => Ok(found),
        }
    }

    /// The floating IP that the Service shows and nothing has: its load balancer was deleted by hand.
    fn lost(&self) -> Result<Option<FloatingIp>> {
        lost(self.service, self.names)
    }
}

/// The floating IP that was made for a Service, whose address the Service shows, and that nothing has.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn lost(service: &LoadBalancer, names: &ServiceNames) -> Result<Option<FloatingIp>> {
    for shown in service.current_ingress.iter().filter_map(|it| it.ip.as_deref()) {
        if family_of(shown) != Some(IpFamily::Ipv4) {
            continue;
        }
        let is_its =
            |it: &FloatingIp| it.port_id.is_none() && names::is_floating_ip_of(&it.description, &names.clusters());
        let found = neutron::floating_ips_by("floating_ip_address", shown)?;
        if let Some(found) = found.into_iter().find(is_its) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The external network of floating IPs; `None` if there is none.
///
/// # Errors
///
/// Whatever Neutron answered; `invalid` if there are several and nobody says which.
pub(crate) fn network(desired: &DesiredBalancer) -> Result<Option<String>> {
    if let Some(chosen) = &desired.networks.floating_network {
        return Ok(Some(chosen.clone()));
    }
    let mut usable = neutron::external_networks()?;
    if usable.len() > 1 {
        let mut with_ipv4 = Vec::new();
        for network in usable {
            if !neutron::subnets(&network.id, &[("ip_version", "4")])?.is_empty() {
                with_ipv4.push(network);
            }
        }
        usable = with_ipv4;
    }
    let named: Vec<_> = usable.iter().map(|it| format!("{} ({})", it.id, it.name)).collect();
    match usable.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id.clone())),
        _ => Err(Error::invalid(format_args!(
            "there are several external networks, {}: set loadBalancers.floatingNetworkID under provider.settings to one of them",
            named.join(", ")
        ))),
    }
}

/// The subnets from which a floating IP may be taken, in Neutron's order.
fn subnets(network: &str, choice: &FloatingSubnetChoice) -> Result<Vec<Option<String>>> {
    if choice.is_empty() {
        return Ok(vec![None]);
    }
    let filter = choice.tags.as_deref().map(patterns::tag_filter);
    let filter: Vec<_> = filter.iter().map(|(name, tags)| (*name, tags.as_str())).collect();
    let mut matching = Vec::new();
    for subnet in neutron::subnets(network, &filter)? {
        let is = match &choice.pattern {
            None => true,
            Some(pattern) => patterns::matches(pattern, &subnet.name).ok_or_else(|| {
                Error::invalid(format_args!("{}: {pattern:?} cannot be read as a pattern", FLOATING_SUBNET.name))
            })?,
        };
        if is {
            matching.push(Some(subnet.id));
        }
    }
    if matching.is_empty() {
        let words = choice.pattern.as_deref().or(choice.tags.as_deref()).unwrap_or_default();
        return Err(Error::invalid(format_args!("no subnet of network {network} matches {words}")));
    }
    Ok(matching)
}
