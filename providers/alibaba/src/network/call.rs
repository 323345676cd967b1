//! One call about one Service: what the SDK asks of a cloud.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::{Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::{Change, Error, Ingress, LoadBalancer, Result, clock, cluster};

use super::annotations::{CERTIFICATES, PROTOCOLS};
use super::desired::{NlbDesired, zones};
use super::jobs::NlbJobs;
use super::names::{ID, NlbNames};
use super::step::{NlbStop, change};
use crate::api::network_load_balancers::{self as balancers, NlbBalancer};
use crate::api::{NLB, network_groups as groups, security_groups};
use crate::load_balancer::annotations::{ADDRESS_TYPE, ALL_WEIGHT, GROUPS, PRESERVE};
use crate::load_balancer::desired::of_machines;
use crate::load_balancer::marks::{CLUSTER_UID, KEPT, SERVICE_UID, TagRelation, VENDOR_CLUSTER, VENDOR_NAME, relation};
use crate::load_balancer::reused;
use crate::settings::VpcSettings;
use crate::settings::balancers::{NETWORKS, SlbSettings, has_networks};

/// One call about one Service.
pub(crate) struct NlbCall<'a> {
    pub(super) service: &'a LoadBalancer,
    pub(super) region: String,
    pub(super) vpc: String,
    pub(super) settings: SlbSettings,
    pub(super) cluster_uid: String,
    pub(super) names: NlbNames,
    pub(super) jobs: NlbJobs,
    /// Whether the call is to end with a load balancer, and not without one.
    pub(super) is_wanted: bool,
}

impl<'a> NlbCall<'a> {
    pub(super) fn of(service: &'a LoadBalancer, jobs: NlbJobs) -> Result<Self> {
        let VpcSettings { region, vpc, .. } = VpcSettings::read()?;
        let settings = SlbSettings::read()?;
        let cluster_uid = cluster()?.uid;
        let names = NlbNames::new(&service.owner, settings.cluster_id.as_ref().unwrap_or(&cluster_uid));
        Ok(Self { service, region, vpc, settings, cluster_uid, names, jobs, is_wanted: false })
    }

    /// The relation of what has these tags to the Service.
    pub(super) fn relation(&self, tags: &[(String, String)]) -> TagRelation {
        relation(tags, self.service, &self.cluster_uid, self.settings.cluster_id.as_deref())
    }

    /// Whether one is somebody's own, and stays when the Service goes: as the memo says, or the tags where it says nothing of it.
    pub(super) fn is_reused(&self, live: &NlbBalancer) -> bool {
        reused::is_known(self.service, &live.id).unwrap_or_else(|| self.relation(&live.tags) != TagRelation::Own)
    }

    /// Whether one is another's, as its tags say: none of a cluster's is on one that is somebody's own.
    fn is_foreign(&self, live: &NlbBalancer) -> bool {
        match self.is_reused(live) {
            true => reused::mark(&live.tags).is_some(),
            false => self.relation(&live.tags) == TagRelation::Other,
        }
    }

    fn desired(&self, service: &LoadBalancer, live: Option<&NlbBalancer>) -> Result<NlbDesired> {
        NlbDesired::of(service, &self.names, &self.region, live, live.is_some_and(|it| self.is_reused(it)))
    }

    /// The tags of what is made: the vendor's, and ours.
    pub(super) fn tags(&self) -> Vec<(&str, &str)> {
        let mut tags = vec![(VENDOR_NAME, &*self.service.name)];
        tags.extend(self.settings.cluster_id.as_deref().map(|it| (VENDOR_CLUSTER, it)));
        tags.extend([(CLUSTER_UID, &*self.cluster_uid), (SERVICE_UID, &*self.service.owner.uid)]);
        tags
    }

    /// The tag by which the Service's parts are listed: those of the vendor's controller have it, too.
    pub(super) fn mark(&self) -> (&str, &str) {
        (VENDOR_NAME, &self.service.name)
    }

    /// Sends a change that may be a job.
    pub(super) fn send(&self, action: &str, pairs: &[(&str, &str)]) -> Result<(), NlbStop> {
        let answer = NLB.call(action, &self.region, pairs)?;
        self.begun(action, &answer)
    }

    /// Remembers the job in the answer to a change.
    pub(super) fn begun(&self, action: &str, answer: &serde_json::Value) -> Result<(), NlbStop> {
        self.jobs.begun(&self.region, action, answer["JobId"].as_str().unwrap_or_default().to_owned())
    }

