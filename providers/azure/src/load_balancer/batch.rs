//! A batch of Services: what they share is read once and written once for all of them. One that cannot be served holds up no other.

use std::ops::ControlFlow::{Break, Continue};

use aerostat_sdk::{AddressKind, Error, IpFamily, LoadBalancer, Node, Progress, Result, SortedMap};
use serde_json::Value;

use super::addresses::{self, PublicState};
use super::balancer::{BalancerMember, BalancerMembers};
use super::cloud::{BalancerCloud, check_group};
use super::ending;
use super::goal::{BatchService, ServiceGoal};
use super::groups::GroupMember;
use super::members;
use super::memo::AzureMemo;
use super::names::is_of;
use super::placement::{TakenPlaces, place};
use super::pools::{self, PoolGoal, PoolStep};
use super::private_link::{self, LinkedFrontend};
use super::reach::ServiceReach;
use super::scope::CallScope;
use super::tree::{part, parts};
use super::turn::ServiceTurn;
use super::writing::{POLL, SharedWrite, write_balancer, write_group};
use crate::api::AzureApi;
use crate::api::fields::text;
use crate::api::operations;
use crate::api::writes::{self, AzureWritten, has_failed, is_changing};
use crate::id::same;
use crate::settings::balancers::AzureBalancerSettings;

