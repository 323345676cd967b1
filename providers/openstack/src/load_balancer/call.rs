//! One call about one Service, as the SDK's steps need it.

use std::time::Duration;

use aerostat_sdk::backend::{Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::form::Custom;
use aerostat_sdk::key::Key;
use aerostat_sdk::{Change, Deletion, Error, LoadBalancer, Result};

use super::annotations::{KEEP_FLOATING_IP, LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID};
use super::context::{BalancerCall, PART, is_memo};
use super::ownership::{self, BalancerRelation};
use super::{creation, floating, groups, removal, shown, update};
use crate::api::neutron;
use crate::api::octavia::{self, OctaviaBalancer};

impl BalancerCall<'_> {
    /// A load balancer, as the SDK's steps know it.
    fn as_found(&self, live: &OctaviaBalancer, is_owner: bool, is_marked: bool) -> Found {
        let id = if is_owner { live.id.clone() } else { format!("{}{PART}{}", live.id, self.service.owner.uid) };
        let found = Found::new(id, &live.name, is_marked);
        match &*self.address.borrow() {
            Some(address) => {
                found.annotation(LOAD_BALANCER_ID.name, &live.id).annotation(LOAD_BALANCER_ADDRESS.name, address)
            }
            None => found,
        }
    }

    /// Nothing is left of the load balancer: what was made beside it goes.
    ///
    /// # Errors
    ///
    /// Whatever Neutron answered.
    pub(crate) fn clean_up(&self) -> Result<Deletion> {
        // Of a Service that never had one, nothing was made beside it.
        if self.service.memo.is_none() && self.service.current_ingress.is_empty() {
            return Ok(Deletion::Done);
        }
        let keeps = aerostat_sdk::annotations::Annotations::of(self.service).get(&KEEP_FLOATING_IP).unwrap_or(true);
        if !keeps && let Some(lost) = floating::lost(self.service, &self.names)? {
            neutron::delete_floating_ip(&lost.id)?;
        }
        Ok(match groups::remove(self.service)? {
            Change::Done(()) => Deletion::Done,
            Change::Busy(why) => Deletion::pending(self.service.status(), Duration::from_millis(500), why),
        })
    }
}

impl Backend for BalancerCall<'_> {
    type Live = OctaviaBalancer;

    const CLAIM: Option<&'static Key<Custom<String>>> = Some(&LOAD_BALANCER_ID);

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        is_memo(text, &self.service.owner.uid)
    }

    fn pauses(&self) -> Pauses {
        self.settings.pauses
    }

    /// Octavia is at work for seconds, and takes no other change of the load balancer meanwhile.
    fn change_pause(&self) -> Duration {
        self.settings.pauses.poll
    }

    fn list(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let names = [Some(&self.names.name), self.names.former.as_ref(), Some(&self.names.legacy)];
        for name in names.into_iter().flatten() {
            // A deletion waits for the end of what is going, also where nobody remembers its id.
            for live in octavia::balancers_named(name)?.into_iter().filter(|it| self.deletes || !it.is_going()) {
                let is_owner = matches!(self.names.relation(&live), BalancerRelation::Owner { .. });
                found.push(self.as_found(&live, true, is_owner));
            }
            // The older name is looked for only where nothing has the newer one.
            if found.iter().any(|it| it.is_marked) {
                break;
            }
        }
        let mut ours = found.iter().filter(|it| it.is_marked);
        if let (false, Some(one), Some(other)) = (self.deletes, ours.next(), ours.next()) {
            return Err(Error::invalid(format_args!(
                "{} and {} both have this Service's name: rename one of them in the cloud, or delete it",
                one.title(),
                other.title()
            )));
        }
        Ok(found)
    }

    fn find(&self, id: &str) -> Result<Option<OctaviaBalancer>> {
        Ok(shown::balancer(self.service, self.whole(id))?.filter(|it| self.deletes || !it.is_going()))
    }

    fn found(&self, live: &OctaviaBalancer) -> Found {
        let is_owner = self.is_owner(live);
        // What is remembered was decided before.
        let is_marked = self.service.memo.is_some() || is_owner;
        self.as_found(live, is_owner, is_marked)
    }

    fn claimed_id<'f>(&self, found: &'f Found) -> &'f str {
        self.whole(&found.id)
    }

    fn can_create(&self) -> Result<()> {
        creation::can_create(self)
    }

    fn create(&self, _listed: &[Found]) -> Result<Creation> {
        creation::create(self)
    }

    fn update(&self, live: &OctaviaBalancer) -> Result<Update> {
        update::update(self, live)
    }

    fn follow_nodes(&self, live: &OctaviaBalancer) -> Result<Change<()>> {
        update::follow_nodes(self, live)
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        removal::step(self, self.whole(id), id.contains(PART))
    }

    /// Another Service's load balancer of this cluster, or a person's, may be shared.
    fn proof(&self, live: &OctaviaBalancer) -> Result<Result<(), String>> {
        if self.deletes {
            // Its tag is there if OpenStack's own controller has begun a part.
            let has_part =
                live.tags().contains(&self.names.name) && self.names.relation(live) == BalancerRelation::Shared;
            return Ok(if has_part { Ok(()) } else { Err("it has no part in it".to_owned()) });
        }
        match self.names.relation(live) {
            BalancerRelation::Owner { .. } => Ok(Ok(())),
            BalancerRelation::Foreign(word) => Ok(Err(ownership::others(live, &word))),
            BalancerRelation::Shared => update::can_share(self, live),
        }
    }
}
