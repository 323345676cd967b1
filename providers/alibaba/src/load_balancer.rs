//! A Classic Load Balancer for a Service.

mod access;
pub(crate) mod annotations;
mod announced;
pub(crate) mod attributes;
mod building;
pub(crate) mod creation;
pub(crate) mod desired;
mod domains;
mod listening;
pub(crate) mod marks;
mod names;
mod new_parts;
mod parts;
pub(crate) mod reused;
pub(crate) mod unserved;
mod update;
pub(crate) mod words;

#[cfg(test)]
pub(crate) use self::annotations::PREFIX;
pub(crate) use self::annotations::TABLE;
pub(crate) use self::announced::ID;
pub(crate) use self::marks::{CLUSTER_UID, KEPT, SERVICE_UID};

use std::cell::Cell;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::{Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::{Change, Deletion, Error, Ingress, LoadBalancer, Progress, Result, clock, cluster};

use self::access::ServiceAccess;
use self::annotations::{ADDRESS_TYPE, ALL_WEIGHT, EXTERNAL_ADDRESS, GROUPS, HOSTNAME, PRESERVE};
use self::announced::AccessMemo;
use self::desired::{DesiredSlb, SlbOwner, of_machines};
use self::marks::{TagRelation, VENDOR_CLUSTER, VENDOR_NAME, relation};
use self::names::PartNames;
use self::update::SlbUpdate;
use crate::api::load_balancers::{self as balancers, SlbBalancer};
use crate::api::{AcsRefusal, SLB, vpcs};
use crate::remembered::MemoWords;
use crate::settings::VpcSettings;
use crate::settings::balancers::SlbSettings;

/// The finalizer of the vendor's controller.
pub(crate) const FINALIZER: &str = "service.k8s.alibaba/resources";

/// Takes one step towards it.
pub(crate) fn ensure(desired: &LoadBalancer, step: fn(&SlbCall<'_>) -> Result<Progress>) -> Result<Progress> {
    let (service, memo) = AccessMemo::split(desired, clock::now());
    let call = SlbCall { is_wanted: true, ..SlbCall::of(&service, memo)? };
    (&call.memo as &dyn MemoWords).with_progress(step(&call), desired, &service)
}

/// Takes one step towards its absence.
pub(crate) fn delete(unwanted: &LoadBalancer, step: fn(&SlbCall<'_>) -> Result<Deletion>) -> Result<Deletion> {
    let (service, memo) = AccessMemo::split(unwanted, clock::now());
    let call = SlbCall::of(&service, memo)?;
    (&call.memo as &dyn MemoWords).with_deletion(step(&call), unwanted, &service)
}

/// Those that have the vendor's tag with the Service's name.
pub(crate) fn named(service: &LoadBalancer) -> Result<Vec<Found>> {
    SlbCall::of(service, AccessMemo::default())?.list()
}

/// One call about one Service.
pub(crate) struct SlbCall<'a> {
    service: &'a LoadBalancer,
    region: String,
    vpc: String,
    settings: SlbSettings,
    cluster_uid: String,
    names: PartNames,
    memo: AccessMemo,
    /// Whether the call is to end with a load balancer, and not without one.
    is_wanted: bool,
}

impl<'a> SlbCall<'a> {
    fn of(service: &'a LoadBalancer, memo: AccessMemo) -> Result<Self> {
        let VpcSettings { region, vpc, .. } = VpcSettings::read()?;
        let settings = SlbSettings::read()?;
        let cluster_uid = cluster()?.uid;
        let names = PartNames::new(&service.owner, settings.cluster_id.as_ref().unwrap_or(&cluster_uid));
        Ok(Self { service, region, vpc, settings, cluster_uid, names, memo, is_wanted: false })
    }

    fn relation(&self, live: &SlbBalancer) -> TagRelation {
        relation(&live.tags, self.service, &self.cluster_uid, self.settings.cluster_id.as_deref())
    }

    /// Whether one is somebody's own, and stays when the Service goes: as the memo says, or the tags where it says nothing of it.
    fn is_reused(&self, live: &SlbBalancer) -> bool {
        reused::is_known(self.service, &live.id).unwrap_or_else(|| self.relation(live) != TagRelation::Own)
    }

    /// Whether one is another's, as its tags say: none of a cluster's is on one that is somebody's own.
    fn is_foreign(&self, live: &SlbBalancer) -> bool {
        match self.is_reused(live) {
            true => reused::mark(&live.tags).is_some(),
            false => self.relation(live) == TagRelation::Other,
        }
    }

    fn desired(&self, service: &LoadBalancer, live: Option<&SlbBalancer>) -> Result<DesiredSlb> {
        let live = live.map(|it| (it, if self.is_reused(it) { SlbOwner::Another } else { SlbOwner::Service }));
        DesiredSlb::of(service, &self.names, &self.region, live)
    }

    fn update_of<'u>(&'u self, live: &'u SlbBalancer, desired: &'u DesiredSlb) -> SlbUpdate<'u> {
        SlbUpdate {
            region: &self.region,
            balancer: live,
            names: &self.names,
            desired,
            access: self.access(),
            made: Cell::default(),
        }
    }

    fn access(&self) -> ServiceAccess<'_> {
        ServiceAccess {
            region: &self.region,
            service: self.service,
            cluster_uid: &self.cluster_uid,
            memo: &self.memo,
            longest: self.settings.pauses.create_again,
        }
    }

    /// Deletes it if it is there, and then its lists of access.
    fn delete_one(&self, live: Option<&SlbBalancer>) -> Result<(), AcsRefusal> {
        if let Some(live) = live {
            if live.delete_protection == "on" {
                let off = [("DeleteProtection", "off")];
                balancers::change(&self.region, "SetLoadBalancerDeleteProtection", &live.id, &off)?;
            }
            balancers::delete(&self.region, &live.id)?;
        }
        self.access().remove_all()
    }

    fn mark_kept(&self, live: &SlbBalancer) -> Result<(), AcsRefusal> {
        if live.tag(KEPT).is_none() {
            SLB.tag(&self.region, &live.id, &[(KEPT, "true")])?;
        }
        if live.delete_protection == "on" {
            let off = [("DeleteProtection", "off")];
            balancers::change(&self.region, "SetLoadBalancerDeleteProtection", &live.id, &off)?;
        }
        if live.modification_protection == "ConsoleProtection" {
            let none = [("ModificationProtectionStatus", "NonProtection")];
            balancers::change(&self.region, "SetLoadBalancerModificationProtection", &live.id, &none)?;
        }
        if live.tag(VENDOR_NAME).is_some() || live.tag(VENDOR_CLUSTER).is_some() {
            SLB.untag(&self.region, &live.id, &[VENDOR_NAME, VENDOR_CLUSTER])?;
        }
        Ok(())
    }
}