    /// A token for one creation: this part of what was announced.
    pub(super) fn token(&self, part: &str) -> Result<String, NlbStop> {
        Ok(format!("{}-{part}-{}", self.service.owner.uid, self.jobs.since()?))
    }

    /// The jobs that the call waits for. Those of earlier calls have to be over first, and the objects that they changed are read after that.
    ///
    /// # Errors
    ///
    /// That a job has failed, and whatever the cloud answered.
    pub(super) fn waits(&self) -> Result<Option<String>> {
        Ok(match change(self.jobs.settle(&self.region))? {
            Change::Done(()) => None,
            Change::Busy(why) => Some(why),
        })
    }

    /// Makes it as the Service asks for: what earlier calls have begun is over.
    fn write(&self, live: &NlbBalancer, desired: &NlbDesired) -> Result<(), NlbStop> {
        // The list of clients stands before anything listens, and parts that nothing needs go last.
        let security = match self.is_reused(live) {
            true => Vec::new(),
            false => {
                self.write_attributes(live)?;
                self.write_security(live, desired)?
            }
        };
        let ids = self.write_groups(live, desired)?;
        if desired.listens {
            self.write_listeners(live, desired, &ids)?;
        }
        self.jobs.settle(&self.region)?;
        self.remove_groups(live, &ids)?;
        for id in security {
            security_groups::delete(&self.region, &id)?;
        }
        self.jobs.settle(&self.region)?;
        // Zones that the cloud refuses hold nothing else up.
        self.write_zones(live, desired)
    }

    fn protect_no_more(&self, live: &NlbBalancer) -> Result<(), NlbStop> {
        if !live.is_delete_protected {
            return Ok(());
        }
        let pairs = [("LoadBalancerId", &*live.id), ("DeletionProtectionEnabled", "false")];
        self.send("UpdateLoadBalancerProtection", &pairs)
    }

    /// Takes one step towards its absence: first it goes, then its groups.
    fn remove(&self, live: Option<&NlbBalancer>) -> Result<(), NlbStop> {
        self.jobs.settle(&self.region)?;
        if let Some(live) = live {
            // It shows that there may be some of ours, until it is gone.
            if !live.security_groups.is_empty() {
                self.own_security(true)?;
            }
            self.protect_no_more(live)?;
            match NLB.call("DeleteLoadBalancer", &self.region, &[("LoadBalancerId", &live.id)]) {
                // The job of an earlier deletion has ended since it was read.
                Err(refusal) if balancers::is_gone(&refusal) => {}
                Err(refusal) => return Err(refusal.into()),
                Ok(answer) => self.begun("DeleteLoadBalancer", &answer)?,
            }
            self.jobs.settle(&self.region)?;
            return match balancers::find(&self.region, &live.id)? {
                None => self.remove(None),
                Some(_) => Err(NlbStop::Waits(format!("{} is being deleted", live.title()))),
            };
        }
        for group in
            groups::tagged(&self.region, self.mark())?.iter().filter(|it| self.relation(&it.tags) == TagRelation::Own)
        {
            self.delete_group(&group.id)?;
        }
        for id in self.own_security(!self.service.source_ranges.is_empty())? {
            security_groups::delete(&self.region, &id)?;
        }
        self.jobs.settle(&self.region)?;
        self.wait_for_announced()
    }

