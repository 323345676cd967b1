//! Compares a load balancer with what its Service asks for, and sends the next change.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Update;
use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Change, Error, Ingress, IpFamily, IpMode, LoadBalancer, Method, Result};

use super::annotations::{ENABLE_MONITOR, FLAVOR, LOAD_BALANCER_ID, ProxyProtocol, ZONE};
use super::bodies::{BodyPlans, OctaviaFeatures};
use super::context::BalancerCall;
use super::desired::{self, DesiredBalancer, OVN, ServicePort, family_of};
use super::floating::{FloatingIps, OutsideAddress};
use super::groups::{self, NodeGroup};
use super::members::{MemberWrites, PoolMembers};
use super::ownership::{self, BalancerRelation};
use super::plan::{BalancerShare, is_own_listener, transport};
use super::{creation, serial, shown};
use crate::api::octavia::{self, OctaviaBalancer, OctaviaListener, OctaviaPool, OctaviaWrite};

/// Compares, and sends what is to be changed next.
///
/// # Errors
///
/// Whatever the cloud answered, and why the Service cannot be served.
pub(crate) fn update(call: &BalancerCall<'_>, live: &OctaviaBalancer) -> Result<Update> {
    if let BalancerRelation::Foreign(word) = call.names.relation(live) {
        return Err(Error::invalid(ownership::others(live, &word)));
    }
    let is_owner = call.is_owner(live);
    if live.is_in_error() {
        return Err(in_error(call, live, is_owner));
    }
    if live.provisioning_status == "PENDING_CREATE" {
        return Ok(Update::Building);
    }
    if !live.is_active() {
        return Ok(Update::Busy(format!("Octavia changes {}", live.title())));
    }
    let desired = call.desired()?;
    if !is_owner {
        can_share(call, live)?.map_err(Error::invalid)?;
    }
    let listeners = shown::listeners(call.service, &live.id)?;
    let members = desired::members(&call.service.nodes, desired.family());
    let work = Comparison { call, live, is_owner, desired: &desired };
    let share = work.share(&listeners, &members);
    let mut warnings = Warnings::default();
    let is_new = call.service.current_ingress.is_empty();
    if let Some(sent) = work.next(&share, &listeners)? {
        // Its address can be had while Octavia is at work.
        if is_new && is_owner {
            work.outside(&mut warnings)?;
        }
        work.tell_rename();
        return Ok(Update::Busy(sent));
    }
    let address = match work.outside(&mut warnings)? {
        OutsideAddress::Address(address) => address,
        OutsideAddress::Unclear(why) => return Ok(Update::Busy(why)),
    };
    let grouped = if call.settings.manage_groups {
        let group = NodeGroup {
            service: call.service,
            desired: &desired,
            driver: &call.settings.provider,
            member_subnet: share.plans.member_subnet,
        };
        group.ensure(&mut warnings)?
    } else {
        groups::remove(call.service)?
    };
    if let Change::Busy(why) = grouped {
        return Ok(Update::Busy(why));
    }
    call.address.replace(Some(address.clone()));
    work.warn(&mut warnings);
    warnings.emit();
    Ok(Update::Done(work.ingress(&address)))
}

/// The error for a load balancer in state ERROR. One that has never served is deleted, to be made again.
fn in_error(call: &BalancerCall<'_>, live: &OctaviaBalancer, is_owner: bool) -> Error {
    let is_new = call.service.current_ingress.is_empty() && is_owner && call.names.others(live) == 0;
    if !is_new {
        return Error::unavailable(format_args!(
            "{} is in state ERROR: Octavia's log says why; its operator can let it fail over",
            live.title()
        ));
    }
    let deletion =
        OctaviaWrite::delete(&["loadbalancers", &live.id]).request().query("cascade", "true").change_or_gone();
    match deletion {
        Ok(_) => Error::unavailable(format_args!(
            "{} ended in state ERROR while it was created: it is deleted, and made again. Octavia's log says why",
            live.title()
        )),
        Err(error) => error,
    }
}

