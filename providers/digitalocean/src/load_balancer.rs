//! A load balancer for a Service: one step at a time, and no write without proof of ownership.
//!
//! A new one is announced in the memo, created by the name that holds the Service's UID, remembered by its id, and gets
//! the name that the Service chose once it serves. Whatever is interrupted is found again: by the id, or by that name.

mod annotations;
mod certificate;
mod compare;
mod deletion;
mod firewall;
mod forms;
mod health;
mod memo;
mod nodes;
mod ownership;
mod reading;
mod rules;
mod status;
mod warnings;
mod wish;

pub(crate) use self::annotations::{TABLE, WRITTEN};

use std::collections::BTreeSet;
use std::time::Duration;

use aerostat_sdk::annotations::{Annotations, shown};
use aerostat_sdk::{Deletion, Error, LoadBalancer, LoadBalancers, Progress, Result, clock, events};

use self::annotations::{DISOWN, ID};
use self::compare::{Difference, difference};
use self::memo::Memo;
use self::nodes::Targets;
use self::warnings::Warnings;
use self::wish::Wish;
use crate::DigitalOcean;
use crate::api::load_balancers::{self as api, Change, Creation, Kind, Listed, LoadBalancer as Live, Spec, Status};
use crate::api::tags;
use crate::settings::Settings;

/// How soon to come back where there is nothing to wait for but the memo.
const AT_ONCE: Duration = Duration::ZERO;

impl LoadBalancers for DigitalOcean {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let call = Call::of(desired)?;
        if call.is_disowned()? {
            return Ok(Progress::NotManaged);
        }
        match Memo::of(desired)? {
            None => call.begin(),
            Some(Memo::Id(id)) => match api::find(&id)? {
                Some(live) => call.update(&live),
                None => call.replace_lost(&id),
            },
            Some(Memo::Untagged(id)) => call.tag_adopted(&id),
            Some(memo @ (Memo::Creating { .. } | Memo::Lost { .. })) => call.create(&memo),
        }
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let call = Call::of(unwanted)?;
        if call.is_disowned()? {
            return Ok(Deletion::Done);
        }
        match Memo::of(unwanted)? {
            // Before its id alone is remembered, nobody has made sure that no other Service has it.
            None | Some(Memo::Untagged(_)) => call.delete_unremembered(),
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
        Ok(Self { service, annotations: Annotations::of(service), settings: Settings::read()? })
    }

    fn is_disowned(&self) -> Result<bool> {
        Ok(self.annotations.read(&DISOWN)?.unwrap_or(false))
    }

    /// Nothing is remembered: either one is adopted, or a creation is announced. Nothing is written.
    fn begin(&self) -> Result<Progress> {
        if let Some(id) = self.annotations.read(&ID)? {
            match api::find(&id)? {
                Some(live) if ownership::is_proven(self.service, &live, &self.settings)? => {
                    return Ok(self.adopt(&live));
                }
                Some(live) => return Err(ownership::unproven(&live)),
                None => events::warning(
                    None,
                    "LoadBalancerNotFound",
                    &format!("annotation {} names load balancer {id}, which does not exist: another is built", ID.name),
                ),
            }
        }
        self.announce()
    }

    /// As [`Self::remember`], for what others have built: the cluster's tag may be missing, and the cloud shows no tags.
    fn adopt(&self, live: &Live) -> Progress {
        if self.settings.cluster.tag().is_none() || live.tags.is_some() {
            return self.remember(&live.listed());
        }
        let status = status::owned(self.service, &live.listed()).memo(Memo::Untagged(live.id.clone()).to_string());
        let because = format_args!("{} is this Service's from now on, and gets the cluster's tag", live.title());
        Progress::pending(status, AT_ONCE, because)
    }