/// Takes one step for each of these Services. One answer for each, in the same order.
pub(crate) fn ensure(services: &[BatchService<'_>]) -> Vec<Result<Progress>> {
    let settings = match AzureBalancerSettings::read() {
        Ok(settings) => settings,
        Err(error) => return services.iter().map(|_| Err(error.clone())).collect(),
    };
    let answers = ending::answers(services, &settings);
    let others = services.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
    let others: Vec<BatchService<'_>> = others.map(|(it, _)| it.clone()).collect();
    let stepped = if others.is_empty() { Vec::new() } else { step(settings, &others) };
    merged(answers, stepped)
}

/// The answers that there are, and the further ones in the places where there is none.
fn merged(answers: Vec<Option<Result<Progress>>>, further: Vec<Result<Progress>>) -> Vec<Result<Progress>> {
    let mut further = further.into_iter();
    let missing = || Err(Error::unavailable("there is no answer"));
    answers.into_iter().map(|it| it.unwrap_or_else(|| further.next().unwrap_or_else(missing))).collect()
}

fn step(settings: AzureBalancerSettings, services: &[BatchService<'_>]) -> Vec<Result<Progress>> {
    match prepared(&settings, services) {
        Ok((cloud, goals)) => BatchCall::answers(settings, cloud, services, goals),
        Err(error) => services.iter().map(|_| Err(error.clone())).collect(),
    }
}

type Goals = Vec<Result<(ServiceGoal, AzureMemo)>>;

/// Everything that is decided before the cloud is asked, and the cloud.
fn prepared(settings: &AzureBalancerSettings, services: &[BatchService<'_>]) -> Result<(BalancerCloud, Goals)> {
    let goal = |it: &BatchService<'_>| Ok((ServiceGoal::of(it.service, settings)?, AzureMemo::of(it.service)?));
    let goals: Goals = services.iter().map(goal).collect();
    if let ([Err(error)], false) = (&goals[..], services.iter().any(|it| was_begun(it.service))) {
        return Err(error.clone());
    }
    let mut scope = CallScope::new(settings);
    for (it, goal) in services.iter().zip(&goals) {
        match goal {
            Ok((goal, memo)) => {
                scope.add(it.service, memo, settings);
                scope.balancers.extend(settings.balancer_names(goal.is_internal));
                scope.groups.insert(goal.public.group.clone());
            }
            // A Service that is refused gives back the addresses that were begun for it.
            Err(_) if was_begun(it.service) => {
                scope.add(it.service, &AzureMemo::of(it.service).unwrap_or_default(), settings);
            }
            Err(_) => {}
        }
    }
    let cloud = BalancerCloud::read(settings, &scope)?;
    check_group(settings, &cloud)?;
    Ok((cloud, goals))
}

/// A call for a batch.
struct BatchCall<'a> {
    settings: AzureBalancerSettings,
    cloud: BalancerCloud,
    turns: Vec<ServiceTurn<'a>>,
}

impl<'a> BatchCall<'a> {
    fn answers(
        settings: AzureBalancerSettings,
        mut cloud: BalancerCloud,
        services: &[BatchService<'a>],
        goals: Goals,
    ) -> Vec<Result<Progress>> {
        let mut taken = TakenPlaces::default();
        let mut answers: Vec<Option<Result<Progress>>> = Vec::new();
        let mut turns = Vec::new();
        for (it, goal) in services.iter().zip(goals) {
            let turn = goal.and_then(|(goal, memo)| {
                cloud.check_read(&goal.public.group)?;
                addresses::read_named(&goal, &settings, &mut cloud)?;
                let place = place(&goal, &settings, &cloud, &mut taken)?;
                let reach = ServiceReach::of(it.service, &goal.owner, Some(&place), &settings, &cloud);
                let is_elsewhere =
                    |name: &String| !same(name, &place.balancer) && has_parts(&cloud, name, &goal.names.base);
                let leaves = settings.all_balancer_names().iter().any(is_elsewhere);
                // Before it is on another load balancer its memo says so: whoever deletes it looks there, too.
                if !memo.is_new && !memo.is_moving && !same(&memo.balancer, &place.balancer) {
                    let memo = AzureMemo { is_moving: true, ..memo };
                    let why = format!("it is about to move to load balancer {}", place.balancer);
                    return Ok(Break(Progress::pending(memo.status(it.service), POLL, why)));
                }
                let memo = AzureMemo { is_moving: memo.is_moving || leaves, ..memo };
                Ok(Continue(ServiceTurn::new(it.service, it.nodes.clone(), goal, place, memo, reach)))
            });
            match turn {
                Ok(Break(announced)) => answers.push(Some(Ok(announced))),
                Ok(Continue(turn)) => {
                    turns.push(turn);
                    answers.push(None);
                }
                Err(error) => {
                    if matches!(error, Error::Invalid(_)) || error.is_quota() {
                        give_back(it.service, &settings, &mut cloud);
                    }
                    answers.push(Some(Err(error)));
                }
            }
        }
        let mut call = Self { settings, cloud, turns };
        call.run();
        let BatchCall { cloud, turns, .. } = call;
        merged(answers, turns.into_iter().map(|it| it.answer(&cloud)).collect())
    }

    fn run(&mut self) {
        self.hear_operations();
        self.ensure_publics();
        self.write_balancers();
        self.write_security();
        self.fill_pools();
        self.ensure_links();
        self.release_publics();
    }

    /// Tells why a change of an earlier call has failed. What it was about is written again by the next call.
    fn hear_operations(&mut self) {
        for turn in self.turns.iter_mut().filter(|it| !it.memo.operations.is_empty()) {
            let publics = turn.place.frontends.iter().filter_map(|it| self.cloud.public(it.public.as_deref()?));
            let mut shown = publics.chain(self.cloud.balancer(&turn.place.balancer)).chain(&self.cloud.security);
            if !shown.any(has_failed) {
                continue;
            }
            let subscription = &self.settings.account.network_subscription;
            for operation in std::mem::take(&mut turn.memo.operations) {
                match operations::failure(AzureApi::Network, subscription, &operation) {
                    Ok(None) => {}
                    Ok(Some(error)) | Err(error) => turn.refuse(error),
                }
            }
        }
    }

    /// Public addresses, side by side. In the first two calls of a Service the others that are not on their load balancer yet wait for its
    /// address, so that all of them are one write.
    fn ensure_publics(&mut self) {
        for turn in self.turns.iter_mut().filter(|it| it.is_served()) {
            for frontend in turn.goal.frontends.clone() {
                let owner = &turn.service.owner;
                match addresses::ensure_public(owner, &turn.goal, &frontend, &self.settings, &mut self.cloud) {
                    Ok(PublicState::Ready) => {}
                    Ok(PublicState::Waits(why, operation)) => {
                        turn.has_addresses = false;
                        turn.begun(operation);
                        turn.wait(why);
                    }
                    Err(error) => turn.refuse(error),
                }
            }
        }
        let is_early = |it: &ServiceTurn<'_>| it.memo.is_new || it.memo.is_first;
        let is_held = self.turns.iter().any(|it| !it.has_addresses && it.is_served() && is_early(it));
        let Self { turns, cloud, .. } = self;
        for turn in turns.iter_mut().filter(|it| is_held && it.goes_on() && !is_placed(it, cloud)) {
            turn.has_addresses = false;
            turn.wait("public addresses of other Services are being made");
        }
    }

    fn write_balancers(&mut self) {
        let names = self.settings.all_balancer_names();
        // An address is on one load balancer at a time: who takes it along leaves first.
        for name in &names {
            let leaving = self.select(|turn, call| turn.goes_on() && call.moves_from(turn, name));
            self.write(name, &[], &leaving);
        }
        for name in &names {
            let present = self.select(|turn, call| {
                turn.goes_on()
                    && turn.place.balancer.eq_ignore_ascii_case(name)
                    && !names.iter().any(|it| call.moves_from(turn, it))
            });
            self.write(name, &present, &[]);
        }
        for name in &names {
            let leaving = self.select(|turn, call| turn.goes_on() && call.is_left_on(turn, name));
            self.write(name, &[], &leaving);
        }
        for at in 0..self.turns.len() {
            let moves = names.iter().any(|it| self.moves_from(&self.turns[at], it));
            if moves {
                self.turns[at].wait("it leaves its former load balancer first");
            }
        }
    }

    fn select(&self, is_meant: impl Fn(&ServiceTurn<'a>, &Self) -> bool) -> Vec<usize> {
        (0..self.turns.len()).filter(|at| is_meant(&self.turns[*at], self)).collect()
    }

    /// Whether something of a Service is on a load balancer that is not its own.
    fn is_left_on(&self, turn: &ServiceTurn<'a>, name: &str) -> bool {
        !turn.place.balancer.eq_ignore_ascii_case(name) && has_parts(&self.cloud, name, &turn.goal.names.base)
    }

    /// Whether an address that a Service is to have is on another load balancer, at a frontend of its own.
    fn moves_from(&self, turn: &ServiceTurn<'a>, name: &str) -> bool {
        let has = |public: &String| {
            self.cloud.frontend_of(name, public).is_some_and(|it| is_of(&turn.goal.names.base, text(it, "/name")))
        };
        self.is_left_on(turn, name) && turn.place.frontends.iter().filter_map(|it| it.public.as_ref()).any(has)
    }

    /// Writes a load balancer for these Services. If the API refuses that, halves of them are tried: the one that is refused costs no
    /// other its turn.
    fn write(&mut self, name: &str, present: &[usize], leaving: &[usize]) {
        let all = present.len() + leaving.len();
        if all == 0 {
            return;
        }
        let written = {
            let Self { settings, cloud, turns } = self;
            let member = |at: &usize| BalancerMember { goal: &turns[*at].goal, place: &turns[*at].place };
            let own_pool = |at: &usize| {
                let owner = &turns[*at].service.owner;
                (turns[*at].goal.names.base.as_str(), format!("{}-{}", owner.namespace, owner.name))
            };
            let members = BalancerMembers {
                present: present.iter().map(member).collect(),
                leaving: leaving.iter().map(own_pool).collect(),
            };
            write_balancer(settings, cloud, name, &members)
        };
        if matches!(&written, Err(Error::Invalid(_))) && all > 1 {
            let (first, second) = present.split_at(present.len() / 2);
            let (third, fourth) = leaving.split_at(leaving.len().div_ceil(2));
            self.write(name, first, third);
            self.write(name, second, fourth);
            return;
        }
        for at in present.iter().chain(leaving) {
            self.turns[*at].heard(&written);
        }
    }

    fn write_security(&mut self) {
        let meant = self.select(|turn, _| turn.is_served() && turn.has_addresses);
        let Self { settings, cloud, turns } = self;
        let mut members = Vec::new();
        let mut known = Vec::new();
        for at in meant {
            let turn = &turns[at];
            let addresses = turn.addresses(cloud);
            // An address of a subnet is known when the load balancer is written.
            if addresses.len() < turn.place.frontends.len() + turn.goal.additional.len() {
                continue;
            }
            let mut former = turn.reach.former.clone();
            addresses.iter().for_each(|it| _ = former.insert(it.clone()));
            let families = [IpFamily::Ipv4, IpFamily::Ipv6];
            let nodes = turn.nodes.iter().flat_map(|node| families.map(|it| node.address(AddressKind::InternalIp, it)));
            members.push(GroupMember {
                goal: turn.goal.security.as_ref(),
                nodes: nodes.flatten().map(str::to_owned).collect(),
                addresses,
                former,
                node_ports: turn.reach.node_ports.clone(),
                others: turn.reach.others.clone(),
            });
            known.push(at);
        }
        if members.is_empty() {
            return;
        }
        let written = write_group(settings, cloud, &members);
        known.into_iter().for_each(|at| turns[at].heard(&written));
    }

    fn fill_pools(&mut self) {
        let mut pools: Vec<(String, String, IpFamily, Vec<usize>)> = Vec::new();
        for (at, turn) in self.turns.iter().enumerate().filter(|(_, it)| it.goes_on()) {
            let balancer = &turn.place.balancer;
            for frontend in &turn.place.frontends {
                let pool = turn.goal.pool(&self.settings, frontend.family);
                match pools.iter_mut().find(|(other, name, ..)| other == balancer && *name == pool) {
                    Some((.., turns)) => turns.push(at),
                    None => pools.push((balancer.clone(), pool, frontend.family, vec![at])),
                }
            }
        }
        for (balancer, name, family, turns) in pools {
            let written = self.fill_pool(&balancer, &name, family, &turns);
            turns.iter().for_each(|at| self.turns[*at].heard(&written));
        }
    }

    /// Puts the nodes of all these Services into a pool that they share.
    fn fill_pool(&mut self, balancer: &str, name: &str, family: IpFamily, turns: &[usize]) -> Result<SharedWrite> {
        let id = self.settings.balancer_id(balancer);
        let Some(shown) = self.cloud.balancer(balancer) else { return Ok(SharedWrite::Done) };
        let mut nodes: SortedMap<&str, &Node> = SortedMap::new();
        for at in turns {
            self.turns[*at].nodes.iter().for_each(|it| _ = nodes.insert(it.name.as_str(), *it));
        }
        let nodes: Vec<&Node> = nodes.values().copied().collect();
        let goal = PoolGoal { name: name.to_owned(), family, nodes: pools::nodes_of(balancer, &nodes, &self.settings) };
        let step = pools::step(&self.settings, shown, &goal);
        let pool = id.child(&["backendAddressPools", name]);
        match step {
            PoolStep::Same => return Ok(SharedWrite::Done),
            PoolStep::Put(body) => {
                let over = part(shown, "backendAddressPools", name).cloned();
                match writes::put(AzureApi::Network, &pool, &body, over.as_ref())? {
                    AzureWritten::Begun(shown, Some(operation)) if is_changing(&shown) => {
                        return Ok(SharedWrite::Ends(vec![operation]));
                    }
                    AzureWritten::Begun(..) => {}
                    AzureWritten::Changed => {
                        return Ok(SharedWrite::waits(format!("pool {name} has changed meanwhile")));
                    }
                    AzureWritten::Busy(pause, why) => return Ok(SharedWrite::Waits(pause, why, None)),
                }
            }
            PoolStep::Members { joins, leaves } => {
                let left = members::follow(&pool.to_string(), &joins, &leaves)?;
                if let Some(why) = left.why {
                    return Ok(SharedWrite::waits(why));
                }
                if !left.operations.is_empty() {
                    return Ok(SharedWrite::Ends(left.operations));
                }
            }
        }
        let shown: Option<Value> = AzureApi::Network.get(&id).find()?;
        let waits = shown.as_ref().is_some_and(is_changing);
        self.cloud.set_balancer(balancer, shown);
        Ok(if waits {
            SharedWrite::waits(format!("load balancer {balancer} is being changed"))
        } else {
            SharedWrite::Done
        })
    }

    fn ensure_links(&mut self) {
        let Self { settings, cloud, turns } = self;
        for turn in turns.iter_mut().filter(|it| it.goes_on()) {
            // A Service without a memo may have been another controller's.
            let may_have = turn.memo.has_link
                || (turn.memo.is_new && turn.goal.is_internal && !turn.service.current_ingress.is_empty());
            let ensured = match (&turn.goal.link, turn.place.frontends.first()) {
                (Some(link), Some(frontend)) => {
                    let balancer = settings.balancer_id(&turn.place.balancer);
                    let id = balancer.child(&["frontendIPConfigurations", &frontend.name]).to_string();
                    let shown = cloud
                        .balancer(&turn.place.balancer)
                        .and_then(|it| part(it, "frontendIPConfigurations", &frontend.name));
                    let subnet = shown.map_or("", |it| text(it, "/properties/subnet/id"));
                    link.ensure(LinkedFrontend { owner: &turn.goal.owner, id: &id, subnet }, settings)
                }
                _ if may_have => private_link::remove(turn.service, settings),
                _ => Ok(None),
            };
            match ensured {
                Ok(None) => {}
                Ok(Some(why)) => turn.wait(why),
                Err(error) => turn.refuse(error),
            }
        }
    }

    /// Lets go of public addresses that Services do not have any more.
    fn release_publics(&mut self) {
        let Self { settings, cloud, turns } = self;
        for turn in turns.iter_mut().filter(|it| it.goes_on()) {
            let kept: Vec<String> = turn.place.frontends.iter().filter_map(|it| it.public.clone()).collect();
            let (base, owner) = (turn.goal.names.base.clone(), turn.goal.owner.clone());
            let unneeded: Vec<Value> =
                addresses::unneeded(&base, &owner, &kept, settings, cloud).into_iter().cloned().collect();
            for public in unneeded {
                match addresses::release(&owner, &public, settings, cloud) {
                    Ok(PublicState::Ready) => {}
                    Ok(PublicState::Waits(why, operation)) => {
                        turn.begun(operation);
                        turn.wait(why);
                    }
                    Err(error) => turn.refuse(error),
                }
            }
        }
    }
}

/// Whether something was begun for a Service, and no address was ever shown.
fn was_begun(service: &LoadBalancer) -> bool {
    service.memo.is_some() && service.current_ingress.is_empty()
}

/// Lets go of public addresses that were made for a Service before it was refused: nobody was ever shown them. One that cannot go now goes
/// in a later call.
fn give_back(service: &LoadBalancer, settings: &AzureBalancerSettings, cloud: &mut BalancerCloud) {
    if !was_begun(service) {
        return;
    }
    let owner = format!("{}/{}", service.owner.namespace, service.owner.name);
    let unneeded: Vec<Value> =
        addresses::unneeded(&service.name, &owner, &[], settings, cloud).into_iter().cloned().collect();
    for public in unneeded {
        if !cloud.is_used(text(&public, "/id")) {
            let _ = addresses::release(&owner, &public, settings, cloud);
        }
    }
}

/// Whether all frontends of a Service are on its load balancer.
fn is_placed(turn: &ServiceTurn<'_>, cloud: &BalancerCloud) -> bool {
    let shown = cloud.balancer(&turn.place.balancer);
    let has = |name: &str| shown.is_some_and(|it| part(it, "frontendIPConfigurations", name).is_some());
    turn.place.frontends.iter().all(|it| has(&it.name))
}

/// Whether something on a load balancer is called as a part of the Service with this base.
pub(crate) fn has_parts(cloud: &BalancerCloud, name: &str, base: &str) -> bool {
    let kinds = ["loadBalancingRules", "frontendIPConfigurations", "probes"];
    let shown = cloud.balancer(name);
    shown.is_some_and(|shown| {
        let mut parts = kinds.iter().flat_map(|kind| parts(shown, kind));
        parts.any(|it| is_of(base, text(it, "/name")))
    })
}
