//! The account's load balancers: how they come to be, change and go.

mod behaviour;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::{Value, json};

pub use self::behaviour::{Behaviour, Creation};

use crate::simulator::{Answer, lists};

use super::certificates::Certificates;
use super::droplets::Droplets;
use super::errors;
use super::listing::Listing;
use super::load_balancer::{self, Attributes, Desired, LoadBalancer, LoadBalancerStatus, Neighbours};
use super::tags::Tags;
use super::vpcs::Vpcs;

/// How long a load balancer keeps its size after its creation, and after it was given another.
const RESIZE: Duration = Duration::from_hours(1);

/// The beginning of the account's own addresses: one of the ranges set aside for documentation.
const OWN: [u8; 3] = [198, 51, 100];

/// The load balancers in the order of their making. Tests change them at any time; the next answer shows it.
#[derive(Debug)]
pub struct LoadBalancers {
    state: Mutex<State>,
    droplets: Arc<Droplets>,
    certificates: Arc<Certificates>,
    vpcs: Arc<Vpcs>,
    tags: Arc<Tags>,
}

#[derive(Debug)]
struct State {
    all: Vec<LoadBalancer>,
    /// The names of load balancers that requests deleted, and when.
    deleted: Vec<(String, SystemTime)>,
    behaviour: Behaviour,
    /// How many addresses were given away.
    addresses: u16,
}

/// The body of requests that add targets or take them away.
#[derive(Deserialize)]
struct Targets {
    droplet_ids: BTreeSet<u64>,
}

/// The answer to a request that is refused.
type Refused = Box<Answer>;

impl LoadBalancers {
    pub(super) fn new(
        behaviour: Behaviour,
        droplets: Arc<Droplets>,
        certificates: Arc<Certificates>,
        vpcs: Arc<Vpcs>,
        tags: Arc<Tags>,
    ) -> LoadBalancers {
        let state = Mutex::new(State { all: Vec::new(), deleted: Vec::new(), behaviour, addresses: 0 });
        LoadBalancers { state, droplets, certificates, vpcs, tags }
    }