    /// Waits for groups that were about to be made: they may be listed late.
    pub(super) fn wait_for_announced(&self) -> Result<(), NlbStop> {
        match self.jobs.announced() {
            Some(since) if clock::now().saturating_sub(since) < self.settings.pauses.create_again.as_secs() => {
                Err(NlbStop::Waits("its parts that were being made are looked for".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn mark_kept(&self, live: &NlbBalancer) -> Result<(), NlbStop> {
        if live.tag(KEPT).is_none() {
            NLB.tag(&self.region, &live.id, &[(KEPT, "true")])?;
        }
        self.protect_no_more(live)?;
        if live.modification_protection == "ConsoleProtection" {
            let pairs = [("LoadBalancerId", &*live.id), ("ModificationProtectionStatus", "NonProtection")];
            self.send("UpdateLoadBalancerProtection", &pairs)?;
        }
        if live.tag(VENDOR_NAME).is_some() || live.tag(VENDOR_CLUSTER).is_some() {
            NLB.untag(&self.region, &live.id, &[VENDOR_NAME, VENDOR_CLUSTER])?;
        }
        Ok(())
    }
}

impl Backend for NlbCall<'_> {
    type Live = NlbBalancer;

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
        let all = balancers::tagged(&self.region, self.mark())?;
        Ok(all.iter().map(|it| Found::new(&it.id, &it.name, self.relation(&it.tags) == TagRelation::Own)).collect())
    }

    fn find(&self, id: &str) -> Result<Option<NlbBalancer>> {
        let id = reused::bare(id);
        // A list that was read a moment ago costs nothing. What it lacks is asked about alone.
        if self.service.is_listed() && !self.jobs.are_of_earlier_calls() {
            let listed = balancers::tagged(&self.region, (CLUSTER_UID, &self.cluster_uid))?;
            if let Some(listed) = listed.into_iter().find(|it| it.id == id) {
                return Ok(Some(listed));
            }
        }
        // An id of the other kind is none of this one's.
        let found = if id.starts_with(ID) { balancers::find(&self.region, id)? } else { None };
        if found.is_none() && self.is_wanted {
            reused::check_there(self.service, id)?;
        }
        Ok(found)
    }

    fn found(&self, live: &NlbBalancer) -> Found {
        let id = if self.is_reused(live) { reused::memo(&live.id) } else { live.id.clone() };
        Found::new(id, &live.name, self.relation(&live.tags) == TagRelation::Own)
    }

    fn proof(&self, live: &NlbBalancer) -> Result<Result<(), String>> {
        if live.address_type.eq_ignore_ascii_case("internet") && self.settings.refuses_internet {
            return Ok(Err(reused::INTERNET.to_owned()));
        }
        Ok(reused::proof(self.service, &live.tags, &live.dns_name, self.settings.adopts_by_id))
    }

    fn can_create(&self) -> Result<()> {
        reused::check_none(self.service)?;
        if !has_networks()? {
            return Err(Error::invalid(format_args!(
                "setting {}: Services get no Network Load Balancers here: ask for a Classic one",
                NETWORKS.name
            )));
        }
        if Annotations::of(self.service).get(&ADDRESS_TYPE)? == "internet" {
            self.settings.allow_internet(ADDRESS_TYPE.name)?;
        }
        zones(self.service)?;
        if self.desired(self.service, None)?.has_instances() { Ok(()) } else { Err(LoadBalancer::without_nodes("")) }
    }

    fn create(&self, _listed: &[Found]) -> Result<Creation> {
        self.send_creation()
    }

    fn update(&self, live: &NlbBalancer) -> Result<Update> {
        if self.is_foreign(live) {
            return Err(Error::invalid(format_args!(
                "{} has the tags of another Service, and is not touched",
                live.title()
            )));
        }
        match &*live.status {
            "Provisioning" => return Ok(Update::Building),
            "CreateFailed" => {
                return Err(Error::invalid(format_args!(
                    "the cloud could not make {}: delete it there, and another is made",
                    live.title()
                )));
            }
            "Configuring" => return Ok(Update::Busy(format!("{} carries out an earlier change", live.title()))),
            _ => {}
        }
        let mut desired = self.desired(self.service, Some(live))?;
        let warnings = std::mem::take(&mut desired.warnings);
        match change(self.write(live, &desired))? {
            Change::Done(()) => {}
            Change::Busy(why) => return Ok(Update::Busy(why)),
        }
        warnings.emit();
        if live.dns_name.is_empty() {
            return Ok(Update::Building);
        }
        Ok(Update::Done(vec![Ingress::hostname(&live.dns_name)]))
    }

    fn follow_nodes(&self, live: &NlbBalancer) -> Result<Change<()>> {
        if self.is_foreign(live) {
            return Ok(Change::Done(()));
        }
        // Where an annotation is refused, it is told by that refusal. Groups have the protocols of ports in their names.
        let own = [PROTOCOLS.name, CERTIFICATES.name, GROUPS.name, ALL_WEIGHT.name];
        let chosen = of_machines(self.service, &own[..if self.is_reused(live) { 4 } else { 2 }]);
        let Ok(desired) = self.desired(&chosen, Some(live)) else {
            return Ok(Change::Done(()));
        };
        change(self.follow(live, &desired))
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
            Some(live) if self.is_reused(live) => self.remove_parts(live),
            live => self.remove(live.as_ref()),
        };
        Ok(change(removed)?.into())
    }

    fn keep(&self, id: &str) -> Result<Change<()>> {
        let Some(live) = balancers::find(&self.region, id)? else { return Ok(Change::Done(())) };
        change(self.mark_kept(&live))
    }
}
