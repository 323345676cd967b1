//! The place of a Service: its load balancer, and the frontends that it has or shares. Refusals that need to know the cloud are made
//! here, before anything is written.

use aerostat_sdk::{Error, IpFamily, Result, SortedMap};
use serde_json::Value;

use super::cloud::BalancerCloud;
use super::goal::{AddressGoal, FrontendGoal, ServiceGoal};
use super::names::{SERVICE_TAG, is_of};
use super::subnets::check_subnet;
use super::tree::{part, parts};
use crate::api::fields::{tag, text, word};
use crate::id::{last_of, same};
use crate::settings::balancers::AzureBalancerSettings;

/// A Service and its place.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// The load balancer's name.
    pub(crate) balancer: String,
    pub(crate) frontends: Vec<PlacedFrontend>,
}

/// A frontend and its address.
#[derive(Clone, Debug)]
pub(crate) struct PlacedFrontend {
    pub(crate) family: IpFamily,
    pub(crate) name: String,
    /// Whether another Service made it.
    pub(crate) is_shared: bool,
    /// The id of its public address.
    pub(crate) public: Option<String>,
    /// The id of its subnet.
    pub(crate) subnet: Option<String>,
    /// The address of that subnet that it has to have.
    pub(crate) ip: Option<String>,
}

/// Places that Services of this call have taken already.
#[derive(Debug, Default)]
pub(crate) struct TakenPlaces {
    /// Frontends by public addresses.
    frontends: SortedMap<String, String>,
    /// Services by load balancer, frontend, protocol and port.
    ports: SortedMap<String, String>,
    /// The load balancer of each rule that one gets, beside those that they have.
    rules: Vec<String>,
}

/// The place of a Service.
///
/// # Errors
///
/// `invalid`, saying what is missing or taken; whatever the API answered.
pub(crate) fn place(
    goal: &ServiceGoal,
    settings: &AzureBalancerSettings,
    cloud: &BalancerCloud,
    taken: &mut TakenPlaces,
) -> Result<Placement> {
    let balancer = balancer(goal, settings, cloud, taken)?;
    let mut frontends = Vec::new();
    for it in &goal.frontends {
        frontends.push(frontend(goal, it, &balancer, settings, cloud, taken)?);
    }
    check_addresses(goal, cloud)?;
    check_ports(goal, &frontends, &balancer, cloud, taken)?;
    let more = goal.rules.len().saturating_sub(own_rules(cloud, &balancer, &goal.names.base));
    taken.rules.extend(std::iter::repeat_n(balancer.clone(), more));
    Ok(Placement { balancer, frontends })
}

/// How many rules of a load balancer are a Service's own.
fn own_rules(cloud: &BalancerCloud, balancer: &str, base: &str) -> usize {
    let rules = cloud.balancer(balancer).map(|it| parts(it, "loadBalancingRules")).unwrap_or_default();
    rules.iter().filter(|it| is_of(base, text(it, "/name"))).count()
}

/// The load balancer: the one where the Service is, if it may stay there, or the one with the fewest rules.
fn balancer(
    goal: &ServiceGoal,
    settings: &AzureBalancerSettings,
    cloud: &BalancerCloud,
    taken: &TakenPlaces,
) -> Result<String> {
    let is_allowed = |name: &str| {
        let name = if goal.is_internal { name.strip_suffix("-internal").unwrap_or(name) } else { name };
        match settings.several.iter().find(|it| it.name == name) {
            None => true,
            Some(it) if goal.configurations.is_empty() => it.takes_services,
            Some(it) => goal.configurations.iter().any(|other| same(other, &it.name)),
        }
    };
    let allowed: Vec<String> =
        settings.balancer_names(goal.is_internal).into_iter().filter(|it| is_allowed(it)).collect();
    // Addresses that are there hold the Service to the load balancer that has them.
    for it in &goal.frontends {
        let Some(public) = named_public(it, goal, settings, cloud)? else { continue };
        let all = settings.balancer_names(false);
        let holder = all.iter().find(|name| {
            cloud.frontend_of(name, text(public, "/id")).is_some_and(|it| !is_of(&goal.names.base, text(it, "/name")))
        });
        match holder {
            Some(holder) if allowed.contains(holder) => return Ok(holder.clone()),
            Some(holder) => {
                return Err(Error::invalid(format_args!(
                    "public address {} is on load balancer {holder}, where this Service may not be: name that one in the annotation, or \
                     another address",
                    text(public, "/name")
                )));
            }
            None => {}
        }
    }
    let rules = |name: &String| {
        let shown = cloud.balancer(name).map_or(0, |it| parts(it, "loadBalancingRules").len());
        let own = own_rules(cloud, name, &goal.names.base);
        let more = taken.rules.iter().filter(|it| same(it, name)).count();
        shown - own + more + goal.rules.len()
    };
    let fits: Vec<&String> = allowed.iter().filter(|it| rules(it) <= settings.most_rules).collect();
    let stays = fits.iter().find(|entry| {
        let frontends = cloud.balancer(entry).map(|entry| parts(entry, "frontendIPConfigurations")).unwrap_or_default();
        frontends.iter().any(|entry| is_of(&goal.names.base, text(entry, "/name")))
            || own_rules(cloud, entry, &goal.names.base) > 0
    });
    let fewest = fits.iter().min_by_key(|it| rules(it));
    stays.or(fewest).map(|it| (*it).clone()).ok_or_else(|| match allowed.is_empty() {
        true => Error::invalid("no load balancer takes this Service: allow one of them to, or name one in annotation azure-load-balancer-configurations"),
        false => Error::quota(format_args!(
            "load balancer {} would have more than {} rules with the {} of this Service",
            allowed.join(", "),
            settings.most_rules,
            goal.rules.len()
        )),
    })
}

