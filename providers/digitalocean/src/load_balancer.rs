//! A load balancer for a Service, which is created by the name that holds the Service's UID, and gets the name that the
//! Service chose once it serves.

mod annotations;
mod certificate;
mod compare;
mod desired;
mod firewall;
mod health;
mod nodes;
mod ownership;
mod rules;

pub(crate) use self::annotations::{TABLE, WRITTEN};

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update, refuse_taken_name};
use aerostat_sdk::events::Warnings;
use aerostat_sdk::form::{Custom, Form as _};
use aerostat_sdk::key::Key;
use aerostat_sdk::nodes::in_region;
use aerostat_sdk::{Change, Deletion, Error, LoadBalancer, LoadBalancers, Progress, Result};

use self::annotations::{DISOWN, ID, NAME, TYPE};
use self::compare::{FieldDifference, difference};
use self::desired::Desired;
use self::nodes::Targets;
use crate::api::load_balancers::{self as api, Kind, ListedLoadBalancer, LoadBalancer as Live, Status};
use crate::api::tags;
use crate::provider::DigitalOcean;
use crate::settings::{KINDS, Settings};

impl LoadBalancers for DigitalOcean {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let call = Call::of(desired)?;
        if call.is_disowned()? { Ok(Progress::NotManaged) } else { backend::ensure(&call) }
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let call = Call::of(unwanted)?;
        if call.is_disowned()? { Ok(Deletion::Done) } else { backend::delete(&call) }
    }
}

/// One call about one Service.
struct Call<'a> {
    service: &'a LoadBalancer,
    settings: Settings,
}

impl Backend for Call<'_> {
    type Live = Live;

    const CLAIM: Option<&'static Key<Custom<String>>> = Some(&ID);

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        ID.form.parse(text).is_some()
    }

    fn pauses(&self) -> Pauses {
        self.settings.pauses
    }

    fn list(&self) -> Result<Vec<Found>> {
        Ok(api::list()?.into_iter().map(|it| self.shown(it)).collect())
    }

    fn find(&self, id: &str) -> Result<Option<Live>> {
        // A list that was read a moment ago costs nothing. What it lacks is asked about alone.
        let listed = if self.service.is_listed() { api::find_listed(id)? } else { None };
        listed.map_or_else(|| api::find(id), |it| Ok(Some(it)))
    }

    fn found(&self, live: &Live) -> Found {
        self.shown(live.listed())
    }

    fn can_create(&self) -> Result<()> {
        self.desired(None).map(drop)
    }

    fn create(&self, listed: &[Found]) -> Result<Creation> {
        let mut spec = self.desired(None)?.spec;
        refuse_taken_name(listed, &NAME, &spec.name, None)?;
        // The chosen name is written once it serves: until then, only this name proves that it is the Service's.
        spec.name.clone_from(&self.service.name);
        // For people: the cloud takes tags only at a creation, and never shows them.
        spec.tags.push(self.service.owner.mark()?.to_string());
        api::create(&spec, |live| self.found(live))
    }

    fn update(&self, live: &Live) -> Result<Update> {
        if live.is_being_built() {
            return Ok(Update::Building);
        }
        let desired = self.desired(Some(live))?;
        if desired.spec.name != live.name {
            refuse_taken_name(&self.list()?, &NAME, &desired.spec.name, Some(&live.id))?;
        }
        let written = match difference(live, &desired.spec) {
            FieldDifference::Everything => api::replace(&live.id, &desired.spec)?.map(Some),
            targets => write_targets(live, &targets)?.map(|()| None),
        };
        let live = match &written {
            Change::Done(Some(it)) if matches!(it.status, Status::New | Status::Other) => return Ok(Update::Building),
            Change::Done(Some(written)) if written.has_address() => written,
            Change::Done(_) => live,
            Change::Busy(why) => return Ok(Update::Busy(why.clone())),
        };
        if live.status == Status::Errored {
            return Err(Error::unavailable(format_args!(
                "{} is errored: the cloud could not build it, and does not say why. Delete it there, and another is built",
                live.title()
            )));
        }
        if let (Some(tag), Some(tags)) = (&self.settings.cluster_tag, &live.tags)
            && !tags.contains(tag)
        {
            backend::tag(self, &live.id)?;
        }
        Ok(Update::Done(desired.ingress(live)))
    }

    fn follow_nodes(&self, live: &Live) -> Result<Change<()>> {
        let chooses_itself = !live.tag.is_empty();
        if chooses_itself || live.kind == Kind::Other {
            return Ok(Change::Done(()));
        }
        let mut warnings = Warnings::default();
        let Ok(wanted) = self.targets(live, &mut warnings) else { return Ok(Change::Done(())) };
        let written = write_targets(live, &FieldDifference::of_targets(&live.droplet_ids, &wanted.droplets))?;
        if written == Change::Done(()) {
            warnings.emit();
        }
        Ok(written)
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        Ok(api::delete(id)?.into())
    }

    fn proof(&self, live: &Live) -> Result<Result<(), String>> {
        ownership::proof(self.service, live, &self.settings)
    }

    /// The cloud does not show the tags of load balancers that others have created.
    fn needs_tag(&self, live: &Live) -> bool {
        self.settings.cluster_tag.is_some() && live.tags.is_none()
    }

    fn tag(&self, id: &str) -> Result<()> {
        self.settings.cluster_tag.as_ref().map_or(Ok(()), |tag| tags::put_on_load_balancer(tag, id))
    }
}

impl<'a> Call<'a> {
    fn of(service: &'a LoadBalancer) -> Result<Self> {
        Ok(Self { service, settings: Settings::read()? })
    }

    fn is_disowned(&self) -> Result<bool> {
        Annotations::of(self.service).get(&DISOWN)
    }

    fn shown(&self, ListedLoadBalancer { id, name, kind }: ListedLoadBalancer) -> Found {
        let is_marked = name == self.service.name;
        let found = Found::new(&id, name, is_marked).annotation(ID.name, id);
        // An annotation that its author wrote stays, also if the load balancer has another type.
        let says = Annotations::of(self.service).text(TYPE.name).is_some();
        match KINDS.word(kind).filter(|_| !says) {
            Some(kind) => found.annotation(TYPE.name, kind),
            None => found,
        }
    }

    /// The desired load balancer, with the current certificate.
    fn desired(&self, live: Option<&Live>) -> Result<Desired> {
        let mut desired = Desired::of(self.service, &self.settings, live)?;
        let allowed = &self.settings.allowed_certificates;
        desired.tls.resolve(&mut desired.spec.forwarding_rules, live, allowed)?;
        std::mem::take(&mut desired.warnings).emit();
        Ok(desired)
    }

    /// The targets of a load balancer that there is.
    fn targets(&self, live: &Live, warnings: &mut Warnings) -> Result<Targets> {
        let region = desired::region(self.service, &self.settings, Some(live))?;
        Targets::of(&in_region(&self.service.nodes, &region, warnings), live.kind, live.network, warnings)
    }
}

fn write_targets(live: &Live, difference: &FieldDifference) -> Result<Change<()>> {
    difference.write_targets(|it| api::add_droplets(&live.id, it), |it| api::remove_droplets(&live.id, it))
}

#[cfg(test)]
mod tests;