    /// Changes how load balancers behave from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.now().behaviour);
    }

    /// Adds a load balancer, in the place of one with the same id.
    pub fn insert(&self, load_balancer: LoadBalancer) {
        let mut state = self.now();
        state.all.retain(|it| it.id != load_balancer.id);
        state.all.push(load_balancer);
    }

    /// Takes a load balancer away: from now on there is none with this id.
    pub fn remove(&self, id: &str) -> Option<LoadBalancer> {
        self.now().remove(id)
    }

    /// Changes a load balancer. One that is made active gets its addresses.
    ///
    /// # Panics
    ///
    /// Panics if there is none with this id.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut LoadBalancer)) {
        let mut state = self.now();
        change(state.find(id).unwrap_or_else(|| panic!("there is no load balancer {id} to change")));
        state.address();
    }

    /// A copy of a load balancer as it is now.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<LoadBalancer> {
        let found = self.now().find(id).cloned();
        found.map(|it| self.present(it))
    }

    /// Copies of all as they are now, whatever lists show.
    #[must_use]
    pub fn all(&self) -> Vec<LoadBalancer> {
        let all = self.now().all.clone();
        all.into_iter().map(|it| self.present(it)).collect()
    }

    /// `GET /v2/load_balancers/{id}`.
    pub(super) fn one(&self, id: &str) -> Answer {
        let mut state = self.now();
        let behaviour = state.behaviour;
        let Some(load_balancer) = state.find(id) else { return errors::not_found() };
        let answer = Answer::ok(&json!({ "load_balancer": self.object(load_balancer, behaviour) }));
        load_balancer.reads += 1;
        answer
    }

    /// `GET /v2/load_balancers`.
    pub(super) fn page(&self, query: &[(String, String)]) -> Answer {
        let listing = match Listing::new(query, &[]) {
            Ok(listing) => listing,
            Err(message) => return errors::bad_request(message),
        };
        let mut state = self.now();
        let behaviour = state.behaviour;
        let is_shown = |it: &LoadBalancer| it.listed && lists::shows(it.created_at, behaviour.lists_late_by);
        let shown: Vec<_> = state.all.iter_mut().filter(|it| is_shown(it)).map(RefCell::new).collect();
        listing.answer("load_balancers", &shown, |balancer| {
            balancer.borrow_mut().reads += 1;
            self.object(&balancer.borrow(), behaviour)
        })
    }

    /// `POST /v2/load_balancers`.
    pub(super) fn create(&self, body: &[u8]) -> Answer {
        self.created(body).unwrap_or_else(|refused| *refused)
    }

    fn created(&self, body: &[u8]) -> Result<Answer, Refused> {
        let desired = parsed::<Desired>(body)?;
        let attributes = desired.attributes(None).map_err(invalid)?;
        let mut state = self.now();
        if state.behaviour.limit.is_some_and(|limit| state.all.len() >= limit) {
            return Err(invalid("you have reached the limit of load balancers for this account"));
        }
        self.check(&state, None, &attributes)?;
        if let Some(ip) = desired.ip {
            if ip.octets()[..3] != OWN {
                return Err(invalid(format!("ip {ip} does not belong to this account")));
            }
            if state.all.iter().any(|it| it.ip == Some(ip)) {
                return Err(invalid(format!("ip {ip} is in use")));
            }
        }
        let id = uuid::Uuid::new_v4().to_string();
        let mut load_balancer = LoadBalancer::being_created(id, attributes, SystemTime::now());
        load_balancer.tags.clone_from(&desired.tags);
        let answer = Answer::accepted(&json!({ "load_balancer": self.object(&load_balancer, state.behaviour) }));
        // The address is taken now, and shown once the load balancer is active.
        load_balancer.ip = desired.ip;
        desired.tags.iter().for_each(|it| self.tags.insert(it));
        state.all.push(load_balancer);
        Ok(answer)
    }

    /// `PUT /v2/load_balancers/{id}`.
    pub(super) fn replace(&self, id: &str, body: &[u8]) -> Answer {
        self.replaced(id, body).unwrap_or_else(|refused| *refused)
    }

    fn replaced(&self, id: &str, body: &[u8]) -> Result<Answer, Refused> {
        let mut state = self.now();
        let live = state.free(id)?.clone();
        let desired = parsed::<Desired>(body)?;
        let attributes = desired.attributes(Some(&live.attributes)).map_err(invalid)?;
        for (name, wanted, is) in [
            ("type", &attributes.kind, &live.attributes.kind),
            ("network", &attributes.network, &live.attributes.network),
            ("network_stack", &attributes.network_stack, &live.attributes.network_stack),
            ("vpc_uuid", &attributes.vpc_uuid, &live.attributes.vpc_uuid),
            ("region", &attributes.region, &live.attributes.region),
        ] {
            if wanted != is {
                return Err(invalid(format!("{name} cannot be changed from {is} to {wanted}")));
            }
        }
        self.check(&state, Some(id), &attributes)?;
        let now = SystemTime::now();
        let resized = attributes.size_unit != live.attributes.size_unit;
        if resized && live.resized_at.unwrap_or(live.created_at) + RESIZE > now {
            return Err(invalid("a load balancer can be resized once an hour, and not in its first hour"));
        }
        let behaviour = state.behaviour;
        let load_balancer = state.free(id)?;
        load_balancer.attributes = attributes;
        load_balancer.changed_at = now;
        if behaviour.replacements_are_new {
            (load_balancer.status, load_balancer.reads) = (LoadBalancerStatus::New, 0);
        }
        if resized {
            load_balancer.resized_at = Some(now);
        }
        Ok(Answer::ok(&json!({ "load_balancer": self.object(load_balancer, behaviour) })))
    }

    /// `DELETE /v2/load_balancers/{id}`.
    pub(super) fn delete(&self, id: &str) -> Answer {
        let mut state = self.now();
        let Some(deleted) = state.remove(id) else { return errors::not_found() };
        state.deleted.push((deleted.attributes.name, SystemTime::now()));
        Answer::no_content()
    }

    /// `POST /v2/load_balancers/{id}/droplets`.
    pub(super) fn add_targets(&self, id: &str, body: &[u8]) -> Answer {
        self.retargeted(id, body, |now, named| now.union(named).copied().collect()).unwrap_or_else(|refused| *refused)
    }

    /// `DELETE /v2/load_balancers/{id}/droplets`.
    pub(super) fn remove_targets(&self, id: &str, body: &[u8]) -> Answer {
        self.retargeted(id, body, |now, named| now.difference(named).copied().collect())
            .unwrap_or_else(|refused| *refused)
    }

    fn retargeted(
        &self,
        id: &str,
        body: &[u8],
        change: impl FnOnce(&BTreeSet<u64>, &BTreeSet<u64>) -> Vec<u64>,
    ) -> Result<Answer, Refused> {
        let mut state = self.now();
        let live = state.free(id)?.attributes.clone();
        let Targets { droplet_ids } = parsed(body)?;
        if !live.tag.is_empty() {
            return Err(invalid("droplets of a load balancer with a tag are chosen by the tag"));
        }
        let named = Vec::from_iter(droplet_ids.iter().copied());
        load_balancer::droplets(&live, &named, &self.droplets).map_err(invalid)?;
        let targets = BTreeSet::from_iter(self.targets(&live));
        let wanted = Attributes { droplet_ids: change(&targets, &droplet_ids), ..live };
        if wanted.droplet_ids.len() > targets.len() {
            state.targets_allowed(&wanted)?;
        }
        let load_balancer = state.free(id)?;
        load_balancer.attributes = wanted;
        load_balancer.changed_at = SystemTime::now();
        Ok(Answer::no_content())
    }

    /// Tags a load balancer. Returns whether there is one with this id.
    pub(super) fn tag(&self, id: &str, tag: &str) -> bool {
        let mut state = self.now();
        let Some(load_balancer) = state.find(id) else { return false };
        if !load_balancer.tags.iter().any(|it| it == tag) {
            load_balancer.tags.push(tag.to_owned());
        }
        true
    }

    /// Checks what a load balancer is to be, beside the others of the account. `id` is its own, if it has one already.
    fn check(&self, state: &State, id: Option<&str>, attributes: &Attributes) -> Result<(), Refused> {
        let (droplets, certificates, vpcs) = (&*self.droplets, &*self.certificates, &*self.vpcs);
        load_balancer::check(attributes, Neighbours { droplets, certificates, vpcs }).map_err(invalid)?;
        state.targets_allowed(attributes)?;
        let mut others = state.all.iter().filter(|it| Some(it.id.as_str()) != id);
        let is_taken = others.any(|it| it.name() == attributes.name) || state.is_held(&attributes.name);
        if state.behaviour.names_are_unique && is_taken {
            return Err(invalid("There is already a load balancer with that name"));
        }
        Ok(())
    }

    /// The object as it is shown under this behaviour.
    fn object(&self, load_balancer: &LoadBalancer, behaviour: Behaviour) -> Value {
        let mut object = load_balancer.object(&self.targets(&load_balancer.attributes));
        if behaviour.defaults_left_out {
            load_balancer::leave_out_defaults(&mut object);
        }
        object
    }

    /// The targets of a load balancer as they are now: a droplet that is gone is no target any more.
    fn targets(&self, attributes: &Attributes) -> Vec<u64> {
        if attributes.tag.is_empty() {
            self.droplets.present(&attributes.droplet_ids)
        } else {
            self.droplets.tagged(&attributes.tag)
        }
    }

    /// The load balancer without the droplets that are gone.
    fn present(&self, mut load_balancer: LoadBalancer) -> LoadBalancer {
        let named = &mut load_balancer.attributes.droplet_ids;
        *named = self.droplets.present(named);
        load_balancer
    }

    /// The load balancers as time has made them.
    fn now(&self) -> MutexGuard<'_, State> {
        // A test that panics inside `update` has failed already.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.mature(SystemTime::now());
        state
    }
}