    /// Puts the cluster's tag on what was adopted, once.
    fn tag_adopted(&self, id: &str) -> Result<Progress> {
        if let Some(tag) = self.settings.cluster.tag() {
            put_tag(tag, id)?;
        }
        let status = status::announced(self.service, &Memo::Id(id.to_owned()));
        Ok(Progress::pending(status, AT_ONCE, format_args!("load balancer {id} has the cluster's tag")))
    }

    /// It is proven to be the Service's. It is touched when the host has kept that, and no other Service has it.
    fn remember(&self, live: &Listed) -> Progress {
        let status = status::owned(self.service, live);
        Progress::pending(status, AT_ONCE, format_args!("{} is this Service's from now on", live.title()))
    }

    /// Says that one is to be created, if it can be.
    fn announce(&self) -> Result<Progress> {
        self.wish(None)?;
        let name = &self.service.name;
        let memo = Memo::Creating { name: name.clone(), since: clock::now() };
        let status = status::announced(self.service, &memo);
        Ok(Progress::pending(status, AT_ONCE, format_args!("load balancer {name} is about to be created")))
    }

    /// What the Service asks for, with the certificate that holds now.
    fn wish(&self, live: Option<&Live>) -> Result<Wish> {
        let mut wish = Wish::of(self.service, &self.settings, live)?;
        wish.certificate.resolve(&mut wish.spec.forwarding_rules, live)?;
        std::mem::take(&mut wish.warnings).emit();
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
            (Memo::Creating { .. }, None) if self.annotations.text(ID.name).is_some() => return self.begin(),
            (Memo::Creating { .. } | Memo::Id(_) | Memo::Untagged(_), _) => {}
        }
        if !memo.is_fresh(clock::now()) {
            return self.announce();
        }
        let mut wish = self.wish(None)?;
        refuse_taken(&all, &wish.spec.name, None)?;
        // The chosen name comes once it serves: until then, only this name proves whose it is.
        wish.spec.name.clone_from(&self.service.name);
        match api::create(&wish.spec)? {
            Creation::Begun(live) => {
                let status = status::owned(self.service, &live.listed());
                let because = format_args!("the cloud builds {}", live.title());
                Ok(Progress::pending(status, self.settings.poll_interval, because))
            }
            Creation::Unknown(why) | Creation::NameTaken(why) => {
                events::warning(
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
        Progress::pending(status::announced(self.service, memo), left.min(self.settings.poll_interval), because)
    }

    /// The one that was the Service's is gone: another is built, as soon as the list agrees.
    fn replace_lost(&self, id: &str) -> Result<Progress> {
        if api::list()?.iter().any(|it| it.id == id) {
            return Err(Error::unavailable(format_args!(
                "load balancer {id} does not exist, says the cloud, and lists it"
            )));
        }
        events::warning(
            None,
            "LoadBalancerNotFound",
            &format!("load balancer {id} of this Service does not exist any more: another is built"),
        );
        self.announce()
    }

    /// It is there, and the Service's: writes what differs, and judges what came of it.
    fn update(&self, live: &Live) -> Result<Progress> {
        if live.is_being_built() {
            return Ok(self.wait_until_built(live));
        }
        self.warn_of_other_id(live);
        let (wish, written) = match self.write(live) {
            Ok(written) => written,
            Err(refused @ (Error::Invalid(_) | Error::Denied(_))) => return self.follow_nodes(live, refused),
            Err(error @ (Error::RetryAfter(_) | Error::Unavailable(_))) => return Err(error),
        };
        let live = match &written {
            Change::Done(Some(written)) if matches!(written.status, Status::New | Status::Other) => {
                return Ok(self.wait_until_built(written));
            }
            Change::Done(Some(written)) if written.has_address() => written,
            Change::Done(_) => live,
            Change::Busy(why) => return Ok(self.wait_until_free(live, why)),
        };
        if live.status == Status::Errored {
            return Err(Error::unavailable(format_args!(
                "{} is errored: the cloud could not build it, and does not say why. Delete it there, and another is built",
                live.title()
            )));
        }
        self.tag(live)?;
        Ok(Progress::Ready(status::served(self.service, live, &wish)))
    }

    /// Writes as little as makes it as wished.
    fn write(&self, live: &Live) -> Result<(Wish, Change<Option<Live>>)> {
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
        Ok((wish, written))
    }

    /// What the Service asks for was refused. Nodes come and go nevertheless: they are followed, and then it is told.
    fn follow_nodes(&self, live: &Live, refused: Error) -> Result<Progress> {
        let chooses_itself = !live.tag.is_empty();
        if chooses_itself || live.kind == Kind::Other {
            return Err(refused);
        }
        let mut warnings = Warnings::default();
        let Ok(region) = wish::region(self.service, &self.settings, &Spec::of(live)) else { return Err(refused) };
        let nodes = nodes::in_region(&self.service.nodes, &region, &mut warnings);
        let Ok(wanted) = Targets::of(&nodes, live.kind, live.network, &mut warnings) else { return Err(refused) };
        let (add, remove) = compare::targets(live, &wanted.droplets);
        match targets(&live.id, &add, &remove) {
            Ok(Change::Busy(why)) => Ok(self.wait_until_free(live, &why)),
            Ok(Change::Done(_)) => {
                warnings.emit();
                Err(refused)
            }
            // It may be the same refusal once more: the first one says why.
            Err(Error::Invalid(_) | Error::Denied(_)) => Err(refused),
            Err(error @ (Error::RetryAfter(_) | Error::Unavailable(_))) => Err(error),
        }
    }

    fn wait_until_free(&self, live: &Live, why: &str) -> Progress {
        let status = status::owned(self.service, &live.listed());
        Progress::pending(status, self.settings.poll_interval, why)
    }

    fn wait_until_built(&self, live: &Live) -> Progress {
        let status = status::owned(self.service, &live.listed());
        // A little later each time than the first: clouds like round numbers, and to look just before is to look twice.
        let after = self.settings.poll_interval + self.settings.poll_interval / 30;
        Progress::pending(status, after, format_args!("the cloud builds {}", live.title()))
    }

    fn warn_of_other_id(&self, live: &Live) {
        if let Some(other) = self.annotations.text(ID.name).filter(|it| !it.eq_ignore_ascii_case(&live.id)) {
            events::warning(
                None,
                "LoadBalancerIdIgnored",
                &format!("annotation {}: {} is ignored: this Service has {}", ID.name, shown(other), live.title()),
            );
        }
    }

    /// Puts the cluster's tag on it where the cloud says that it is not there.
    fn tag(&self, live: &Live) -> Result<()> {
        match (self.settings.cluster.tag(), &live.tags) {
            (Some(tag), Some(tags)) if !tags.iter().any(|it| it == tag) => put_tag(tag, &live.id),
            _ => Ok(()),
        }
    }
}

/// A name that is somebody else's is not asked for: the cloud would refuse it, or give it to two.
fn refuse_taken(all: &[Listed], name: &str, ours: Option<&str>) -> Result<()> {
    match all.iter().find(|it| it.name == name && Some(&*it.id) != ours) {
        None => Ok(()),
        Some(other) => Err(Error::invalid(format_args!(
            "annotation {}: {name:?} is the name of load balancer {}, which is not this Service's: choose another",
            annotations::NAME.name,
            other.id
        ))),
    }
}

/// Puts the cluster's tag on a load balancer. A token or a policy that does not allow it keeps no Service from its traffic.
fn put_tag(tag: &str, id: &str) -> Result<()> {
    match tags::put_on_load_balancer(tag, id) {
        Err(Error::Invalid(why) | Error::Denied(why)) => {
            let message = format!("load balancer {id} does not get the cluster's tag {tag}: {why}");
            events::warning(None, "LoadBalancerNotTagged", &message);
            Ok(())
        }
        done => done,
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