impl Backend for SlbCall<'_> {
    type Live = SlbBalancer;

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        crate::settings::dashed_id(reused::bare(text), ID).is_some()
    }

    fn pauses(&self) -> Pauses {
        self.settings.pauses
    }

    fn list(&self) -> Result<Vec<Found>> {
        // Ours have the vendor's tag, too.
        let all = balancers::tagged(&self.region, (VENDOR_NAME, &self.service.name))?;
        Ok(all.iter().map(|it| Found::new(&it.id, &it.name, self.relation(it) == TagRelation::Own)).collect())
    }

    fn find(&self, id: &str) -> Result<Option<SlbBalancer>> {
        let id = reused::bare(id);
        // A list that was read a moment ago costs nothing. What it lacks is asked about alone.
        if self.service.is_listed() {
            let listed = balancers::tagged(&self.region, (CLUSTER_UID, &self.cluster_uid))?;
            if let Some(listed) = listed.into_iter().find(|it| it.id == id) {
                return Ok(Some(listed));
            }
        }
        // An id of the other kind is none of this one's.
        let found = if id.starts_with(ID) { balancers::find(&self.region, id)? } else { None };
        if found.is_none() && self.is_wanted {
            reused::check_there(self.service, id)?;
            if self.memo.is_new() {
                return Err(Error::unavailable(format_args!(
                    "load balancer {id} is made, and the cloud does not show it yet"
                )));
            }
        }
        Ok(found)
    }

    fn found(&self, live: &SlbBalancer) -> Found {
        let id = if self.is_reused(live) { reused::memo(&live.id) } else { live.id.clone() };
        Found::new(id, &live.name, self.relation(live) == TagRelation::Own)
    }

    fn proof(&self, live: &SlbBalancer) -> Result<Result<(), String>> {
        if live.address_type == "internet" && self.settings.refuses_internet {
            return Ok(Err(reused::INTERNET.to_owned()));
        }
        Ok(reused::proof(self.service, &live.tags, &live.address, self.settings.adopts_by_id))
    }

    fn can_create(&self) -> Result<()> {
        reused::check_none(self.service)?;
        if Annotations::of(self.service).get(&ADDRESS_TYPE)? == "internet" {
            self.settings.allow_internet(ADDRESS_TYPE.name)?;
        }
        let desired = self.desired(self.service, None)?;
        creation::switches(self.service, &self.settings)?;
        if desired.has_instances() { Ok(()) } else { Err(LoadBalancer::without_nodes("")) }
    }

    fn create(&self, _listed: &[Found]) -> Result<Creation> {
        let sent = creation::send(self.service, &self.settings, &self.region, &self.vpc, &self.cluster_uid)?;
        let Creation::Begun(made) = sent else { return Ok(sent) };
        // It is there with the answer, and the next call is the first one that gives it parts.
        self.memo.give_parts(0, 0);
        Ok(Creation::Made(made))
    }

    fn update(&self, live: &SlbBalancer) -> Result<Update> {
        if self.is_foreign(live) {
            return Err(Error::invalid(format_args!(
                "{} has the tags of another Service, and is not touched",
                live.title()
            )));
        }
        let mut desired = self.desired(self.service, Some(live))?;
        let mut warnings = std::mem::take(&mut desired.warnings);
        let attributes = match self.is_reused(live) {
            true => Ok(()),
            false => attributes::write(self.service, &self.region, live),
        };
        let written = attributes.and_then(|()| self.update_of(live, &desired).write());
        match written {
            Ok(()) => {}
            Err(refusal) if refusal.is_busy() => return Ok(Update::Busy(refusal.error.why().to_owned())),
            Err(refusal) => return Err(refusal.error),
        }
        let elastic = if desired.is_elastic { vpcs::elastic_address(&self.region, &live.id)? } else { None };
        if desired.is_elastic && elastic.is_none() {
            warnings.add(
                "ServiceFieldsIgnored",
                format_args!(
                    "this has no effect here: annotation {}: no elastic address is bound to {}",
                    EXTERNAL_ADDRESS.name,
                    live.title()
                ),
            );
        }
        warnings.emit();
        let address = elastic.as_ref().unwrap_or(&live.address);
        if address.is_empty() {
            return Ok(Update::Building);
        }
        let hostname = Annotations::of(self.service).read(&HOSTNAME)?;
        Ok(Update::Done(Ingress::list(hostname.as_deref(), [&**address], desired.ip_mode())))
    }

    fn follow_nodes(&self, live: &SlbBalancer) -> Result<Change<()>> {
        if self.is_foreign(live) {
            return Ok(Change::Done(()));
        }
        // Where an annotation is refused, it is told by that refusal.
        let own: &[&str] = if self.is_reused(live) { &[GROUPS.name, ALL_WEIGHT.name] } else { &[] };
        let chosen = of_machines(self.service, own);
        let Ok(desired) = self.desired(&chosen, Some(live)) else {
            return Ok(Change::Done(()));
        };
        match self.update_of(live, &desired).follow_nodes() {
            Ok(()) => Ok(Change::Done(())),
            Err(refusal) if refusal.is_busy() => Ok(Change::Busy(refusal.error.why().to_owned())),
            Err(refusal) => Err(refusal.error),
        }
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        let live = balancers::find(&self.region, reused::bare(id))?;
        if let Some(live) = &live {
            if self.is_foreign(live) {
                return Ok(Removal::Foreign(format!("{} has the tags of another Service", live.title())));
            }
            if Annotations::of(self.service).text(PRESERVE.name).is_some() {
                let why = format!("annotation {} keeps {}", PRESERVE.name, live.title());
                // The protection and the tags of somebody's own stay as they are.
                return Ok(if self.is_reused(live) { Removal::Foreign(why) } else { Removal::Protected(why) });
            }
        }
        let removed = match &live {
            Some(live) if self.is_reused(live) => {
                let desired = DesiredSlb::default();
                self.update_of(live, &desired).remove_parts().and_then(|()| self.access().remove_all())
            }
            live => self.delete_one(live.as_ref()),
        };
        match removed {
            Ok(()) => Ok(Removal::Gone),
            Err(refusal) if refusal.is_busy() => Ok(Removal::Busy(refusal.error.why().to_owned())),
            Err(refusal) => Err(refusal.error),
        }
    }

    fn keep(&self, id: &str) -> Result<Change<()>> {
        let Some(live) = balancers::find(&self.region, id)? else { return Ok(Change::Done(())) };
        match self.mark_kept(&live) {
            Ok(()) => Ok(Change::Done(())),
            Err(refusal) if refusal.is_busy() => Ok(Change::Busy(refusal.error.why().to_owned())),
            Err(refusal) => Err(refusal.error),
        }
    }
}

#[cfg(test)]
mod tests;