impl State {
    /// Ends the creations whose time has come.
    fn mature(&mut self, now: SystemTime) {
        let Behaviour { creation, creations_fail, .. } = self.behaviour;
        let status = if creations_fail { LoadBalancerStatus::Errored } else { LoadBalancerStatus::Active };
        for it in self.all.iter_mut().filter(|it| it.status == LoadBalancerStatus::New) {
            let done = match creation {
                Creation::Takes(time) => it.created_at + time <= now,
                Creation::Reads(count) => it.reads >= count,
                Creation::Stuck => false,
            };
            if done {
                it.status = status;
            }
        }
        self.address();
    }

    /// Gives addresses to those that are active and have none.
    fn address(&mut self) {
        for it in self.all.iter_mut().filter(|it| it.status == LoadBalancerStatus::Active) {
            let [high, low] = self.addresses.to_be_bytes();
            let mut used = false;
            if it.ip.is_none() {
                used = true;
                it.ip = Some(match it.attributes.network.as_str() {
                    "INTERNAL" => Ipv4Addr::new(10, 255, high, low),
                    // The second of the ranges set aside for documentation, and what follows it.
                    _ => Ipv4Addr::new(203, high, 113, low),
                });
            }
            if it.ipv6.is_none() && it.attributes.network_stack == "DUALSTACK" {
                used = true;
                it.ipv6 = Some(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, u16::from_be_bytes([high, low])));
            }
            self.addresses += u16::from(used);
        }
    }

    fn remove(&mut self, id: &str) -> Option<LoadBalancer> {
        let place = self.all.iter().position(|it| it.id == id)?;
        Some(self.all.remove(place))
    }

    fn find(&mut self, id: &str) -> Option<&mut LoadBalancer> {
        self.all.iter_mut().find(|it| it.id == id)
    }

    /// One that can be changed now.
    fn free(&mut self, id: &str) -> Result<&mut LoadBalancer, Refused> {
        let Behaviour { busy, new_ones_are_busy, .. } = self.behaviour;
        let load_balancer = self.find(id).ok_or_else(|| Box::new(errors::not_found()))?;
        let new = load_balancer.status == LoadBalancerStatus::New;
        if load_balancer.changed_at + busy > SystemTime::now() || (new && new_ones_are_busy) {
            let words = "Load Balancer can't be updated while it processes previous actions";
            return Err(Box::new(errors::forbidden(words)));
        }
        Ok(load_balancer)
    }

    /// Whether a load balancer with this name was deleted so lately that the name is not free.
    fn is_held(&self, name: &str) -> bool {
        let freed = SystemTime::now().checked_sub(self.behaviour.names_freed_late_by);
        self.deleted.iter().any(|(deleted, at)| deleted == name && freed.is_some_and(|freed| *at > freed))
    }

    fn targets_allowed(&self, attributes: &Attributes) -> Result<(), Refused> {
        match self.behaviour.targets {
            Some(limit) if attributes.droplet_ids.len() > limit => {
                Err(invalid(format!("a load balancer can have at most {limit} droplets")))
            }
            _ => Ok(()),
        }
    }
}

fn parsed<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body)
        .map_err(|error| Box::new(errors::bad_request(&format!("the body cannot be read: {error}"))))
}

fn invalid(message: impl Into<String>) -> Refused {
    Box::new(errors::invalid(&message.into()))
}
