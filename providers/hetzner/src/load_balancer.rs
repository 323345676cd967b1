//! A load balancer for a Service: created by one request with everything in it, and marked for the Service and its cluster.

mod annotations;
mod certificates;
mod compare;
mod desired;
mod ownership;
mod services;
mod steps;
mod targets;
mod write;

pub(crate) use self::annotations::TABLE;

use std::time::Duration;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::events::Warnings;
use aerostat_sdk::form::Form as _;
use aerostat_sdk::http::Attempt;
use aerostat_sdk::{Change, Deletion, Error, LoadBalancer, LoadBalancers, Progress, Result, events, log};

use self::annotations::{NAME, TYPE, USE_PRIVATE_IP};
use self::certificates::Nameable;
use self::desired::{Desired, EarlierAnswers};
use self::ownership::OwnerByMarks;
use self::steps::Step;
use self::targets::MachineTargets;
use crate::api::load_balancers::{self as api, KEPT, Kind, LoadBalancer as Live};
use crate::api::{Labels, WithLabels, actions, code, is_busy, networks};
use crate::provider::Hetzner;
use crate::settings::BalancerSettings as Settings;

/// Why a creation is refused as a whole for one of its targets.
const ABOUT_TARGETS: [&str; 7] = [
    "server_not_attached_to_network",
    "missing_ipv4",
    "ip_not_owned",
    "cloud_resource_ip_not_allowed",
    "targets_without_use_private_ip",
    "load_balancer_not_attached_to_network",
    "not_found",
];

impl LoadBalancers for Hetzner {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        backend::ensure(&Call { service: desired, settings: Settings::read()?, deletes: false })
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let call = Call { service: unwanted, settings: Settings::read()?, deletes: true };
        match backend::delete(&call)? {
            Deletion::Done if unwanted.memo.is_none() => call.delete_named(),
            deletion => Ok(deletion),
        }
    }
}

/// Why nothing was created.
enum NotCreated {
    /// One of its targets was refused.
    ForTarget(Error),
    /// Anything else.
    Other(Error),
}

impl From<Error> for NotCreated {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// One call about one Service.
struct Call<'a> {
    service: &'a LoadBalancer,
    settings: Settings,
    deletes: bool,
}

