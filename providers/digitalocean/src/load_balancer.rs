//! A load balancer for a Service: one step at a time, and no write without proof of ownership.
//!
//! A new one is announced in the memo, created by the name that holds the Service's UID, remembered by its id, and gets
//! the name that the Service chose once it serves. Whatever is interrupted is found again: by the id, or by that name.

mod annotations;
mod certificate;
mod compare;
mod described;
mod firewall;
mod health;
mod memo;
mod nodes;
mod ownership;
mod remarks;
mod rules;
mod standing;
mod wish;

pub(crate) use self::described::{WRITTEN, described};

use std::collections::BTreeSet;
use std::time::Duration;

use aerostat_sdk::{Error, LoadBalancer, LoadBalancers, Progress, Removal, Result, clock, notices};

use self::annotations::{Annotations, DISOWN, ID, shown};
use self::compare::{Difference, difference};
use self::memo::Memo;
use self::wish::Wish;
use crate::DigitalOcean;
use crate::api::load_balancers::{self as api, Change, Creation, Listed, LoadBalancer as Live, Status};
use crate::api::tags;
use crate::settings::{Settings, uuid};

/// How soon to come back where there is nothing to wait for but the memo.
const AT_ONCE: Duration = Duration::ZERO;

impl LoadBalancers for DigitalOcean {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let call = Call::of(desired)?;
        if call.annotations.flag(DISOWN)? {
            return Ok(Progress::Elsewhere);
        }
        match Memo::of(desired)? {
            None => call.begin(),
            Some(Memo::Id(id)) => match api::find(&id)? {
                Some(live) => call.update(&live),
                None => call.replace_lost(&id),
            },
            Some(memo @ (Memo::Creating { .. } | Memo::Lost { .. })) => call.create(&memo),
        }
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Removal> {
        let call = Call::of(unwanted)?;
        if call.annotations.flag(DISOWN)? {
            return Ok(Removal::Done);
        }
        match Memo::of(unwanted)? {
            None => call.delete_unremembered(),
            Some(Memo::Id(id)) => call.delete(&id),
            Some(memo @ (Memo::Creating { .. } | Memo::Lost { .. })) => call.delete_created(&memo),
        }
    }
}

/// One call about one Service.
struct Call<'a> {
    service: &'a LoadBalancer,
    annotations: Annotations<'a>,
    settings: Settings,
}

impl<'a> Call<'a> {
    fn of(service: &'a LoadBalancer) -> Result<Self> {
        Ok(Self { service, annotations: Annotations(&service.annotations), settings: Settings::read()? })
    }

    /// Nothing is remembered: either one is adopted, or a creation is announced. Nothing is written.
    fn begin(&self) -> Result<Progress> {
        if let Some(id) = self.annotations.parsed(ID, "the UUID of a load balancer", uuid)? {
            match api::find(&id)? {
                Some(live) if ownership::is_proven(self.service, &live, &self.settings) => {
                    return Ok(self.remember(&live.listed()));
                }
                Some(live) => return Err(ownership::unproven(&live)),
                None => notices::warning(
                    None,
                    "LoadBalancerNotFound",
                    &format!("annotation {ID} names load balancer {id}, which does not exist: another is built"),
                ),
            }
        }
        self.announce()
    }

    /// It is proven to be the Service's. It is touched when the host has kept that, and no other Service has it.
    fn remember(&self, live: &Listed) -> Progress {
        let standing = standing::owned(self.service, live);
        Progress::pending(standing, AT_ONCE, format_args!("{} is this Service's from now on", live.title()))
    }

    /// Says that one is to be created, if it can be.
    fn announce(&self) -> Result<Progress> {
        self.wish(None)?;
        let name = &self.service.name;
        let memo = Memo::Creating { name: name.clone(), since: clock::now() };
        let standing = standing::announced(self.service, &memo);
        Ok(Progress::pending(standing, AT_ONCE, format_args!("load balancer {name} is about to be created")))
    }

    /// What the Service asks for, with the certificate that holds now.
    fn wish(&self, live: Option<&Live>) -> Result<Wish> {
        let mut wish = Wish::of(self.service, &self.settings, live)?;
        wish.certificate.resolve(&mut wish.spec.forwarding_rules, live)?;
        std::mem::take(&mut wish.remarks).tell();
        Ok(wish)
    }