/// Whether a Service may have a part in a load balancer. The inner error says why not.
///
/// # Errors
///
/// Whatever the cloud answered.
pub(crate) fn can_share(call: &BalancerCall<'_>, live: &OctaviaBalancer) -> Result<Result<(), String>> {
    let desired = call.desired()?;
    let (most, others) = (call.settings.max_shared as usize, call.names.others(live));
    let has_part = live.tags().contains(&call.names.name);
    let annotation = LOAD_BALANCER_ID.name;
    if live.tags.is_none() {
        return Ok(Err(format!(
            "annotation {annotation}: load balancers are shared by tags, which this version of Octavia has not"
        )));
    }
    if desired.is_internal {
        return Ok(Err(format!("annotation {annotation}: an internal Service cannot share a load balancer")));
    }
    if !has_part && others + 1 > most {
        return Ok(Err(format!(
            "annotation {annotation}: {} is already shared with {others} Services: setting loadBalancers.maxShared is {most}",
            live.title()
        )));
    }
    if !has_part && live.is_active() {
        let listeners = shown::listeners(call.service, &live.id)?;
        let taken = |port: &&ServicePort| {
            let is_at = |other: &OctaviaListener| {
                other.protocol_port == port.port && transport(&other.protocol) == transport(port.protocol)
            };
            listeners.iter().any(|other| is_at(other) && !is_own_listener(&call.names, false, other))
        };
        if let Some(taken) = desired.listeners.iter().find(taken) {
            return Ok(Err(format!("the listener port {} already exists on {}", taken.port, live.title())));
        }
        let floating =
            FloatingIps { service: call.service, desired: &desired, names: &call.names, live, is_owner: false };
        if floating.is_possible() && floating.present()?.is_none() {
            return Ok(Err(floating.refuse_without().why().to_owned()));
        }
    }
    Ok(Ok(()))
}

/// One comparison.
struct Comparison<'a> {
    call: &'a BalancerCall<'a>,
    live: &'a OctaviaBalancer,
    is_owner: bool,
    desired: &'a DesiredBalancer,
}