impl Backend for Call<'_> {
    type Live = Live;

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        crate::api::id(text).is_some()
    }

    fn pauses(&self) -> Pauses {
        self.settings.pauses
    }

    fn list(&self) -> Result<Vec<Found>> {
        let found = api::marked()?.iter().map(|it| ownership::found(it, self.service)).collect::<Result<Vec<_>>>()?;
        let mut ours = found.iter().filter(|it| it.is_marked);
        if let (false, Some(one), Some(other)) = (self.deletes, ours.next(), ours.next()) {
            return Err(Error::invalid(format_args!(
                "{} and {} are both marked for this Service: take the label {} off one of them, or delete it",
                one.title(),
                other.title(),
                api::SERVICE
            )));
        }
        Ok(found)
    }

    fn find(&self, id: &str) -> Result<Option<Live>> {
        // A list that was read a moment ago costs nothing. What it lacks is asked about alone.
        let listed = if self.service.is_listed() { api::find_listed(id)? } else { None };
        listed.map_or_else(|| api::find(id), |it| Ok(Some(it)))
    }

    fn found(&self, live: &Live) -> Found {
        // It is remembered: whose it is was decided before.
        Found::new(live.id.to_string(), &live.name, true)
    }

    fn can_create(&self) -> Result<()> {
        let certificates = desired::certificates(self.service, None)?;
        certificates.check(&Nameable::of(self.service, &self.settings.allowed_certificates, None)?)?;
        // Any id stands for a certificate here: those that the cloud has are looked for when it is created.
        let any = (certificates != certificates::Certificates::Unsaid).then(|| [0].into());
        let known = EarlierAnswers { network: self.network()?, certificates: any.as_ref(), as_the_vendor: false };
        let mut desired = Desired::of(self.service, &self.settings, None, &known)?;
        desired.has_place()?;
        let kind = desired.chosen_kind();
        find_kind(&kind).map(drop)
    }

    fn create(&self, _listed: &[Found]) -> Result<Creation> {
        let mut desired = self.desired(None, false)?;
        desired.has_place()?;
        let kind = desired.chosen_kind();
        desired.fit_into(&find_kind(&kind)?, None);
        let labels = ownership::marked(&Labels::new(), self.service)?;
        std::mem::take(&mut desired.warnings).emit();
        let creation = desired.creation(&desired.name, &kind, labels);
        let created = match self.created(api::create(&creation)?, &desired.name) {
            // They are added one by one, and it is said which of them cannot be.
            Err(NotCreated::ForTarget(why)) if !creation.targets.is_empty() => {
                log::info("created without its targets", &[("why", &format!("{why:?}"))]);
                let creation = api::CreationBody { targets: Vec::new(), ..creation };
                self.created(api::create(&creation)?, &desired.name)
            }
            created => created,
        };
        created.map_err(|(NotCreated::ForTarget(why) | NotCreated::Other(why))| why)
    }

    fn update(&self, live: &Live) -> Result<Update> {
        ownership::refuse_others(live, self.service)?;
        let labels = ownership::marked(&live.labels, self.service)?;
        let (mut desired, steps) = self.plan(live, &labels)?;
        let mut warnings = std::mem::take(&mut desired.warnings);
        if steps.is_empty() {
            return self.as_desired(live, &desired, warnings);
        }
        if let Some(running) = write::running(live)? {
            let why = || format!("the cloud carries out {} of {}", running.command, live.title());
            return Ok(if running.is_creation() { Update::Building } else { Update::Busy(why()) });
        }
        if let Change::Busy(why) = write::carry_out(live, &steps, &desired.targets, &mut warnings)? {
            warnings.emit();
            return Ok(Update::Busy(why));
        }
        if !steps.iter().any(Step::changes_addresses) {
            return self.as_desired(live, &desired, warnings);
        }
        match api::find(&live.id.to_string())? {
            Some(live) if steps::steps(&live, &desired, &labels).is_empty() => {
                self.as_desired(&live, &desired, warnings)
            }
            Some(_) | None => {
                warnings.emit();
                Ok(Update::Busy(format!("the cloud does not show the changes of {} yet", live.title())))
            }
        }
    }

    fn follow_nodes(&self, live: &Live) -> Result<Change<()>> {
        if ownership::refuse_others(live, self.service).is_err() {
            return Ok(Change::Done(()));
        }
        let Ok(use_private_ip) = Annotations::of(self.service).read(&USE_PRIVATE_IP) else {
            return Ok(Change::Done(()));
        };
        let use_private_ip = use_private_ip.unwrap_or(self.settings.use_private_ip);
        let mut warnings = Warnings::default();
        let mut targets = MachineTargets::of(&self.service.nodes, use_private_ip, self.settings.robot, &mut warnings);
        targets.keep(live.kind.max_targets, &live.targets, &mut warnings);
        let written = write::carry_out(live, &steps::targets(live, &targets), &targets, &mut warnings)?;
        if written == Change::Done(()) {
            warnings.emit();
        }
        Ok(written)
    }

    /// Its owner may have changed since it was remembered.
    fn delete(&self, id: &str) -> Result<Removal> {
        let Some(live) = api::find(id)? else { return Ok(Removal::Gone) };
        if ownership::owner(&live.labels, &self.service.owner.uid)? == OwnerByMarks::Other {
            return Ok(Removal::Foreign(ownership::others(&live)));
        }
        let protected = || Removal::Protected(format!("{} is protected from deletion in the cloud", live.title()));
        if live.protection.delete {
            return Ok(protected());
        }
        let response = api::delete(id).answer()?;
        match (response.status(), &*code(&response)) {
            (_, "protected") => Ok(protected()),
            _ if is_busy(&response) => Ok(Removal::Busy(response.complaint())),
            (404, "not_found") => Ok(Removal::Gone),
            _ => response.accepted().map(|_| Removal::Gone),
        }
    }

    fn keep(&self, id: &str) -> Result<Change<()>> {
        let Some(live) = api::find(id)?.filter(|it| !it.labels.contains_key(KEPT)) else { return Ok(Change::Done(())) };
        let mut labels = live.labels;
        labels.insert(KEPT.to_owned(), "true".to_owned());
        api::describe(live.id, &live.name, &labels)
    }
}