    /// Finds the one that was created, or creates it.
    fn create(&self, memo: &Memo) -> Result<Progress> {
        let all = api::list()?;
        if let Some(live) = all.iter().find(|it| it.name == self.service.name) {
            return Ok(self.remember(live));
        }
        let left = memo.remaining(self.settings.create_again_after, clock::now());
        match (memo, left) {
            (Memo::Lost { .. }, Some(left)) => return Ok(self.wait_for_lost(memo, left)),
            (Memo::Lost { .. }, None) => return self.begin(),
            // Nothing was made, and nothing will appear: by now the Service may name one to adopt.
            (Memo::Creating { .. }, None) if self.annotations.text(ID).is_some() => return self.begin(),
            (Memo::Creating { .. } | Memo::Id(_), _) => {}
        }
        let mut wish = self.wish(None)?;
        refuse_taken(&all, &wish.spec.name, None)?;
        // The chosen name comes once it serves: until then, only this name proves whose it is.
        wish.spec.name.clone_from(&self.service.name);
        match api::create(&wish.spec)? {
            Creation::Begun(live) => {
                let standing = standing::owned(self.service, &live.listed());
                let because = format_args!("the cloud builds {}", live.title());
                Ok(Progress::pending(standing, self.settings.poll_interval, because))
            }
            Creation::Unknown(why) | Creation::NameTaken(why) => {
                notices::warning(
                    None,
                    "LoadBalancerCreationUnclear",
                    &format!("load balancer {} may have been created or not: {why}", self.service.name),
                );
                let memo = Memo::Lost { name: self.service.name.clone(), since: clock::now() };
                Ok(self.wait_for_lost(&memo, self.settings.create_again_after))
            }
        }
    }

    fn wait_for_lost(&self, memo: &Memo, left: Duration) -> Progress {
        let because = format_args!(
            "the cloud did not say what became of load balancer {}: it is looked for, and created again if it is not \
             there in {} s",
            self.service.name,
            left.as_secs()
        );
        Progress::pending(standing::announced(self.service, memo), left.min(self.settings.poll_interval), because)
    }

    /// The one that was the Service's is gone: another is built, as soon as the list agrees.
    fn replace_lost(&self, id: &str) -> Result<Progress> {
        if api::list()?.iter().any(|it| it.id == id) {
            return Err(Error::unavailable(format_args!(
                "load balancer {id} does not exist, says the cloud, and lists it"
            )));
        }
        notices::warning(
            None,
            "LoadBalancerNotFound",
            &format!("load balancer {id} of this Service does not exist any more: another is built"),
        );
        self.announce()
    }

    /// It is there, and the Service's: writes what differs.
    fn update(&self, live: &Live) -> Result<Progress> {
        match live.status {
            Status::Active => {}
            Status::New | Status::Other => return Ok(self.wait_until_built(live)),
            Status::Errored => {
                return Err(Error::unavailable(format_args!(
                    "{} is errored: the cloud could not build it, and does not say why. Delete it there, and another \
                     is built",
                    live.title()
                )));
            }
        }
        if live.ip.is_empty() && live.ipv6.is_empty() {
            return Ok(self.wait_until_built(live));
        }
        self.warn_of_other_id(live);
        let wish = self.wish(Some(live))?;
        if wish.spec.name != live.name {
            refuse_taken(&api::list()?, &wish.spec.name, Some(&live.id))?;
        }
        let written = match difference(live, &wish.spec) {
            Difference::Nothing => Change::Done(None),
            Difference::Targets { add, remove } => targets(&live.id, &add, &remove)?,
            Difference::Everything => match api::replace(&live.id, &wish.spec)? {
                Change::Done(written) => Change::Done(Some(written)),
                Change::Busy(why) => Change::Busy(why),
            },
        };
        let live = match &written {
            Change::Done(Some(written)) if written.status == Status::New => return Ok(self.wait_until_built(written)),
            Change::Done(Some(written)) if !written.ip.is_empty() || !written.ipv6.is_empty() => written,
            Change::Done(_) => live,
            Change::Busy(why) => {
                let standing = standing::owned(self.service, &live.listed());
                return Ok(Progress::pending(standing, self.settings.poll_interval, why));
            }
        };
        self.tag(live)?;
        Ok(Progress::Ready(standing::served(self.service, live, &wish)))
    }