impl<'a> Comparison<'a> {
    /// The Service's part as it should be.
    fn share(&self, listeners: &[OctaviaListener], members: &'a [desired::DesiredMember]) -> BalancerShare<'a> {
        let networks = &self.desired.networks;
        // Of a load balancer in a network of its own, members are reached through its router.
        let own =
            self.live.vip_subnet_id.as_deref().filter(|_| networks.network.is_none() || networks.subnet.is_some());
        let can = self.call.settings.provider != OVN;
        let has_ranges = listeners.first().is_none_or(|it| it.allowed_cidrs.is_some());
        BalancerShare {
            plans: BodyPlans {
                desired: self.desired,
                name: &self.call.names.name,
                features: OctaviaFeatures {
                    tags: self.live.tags.is_some(),
                    timeouts: can,
                    ranges: can && has_ranges,
                    flavors: can,
                    zones: can,
                    additional_vips: can,
                },
                members,
                member_subnet: networks.member_subnet.as_deref().or(own),
                // What another controller has made stays as it is until somebody asks for more.
                monitors_local: self.live.tags().contains(&self.call.names.mark.to_string()),
            },
            names: &self.call.names,
            live: self.live,
            is_owner: self.is_owner,
        }
    }

    /// Sends the next change of the load balancer, if there is one: what Octavia is at work on then.
    fn next(&self, share: &BalancerShare<'_>, listeners: &[OctaviaListener]) -> Result<Option<String>> {
        let of_listeners = share.of_listeners(listeners)?;
        if let Some(write) = share.of_balancer().or(of_listeners) {
            self.check_new_tls(&write)?;
            return send(&write).map(Some);
        }
        let pools = shown::pools(self.call.service, &self.live.id)?;
        let write = share.missing_listener(listeners, &pools).or_else(|| share.of_pools(listeners, &pools));
        if let Some(write) = write {
            self.check_new_tls(&write)?;
            return send(&write).map(Some);
        }
        let all = self.pool_members(share, listeners, &pools);
        if let Some(sent) = counted_members(&all)? {
            return Ok(Some(sent));
        }
        let own: Vec<&OctaviaPool> = all.iter().map(|(_, pool)| *pool).collect();
        let monitors = if self.desired.has_monitor(share.plans.monitors_local) {
            shown::monitors(self.call.service, &own)?
        } else {
            Vec::new()
        };
        let of_monitors = share.of_monitors(listeners, &pools, &monitors);
        // One that asks otherwise comes after the members: it may ask at another port of theirs.
        if let Some(write) = of_monitors.as_ref().filter(|it| it.method == Method::Put) {
            return send(write).map(Some);
        }
        // Before a monitor goes, members forget the port at which it asked them: another one would ask there, too.
        let forgets = of_monitors.as_ref().is_some_and(|it| it.method == Method::Delete);
        if let Some(sent) = self.compared_members(share, &all, forgets)? {
            return Ok(Some(sent));
        }
        let write = of_monitors.or_else(|| share.obsolete(listeners, &pools));
        write.map(|it| send(&it)).transpose()
    }

    /// A certificate that a listener does not have yet has to be there.
    fn check_new_tls(&self, write: &OctaviaWrite) -> Result<()> {
        let names = write.body.as_ref().is_some_and(|it| it["listener"].get("default_tls_container_ref").is_some());
        if names { creation::check_tls(self.call, self.desired) } else { Ok(()) }
    }

    /// The pools of all ports, with the members that they should have.
    fn pool_members<'p>(
        &self,
        share: &BalancerShare<'a>,
        listeners: &[OctaviaListener],
        pools: &'p [OctaviaPool],
    ) -> Vec<(PoolMembers<'p>, &'p OctaviaPool)>
    where
        'a: 'p,
    {
        let writes = serial::member_writes(&self.call.settings, self.live);
        let of_port = |port: &'a ServicePort| {
            let pool = share.pool_for(port, listeners, pools)?;
            let members = PoolMembers {
                plans: share.plans,
                listener: port,
                pool: &pool.id,
                writes,
                compares_subnets: self.desired.networks.member_subnet.is_some(),
            };
            Some((members, pool))
        };
        self.desired.listeners.iter().filter_map(of_port).collect()
    }

    /// Sends the next change of members where a pool has as many as it should have. The tree of states does not show at which port they
    /// are asked.
    fn compared_members(
        &self,
        share: &BalancerShare<'_>,
        all: &[(PoolMembers<'_>, &OctaviaPool)],
        forgets: bool,
    ) -> Result<Option<String>> {
        let port = |it: &PoolMembers<'_>| share.plans.desired.monitor_port(it.listener, share.plans.monitors_local);
        let asks_more = all.iter().any(|(it, _)| port(it).is_some());
        let reads_all = self.call.service.is_listed() || asks_more || forgets || all.len() < 2;
        let shown = if reads_all { Vec::new() } else { octavia::status_members(&self.live.id)? };
        for (members, pool) in all {
            let is_right = shown.iter().any(|(id, shown)| *id == pool.id && members.are_shown(shown));
            if is_right || (members.len() == 0 && pool.members.is_empty()) {
                continue;
            }
            if let Some(write) = members.next(&octavia::members(&pool.id)?) {
                return send_members(&write, members).map(Some);
            }
        }
        Ok(None)
    }

    fn floating(&self) -> FloatingIps<'_> {
        FloatingIps {
            service: self.call.service,
            desired: self.desired,
            names: &self.call.names,
            live: self.live,
            is_owner: self.is_owner,
        }
    }

    fn outside(&self, warnings: &mut Warnings) -> Result<OutsideAddress> {
        self.floating().ensure(warnings)
    }

    /// Where the Service is reached.
    fn ingress(&self, address: &str) -> Vec<Ingress> {
        let mode = if self.desired.proxy == ProxyProtocol::Off { IpMode::Vip } else { IpMode::Proxy };
        let has_second = self.desired.families.len() > 1;
        let second = self.live.additional_vips.iter().filter(|_| has_second).filter_map(|it| it.ip_address.as_deref());
        let addresses = std::iter::once(address).chain(second);
        match (&self.desired.hostname, &self.call.settings.ingress_suffix) {
            (None, Some(suffix)) if mode == IpMode::Proxy => vec![Ingress::hostname(format!("{address}.{suffix}"))],
            (hostname, _) => Ingress::list(hostname.as_deref(), addresses, mode),
        }
    }

    /// An event says that a load balancer with the cluster's former name gets another one, when it does.
    fn tell_rename(&self) {
        let names = &self.call.names;
        if self.is_owner && names.former.as_ref() == Some(&self.live.name) {
            let mut warnings = Warnings::default();
            let title = self.live.title();
            let why =
                format_args!("{title} has the cluster's former name: with its parts it is renamed to {}", names.name);
            warnings.add("LoadBalancerRename", why);
            warnings.emit();
        }
    }

    /// Warns about what is not as it may seem.
    fn warn(&self, warnings: &mut Warnings) {
        let desired = self.desired;
        if desired.ranges_are_ignored {
            let why = "source ranges are ignored: driver ovn has none, and setting loadBalancers.manageSecurityGroups is false";
            warnings.add("LoadBalancerSourceRangesIgnored", why);
        }
        let is_marked = self.live.tags().contains(&self.call.names.mark.to_string());
        if desired.local_port.is_some() && !desired.has_monitor(is_marked) {
            warnings.add(
                "LoadBalancerLocalWithoutMonitor",
                format_args!(
                    "externalTrafficPolicy is Local and health is not checked: nodes without a pod get their share, and lose it. Set \
                     annotation {} to \"true\"",
                    ENABLE_MONITOR.name
                ),
            );
        }
        if let Some(port) = desired.listeners.iter().find(|it| it.node_port.is_none()) {
            let why = format_args!("port {} has no node port: nothing is behind it", port.port);
            warnings.add("LoadBalancerPortWithoutNodePort", why);
        }
        if !self.is_owner {
            return;
        }
        let texts = Annotations::of(self.call.service);
        let fixed = [
            ("flavor", texts.read(&FLAVOR).ok().flatten(), &self.live.flavor_id),
            ("availability zone", texts.read(&ZONE).ok().flatten(), &self.live.availability_zone),
        ];
        for (field, wanted, live) in fixed {
            if let Some(wanted) = wanted.filter(|it| live.as_ref() != Some(it)) {
                warnings.immutable(field, live.as_deref().unwrap_or("Octavia's default"), &wanted);
            }
        }
        let is_single = self.live.additional_vips.is_empty();
        if desired.families.len() > 1 && is_single {
            warnings.add(
                "LoadBalancerSingleStack",
                "the load balancer has one address: it was made with one, and gets no other",
            );
        }
        self.warn_of_address(warnings);
    }

    /// The address of a load balancer without floating IP is chosen once.
    fn warn_of_address(&self, warnings: &mut Warnings) {
        let is_own = self.desired.is_internal || self.desired.family() == IpFamily::Ipv6;
        let wanted = self.call.service.load_balancer_ip.as_deref().filter(|_| is_own);
        if let (Some(wanted), Some(live)) = (wanted, self.live.vip_address.as_deref())
            && family_of(wanted).is_some()
            && wanted != live
        {
            warnings.immutable("loadBalancerIP", live, wanted);
        }
    }
}