impl Call<'_> {
    /// The id of the cluster's network.
    fn network(&self) -> Result<Option<u64>> {
        self.settings.network.as_ref().map(networks::id).transpose()
    }

    /// Nothing is remembered, and nothing has the Service's mark: it may have been taken away from the one that has the name which
    /// the Service asks for. What is not proven to be the Service's stays, with a warning.
    fn delete_named(&self) -> Result<Deletion> {
        let name = Annotations::of(self.service).text(NAME.name).unwrap_or(&self.service.name);
        let Some(live) = api::named(name)? else { return Ok(Deletion::Done) };
        // What has a mark is another's, or was listed.
        if ownership::owner(&live.labels, &self.service.owner.uid)? != OwnerByMarks::Nobody {
            return Ok(Deletion::Done);
        }
        // What the operator lets a Service take is not yet its own.
        if ownership::proof(&live, self.service, false)?.is_ok() {
            let status = self.service.status().memo(live.id.to_string());
            let because = format_args!("{} is this Service's, and deleted next", live.title());
            return Ok(Deletion::pending(status, Duration::ZERO, because));
        }
        let message = format!(
            "{}, which has the name that this Service asks for, is not deleted: it has no mark, and cannot be proven to be this \
             Service's. If it is, delete it in the cloud: until then it costs money",
            live.title()
        );
        events::warning(None, "LoadBalancerNotDeleted", &message);
        Ok(Deletion::Done)
    }

    /// The desired load balancer. Certificates are looked for, and a managed one is created.
    fn desired(&self, live: Option<&Live>, as_the_vendor: bool) -> Result<Desired> {
        let nameable = Nameable::of(self.service, &self.settings.allowed_certificates, live)?;
        let certificates = desired::certificates(self.service, live)?.ids(self.service, &nameable)?;
        let known = EarlierAnswers { network: self.network()?, certificates: certificates.as_ref(), as_the_vendor };
        Desired::of(self.service, &self.settings, live, &known)
    }

    /// The desired load balancer, and the steps to it. A load balancer that has only the vendor's mark is not written to for
    /// what its own controller does in another way.
    fn plan(&self, live: &Live, labels: &Labels) -> Result<(Desired, Vec<Step>)> {
        let is_marked = ownership::owner(&live.labels, &self.service.owner.uid)? == OwnerByMarks::Marked;
        let plan = |as_the_vendor| {
            let mut desired = self.desired(Some(live), as_the_vendor)?;
            let kind = match desired.kind.clone().filter(|it| *it != live.kind.name) {
                Some(other) => find_kind(&other)?,
                None => live.kind.clone(),
            };
            desired.fit_into(&kind, Some(live));
            let steps = steps::steps(live, &desired, labels);
            Ok::<_, Error>((desired, steps))
        };
        if !is_marked {
            let (desired, steps) = plan(true)?;
            if steps.is_empty() {
                return Ok((desired, steps));
            }
        }
        plan(false)
    }

    /// It is as desired: whether it can be reached already.
    fn as_desired(&self, live: &Live, desired: &Desired, warnings: Warnings) -> Result<Update> {
        let public = &live.public_net;
        if public.enabled && public.ipv4.ip.is_none() && public.ipv6.ip.is_none() {
            return Ok(Update::Building);
        }
        let ingress = desired.ingress(live);
        // What the Service's status shows already has been built.
        if self.service.current_ingress != ingress && self.is_at_work(live)? {
            let is_new = self.service.current_ingress.is_empty();
            let changes = || Update::Busy(format!("the cloud changes {}", live.title()));
            return Ok(if is_new { Update::Building } else { changes() });
        }
        warnings.emit();
        Ok(Update::Done(ingress))
    }

    /// Whether an action of it runs.
    fn is_at_work(&self, live: &Live) -> Result<bool> {
        if self.service.is_listed() {
            return Ok(actions::busy_load_balancers()?.contains(&live.id));
        }
        Ok(write::running(live)?.is_some())
    }

    /// The result of a creation.
    fn created(&self, attempt: Attempt, name: &str) -> Result<Creation, NotCreated> {
        let response = match attempt {
            Attempt::Lost(why) => return Ok(Creation::Unclear(why)),
            Attempt::Answered(response) => response,
        };
        let code = code(&response);
        if code == "uniqueness_error" {
            return Ok(self.taken(name)?);
        }
        if is_busy(&response) {
            return Ok(Creation::Busy(response.complaint()));
        }
        if backend::gave_up(response.status()) {
            return Ok(Creation::Unclear(response.complaint()));
        }
        let is_unknown_server = code == "invalid_input" && response.says("server");
        let is_for_target = is_unknown_server || ABOUT_TARGETS.contains(&&*code);
        let refused = if is_for_target { NotCreated::ForTarget } else { NotCreated::Other };
        let response = response.accepted().map_err(refused)?;
        // The status says that it was accepted, also if the body cannot be read.
        let unread = |_| Creation::Unclear(format!("{}, with an answer that cannot be read", response.complaint()));
        let made = response.json_in::<WithLabels>("load_balancer");
        Ok(made.map_or_else(unread, |it| Creation::Begun(Found::new(it.id.to_string(), it.name, true))))
    }

    /// The name is taken: by the Service's own, or by another.
    fn taken(&self, name: &str) -> Result<Creation> {
        let Some(live) = api::named(name)? else {
            return Ok(Creation::Busy(format!("the name {name} is taken, and the cloud does not show by what yet")));
        };
        match ownership::proof(&live, self.service, self.settings.adopt_by_name)? {
            Ok(()) => Ok(Creation::Begun(self.found(&live))),
            Err(why) => Err(Error::invalid(format_args!("annotation {}: {why}", NAME.name))),
        }
    }
}

fn find_kind(name: &str) -> Result<Kind> {
    api::kind(name)?.ok_or_else(|| {
        let (key, allowed) = (TYPE.name, TYPE.form.allowed());
        Error::invalid(format_args!("load balancer type not found: {name:?}; annotation {key} takes {allowed}"))
    })
}

#[cfg(test)]
pub(crate) mod tests;