    fn wait_until_built(&self, live: &Live) -> Progress {
        let standing = standing::owned(self.service, &live.listed());
        // A little later each time than the first: clouds like round numbers, and to look just before is to look twice.
        let after = self.settings.poll_interval + self.settings.poll_interval / 30;
        Progress::pending(standing, after, format_args!("the cloud builds {}", live.title()))
    }

    fn warn_of_other_id(&self, live: &Live) {
        if let Some(other) = self.annotations.text(ID).filter(|it| !it.eq_ignore_ascii_case(&live.id)) {
            notices::warning(
                None,
                "LoadBalancerIdIgnored",
                &format!("annotation {ID}: {} is ignored: this Service has {}", shown(other), live.title()),
            );
        }
    }

    /// Puts the cluster's tag on it where the cloud says that it is not there.
    fn tag(&self, live: &Live) -> Result<()> {
        match (self.settings.cluster.tag(), &live.tags) {
            (Some(tag), Some(tags)) if !tags.iter().any(|it| it == tag) => tags::put_on_load_balancer(tag, &live.id),
            _ => Ok(()),
        }
    }

    /// Nothing is remembered of it: what the id annotation names and is proven to be ours, and what has our name.
    fn delete_unremembered(&self) -> Result<Removal> {
        if let Some(id) = self.annotations.text(ID).and_then(uuid)
            && let Some(live) = api::find(&id)?
            && ownership::is_proven(self.service, &live, &self.settings)
        {
            let standing = standing::owned(self.service, &live.listed());
            let because = format_args!("{} is this Service's, and deleted next", live.title());
            return Ok(Removal::pending(standing, AT_ONCE, because));
        }
        Ok(self.delete_named()?.unwrap_or(Removal::Done))
    }

    /// It was to be created: if it is not there, it may still come.
    fn delete_created(&self, memo: &Memo) -> Result<Removal> {
        if let Some(removal) = self.delete_named()? {
            return Ok(removal);
        }
        let Some(left) = memo.remaining(self.settings.create_again_after, clock::now()) else {
            return Ok(Removal::Done);
        };
        let because = format_args!(
            "load balancer {} may have been created, and may be listed late: it is looked for {} s more",
            self.service.name,
            left.as_secs()
        );
        Ok(Removal::pending(self.service.standing(), left.min(self.settings.poll_interval), because))
    }

    /// Deletes whatever has the name that holds the Service's UID; `None` if nothing has it.
    fn delete_named(&self) -> Result<Option<Removal>> {
        let mut removal = None;
        for live in api::list()?.iter().filter(|it| it.name == self.service.name) {
            match self.delete(&live.id)? {
                Removal::Done => removal = removal.or(Some(Removal::Done)),
                pending @ Removal::Pending(_) => removal = Some(pending),
            }
        }
        Ok(removal)
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        Ok(match api::delete(id)? {
            Change::Done(()) => Removal::Done,
            Change::Busy(why) => Removal::pending(self.service.standing(), self.settings.poll_interval, why),
        })
    }
}

/// A name that is somebody else's is not asked for: the cloud would refuse it, or give it to two.
fn refuse_taken(all: &[Listed], name: &str, ours: Option<&str>) -> Result<()> {
    match all.iter().find(|it| it.name == name && Some(&*it.id) != ours) {
        None => Ok(()),
        Some(other) => Err(Error::invalid(format_args!(
            "annotation {}: {name:?} is the name of load balancer {}, which is not this Service's: choose another",
            annotations::NAME,
            other.id
        ))),
    }
}

/// Adds first, so that somebody serves all the time.
fn targets(id: &str, add: &BTreeSet<u64>, remove: &BTreeSet<u64>) -> Result<Change<Option<Live>>> {
    if !add.is_empty()
        && let Change::Busy(why) = api::add_droplets(id, add)?
    {
        return Ok(Change::Busy(why));
    }
    if !remove.is_empty()
        && let Change::Busy(why) = api::remove_droplets(id, remove)?
    {
        return Ok(Change::Busy(why));
    }
    Ok(Change::Done(None))
}

#[cfg(test)]
mod tests;