/// Sends the next change of members where a pool has more or less than it should have. How many it has is shown with it: they need not be
/// read.
fn counted_members(all: &[(PoolMembers<'_>, &OctaviaPool)]) -> Result<Option<String>> {
    for (members, pool) in all.iter().filter(|(members, pool)| members.len() != pool.members.len()) {
        let write = match members.replacement(&[]) {
            Some(write) => Some(write),
            None => members.next(&octavia::members(&pool.id)?),
        };
        if let Some(write) = write {
            return send_members(&write, members).map(Some);
        }
    }
    Ok(None)
}

/// Sends a change: what Octavia is at work on then, or what it was at work on before.
fn send(write: &OctaviaWrite) -> Result<String> {
    let request = write.request();
    let change = match write.body {
        Some(_) => request.change()?.map(drop),
        None => request.change_or_gone()?,
    };
    Ok(match change {
        Change::Done(()) => write.title(),
        Change::Busy(why) => why,
    })
}

/// Sends a change of members; one at a time where the driver takes no more.
fn send_members(write: &OctaviaWrite, members: &PoolMembers<'_>) -> Result<String> {
    let response = write.request().answer()?;
    if response.status() == 501 && members.writes == MemberWrites::Batch {
        let single = PoolMembers { writes: MemberWrites::Single, ..*members };
        return match single.next(&octavia::members(members.pool)?) {
            Some(write) => send(&write),
            None => Ok(write.title()),
        };
    }
    if crate::api::is_octavia_at_work(&response) {
        return Ok(response.complaint());
    }
    if response.status() == 404 && write.body.is_none() {
        return Ok(write.title());
    }
    response.accepted().map(|_| write.title())
}

/// Lets members follow the nodes, and changes nothing else.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(crate) fn follow_nodes(call: &BalancerCall<'_>, live: &OctaviaBalancer) -> Result<Change<()>> {
    if matches!(call.names.relation(live), BalancerRelation::Foreign(_)) {
        return Ok(Change::Done(()));
    }
    if !live.is_active() {
        return Ok(Change::Busy(format!("Octavia changes {}", live.title())));
    }
    // What was refused is an annotation: without them its ports are still known.
    let plain = LoadBalancer { annotations: Vec::new(), ..call.service.clone() };
    let Ok(desired) = DesiredBalancer::of(&plain, &call.settings) else { return Ok(Change::Done(())) };
    let members = desired::members(&plain.nodes, desired.family());
    let is_owner = call.is_owner(live);
    let listeners = shown::listeners(call.service, &live.id)?;
    for port in &desired.listeners {
        let is_at = |live: &&OctaviaListener| {
            let is_port = live.protocol_port == port.port && transport(&live.protocol) == transport(port.protocol);
            is_port && is_own_listener(&call.names, is_owner, live)
        };
        let Some(pool) = listeners.iter().find(is_at).and_then(|it| it.default_pool_id.as_deref()) else { continue };
        let shown = octavia::members(pool)?;
        // What is asked of members, and through which subnet, stays as it is.
        let asked = shown.iter().find_map(|it| it.monitor_port);
        let desired = DesiredBalancer { local_port: asked, monitor: Some(asked.is_some()), ..desired.clone() };
        let subnet = shown.iter().find_map(|it| it.subnet_id.as_deref());
        let work = Comparison { call, live, is_owner, desired: &desired };
        let plans = BodyPlans { member_subnet: subnet, ..work.share(&listeners, &members).plans };
        let writes = serial::member_writes(&call.settings, live);
        let behind = PoolMembers { plans, listener: port, pool, writes, compares_subnets: false };
        if let Some(write) = behind.next(&shown) {
            return send_members(&write, &behind).map(Change::Busy);
        }
    }
    Ok(Change::Done(()))
}