/// The public address that a frontend's goal names; `None` if it names none.
fn named_public<'v>(
    frontend: &FrontendGoal,
    goal: &ServiceGoal,
    settings: &AzureBalancerSettings,
    cloud: &'v BalancerCloud,
) -> Result<Option<&'v Value>> {
    let group = &goal.public.group;
    match &frontend.address {
        AddressGoal::Own { .. } | AddressGoal::Private { .. } => Ok(None),
        AddressGoal::Named(name) => match cloud.public(&settings.public_id(group, name).to_string()) {
            Some(it) => Ok(Some(it)),
            None => Err(Error::invalid(format_args!(
                "PublicIP from annotation azure-pip-name(-IPv6)={name} for service {} doesn't exist in resource group {group}",
                goal.owner
            ))),
        },
        AddressGoal::Numbered(ip) => {
            let prefix = settings.public_id(group, "").to_string().to_ascii_lowercase();
            let is_it = |entry: &&Value| {
                text(entry, "/properties/ipAddress") == ip
                    && text(entry, "/id").to_ascii_lowercase().starts_with(&prefix)
            };
            match cloud.publics.iter().find(is_it) {
                Some(it) => Ok(Some(it)),
                None => Err(Error::invalid(format_args!(
                    "cannot find public IP with IP address {ip} in resource group {group}"
                ))),
            }
        }
    }
}

fn frontend(
    goal: &ServiceGoal,
    frontend: &FrontendGoal,
    balancer: &str,
    settings: &AzureBalancerSettings,
    cloud: &BalancerCloud,
    taken: &mut TakenPlaces,
) -> Result<PlacedFrontend> {
    let mut placed = PlacedFrontend {
        family: frontend.family,
        name: frontend.name.clone(),
        is_shared: false,
        public: None,
        subnet: None,
        ip: None,
    };
    if let AddressGoal::Private { subnet, ip } = &frontend.address {
        let subnet = settings.subnet_id(subnet.as_deref())?;
        let shown = cloud.balancer(balancer).and_then(|it| part(it, "frontendIPConfigurations", &frontend.name));
        let is_there = shown.is_some_and(|entry| {
            let has_ip = ip.as_ref().is_none_or(|ip| text(entry, "/properties/privateIPAddress") == ip);
            has_ip && same(text(entry, "/properties/subnet/id"), &subnet.to_string())
        });
        if !is_there {
            check_subnet(&subnet, ip.as_deref())?;
            check_private(goal, ip.as_deref(), balancer, cloud)?;
        }
        placed.subnet = Some(subnet.to_string());
        placed.ip = ip.clone();
        return Ok(placed);
    }
    let public = match &frontend.address {
        AddressGoal::Own { name, .. } => settings.public_id(&goal.public.group, name).to_string(),
        _ => {
            let public = named_public(frontend, goal, settings, cloud)?;
            public.map_or_else(String::new, |it| text(it, "/id").to_owned())
        }
    };
    if let Some(shown) = cloud.public(&public) {
        check_owner(goal, shown)?;
        check_use(shown, settings, cloud)?;
    }
    let key = public.to_ascii_lowercase();
    let holder = cloud
        .frontend_of(balancer, &public)
        .map(|it| text(it, "/name").to_owned())
        .or_else(|| taken.frontends.get(&key).cloned());
    if let Some(holder) = holder {
        placed.is_shared = !is_of(&goal.names.base, &holder);
        placed.name = holder;
    }
    taken.frontends.insert(key, placed.name.clone());
    placed.public = Some(public);
    Ok(placed)
}

/// Refuses a public address that was made for, or is used by, Services of other namespaces.
fn check_owner(goal: &ServiceGoal, public: &Value) -> Result<()> {
    let namespace = goal.owner.split('/').next().unwrap_or_default();
    let others = tag(public, SERVICE_TAG).unwrap_or_default().split(',').map(str::trim);
    match others.filter(|it| !it.is_empty()).find(|it| it.split('/').next() != Some(namespace)) {
        Some(other) => Err(Error::invalid(format_args!(
            "public address {} belongs to Service {other}, of another namespace: name another one",
            text(public, "/name")
        ))),
        None => Ok(()),
    }
}

/// Refuses a public address that something else has than the cluster's load balancers.
fn check_use(public: &Value, settings: &AzureBalancerSettings, cloud: &BalancerCloud) -> Result<()> {
    let Some(user) = word(public, "/properties/ipConfiguration/id") else { return Ok(()) };
    let is_ours = settings
        .all_balancer_names()
        .iter()
        .map(|it| settings.balancer_id(it).key())
        .any(|it| user.to_ascii_lowercase().starts_with(&format!("{it}/")));
    match is_ours || cloud.is_used(text(public, "/id")) {
        true => Ok(()),
        false => Err(Error::invalid(format_args!("public address {} is in use by {user}", text(public, "/name")))),
    }
}

/// Refuses an address of a subnet that another Service's frontend has.
fn check_private(goal: &ServiceGoal, ip: Option<&str>, balancer: &str, cloud: &BalancerCloud) -> Result<()> {
    let frontends = cloud.balancer(balancer).map(|it| parts(it, "frontendIPConfigurations")).unwrap_or_default();
    let others = frontends.iter().filter(|it| !is_of(&goal.names.base, text(it, "/name")));
    match ip
        .and_then(|ip| others.into_iter().find(|it| text(it, "/properties/privateIPAddress") == ip).map(|it| (ip, it)))
    {
        Some((ip, other)) => Err(Error::invalid(format_args!(
            "address {ip} is that of frontend {} on load balancer {balancer}: choose another one",
            text(other, "/name")
        ))),
        None => Ok(()),
    }
}

/// Refuses further addresses that are those of Services of other namespaces.
fn check_addresses(goal: &ServiceGoal, cloud: &BalancerCloud) -> Result<()> {
    let publics =
        cloud.publics.iter().filter(|it| goal.additional.iter().any(|ip| text(it, "/properties/ipAddress") == ip));
    publics.into_iter().try_for_each(|it| check_owner(goal, it))
}

/// Refuses a port that another Service has on the same frontend.
fn check_ports(
    goal: &ServiceGoal,
    frontends: &[PlacedFrontend],
    balancer: &str,
    cloud: &BalancerCloud,
    taken: &mut TakenPlaces,
) -> Result<()> {
    let rules = cloud.balancer(balancer).map(|it| parts(it, "loadBalancingRules")).unwrap_or_default();
    let mut claims = Vec::new();
    for rule in &goal.rules {
        let Some(frontend) = frontends.iter().find(|it| it.family == rule.family) else { continue };
        let on_frontend =
            |it: &&Value| same(last_of(text(it, "/properties/frontendIPConfiguration/id")), &frontend.name);
        let is_same_port = |entry: &&Value| {
            same(text(entry, "/properties/protocol"), rule.protocol) && entry["properties"]["frontendPort"] == rule.port
        };
        let others = rules.iter().filter(|it| !is_of(&goal.names.base, text(it, "/name")));
        let claim = format!("{balancer}/{}/{}/{}", frontend.name, rule.protocol, rule.port).to_ascii_lowercase();
        let holder = others.filter(on_frontend).find(is_same_port).map(|it| text(it, "/name").to_owned());
        let holder = holder.or_else(|| taken.ports.get(&claim).cloned());
        if let Some(holder) = holder {
            return Err(Error::invalid(format_args!(
                "port {} in use: {holder} has it with protocol {} on frontend {}",
                rule.port, rule.protocol, frontend.name
            )));
        }
        claims.push(claim);
    }
    claims.into_iter().for_each(|it| _ = taken.ports.insert(it, format!("Service {}", goal.owner)));
    Ok(())
}
