//! A load balancer for a Service: made by one request with everything in it, and changed by one at a time ever after.

mod annotations;
mod desired;
mod groups;
mod members;
mod names;
mod ranges;
mod rules;
mod step;
mod subnets;
mod way_out;

pub(crate) use self::annotations::TABLE;
pub(crate) use self::members::EDGE;
pub(crate) use self::names::uid_in;

use std::cell::OnceCell;

use std::time::Duration;

use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::events::{self, Warnings};
use aerostat_sdk::{Change, Deletion, Error, Ingress, LoadBalancer, LoadBalancers, Progress, Result, SortedSet};
use serde_json::json;

use self::annotations::NAME;
use self::desired::DesiredVpcBalancer;
use self::ranges::OwnGroup;
use self::step::{BalancerParts, LivePool, VpcNext};
use self::way_out::WayOut;
use crate::api;
use crate::api::load_balancers::{self as balancers, VpcBalancer};
use crate::api::subnets::VpcSubnet;
use crate::provider::Ibm;
use crate::settings::IbmAccountSettings;
use crate::settings::balancers::IbmBalancerSettings;

impl LoadBalancers for Ibm {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        backend::ensure(&IbmCall::of(desired)?)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        match IbmAccountSettings::read()?.vpc {
            Some(_) => {
                let call = IbmCall::of(unwanted)?;
                match backend::delete(&call)? {
                    Deletion::Done => match call.delete_in_groups()? {
                        Deletion::Done => call.warn_of_unproven().map(|()| Deletion::Done),
                        other => Ok(other),
                    },
                    other => Ok(other),
                }
            }
            // Nothing was made there.
            None => Ok(Deletion::Done),
        }
    }
}

/// One call about one Service.
struct IbmCall<'a> {
    service: &'a LoadBalancer,
    account: IbmAccountSettings,
    settings: IbmBalancerSettings,
    /// The id of the VPC.
    vpc: String,
    /// Read once.
    subnets: OnceCell<Vec<VpcSubnet>>,
}

impl<'a> IbmCall<'a> {
    fn of(service: &'a LoadBalancer) -> Result<Self> {
        let account = IbmAccountSettings::read()?;
        let Some(vpc) = account.vpc.clone() else {
            return Err(Error::invalid(
                "a Service of type LoadBalancer is not served on classic infrastructure: its load balancers are pods of the cluster, which \
                 the vendor's controller makes",
            ));
        };
        Ok(Self { service, account, settings: IbmBalancerSettings::read()?, vpc, subnets: OnceCell::new() })
    }

    /// The security group of the Service's own.
    fn own_group(&self) -> OwnGroup<'_> {
        OwnGroup { service: self.service, account: &self.account, settings: &self.settings, vpc: &self.vpc }
    }

    /// The way out from nodes to the load balancer.
    fn way_out(&self) -> WayOut<'_> {
        WayOut { service: self.service, group: self.settings.outbound_group.as_deref() }
    }

    /// Takes away what a Service whose load balancer is gone has in security groups, whatever it and the settings say by now: ranges that it had
    /// once left a group behind, and another group of nodes left rules in the one of before. The list is read once, for all of them.
    fn delete_in_groups(&self) -> Result<Deletion> {
        // Read by its id: the list may show its rules late.
        match self.way_out().delete()? {
            Deletion::Done => {}
            other => return Ok(other),
        }
        let groups = api::security_groups::all(&self.vpc)?;
        match self.way_out().delete_from(&groups)? {
            Deletion::Done => self.own_group().delete(&groups),
            other => Ok(other),
        }
    }

    /// The load balancer as the Service asks for it, beside the one that there is.
    fn desired(&self, live: Option<&VpcBalancer>) -> Result<DesiredVpcBalancer> {
        self.way_out().ports()?;
        DesiredVpcBalancer::of(self.service, &self.account, self.own_group().is_wanted(live)?, live)
    }

    /// Gives a load balancer the name that its author chose. `None` unless it has the one under which it was made: another that it has stays.
    fn rename(live: &VpcBalancer, desired: &DesiredVpcBalancer) -> Result<Option<Change<String>>> {
        match &desired.chosen_name {
            Some(chosen) if live.name == desired.name => step::rename(&live.id, chosen).send().map(Some),
            _ => Ok(None),
        }
    }

    /// Tells, before a Service is gone, of a load balancer that has the name its author chose and that nothing proves to be the Service's: it
    /// may have been, where its status was lost.
    fn warn_of_unproven(&self) -> Result<()> {
        let Some(chosen) = self.service.annotation(NAME.name).map(str::trim) else { return Ok(()) };
        if self.service.memo.is_some() || self.service.current_ingress.is_empty() {
            return Ok(());
        }
        if let Some(it) = self.list()?.iter().find(|it| it.name == chosen) {
            let message = format!(
                "{}, which annotation {} names, is not deleted: nothing proves that it is this Service's. If it is, delete it in the \
                 cloud: until then it costs money",
                it.title(),
                NAME.name
            );
            events::warning(None, "LoadBalancerNotDeleted", &message);
        }
        Ok(())
    }

    fn subnets(&self) -> Result<&[VpcSubnet]> {
        if let Some(known) = self.subnets.get() {
            return Ok(known);
        }
        let read = api::subnets::all(&self.vpc)?;
        Ok(self.subnets.get_or_init(|| read))
    }

    /// Whether a load balancer of the region is the Service's: it has the name that holds the cluster's id and the Service's UID, or the
    /// hostname that the Service's status shows, which no other gets, and no name that another Service's has by itself; and it is in the VPC. A
    /// name that somebody chose proves nothing, and nor does an address: the cloud gives it to another load balancer later. The host tells no
    /// hostname that an older Service shows, too.
    fn is_marked(&self, live: &VpcBalancer) -> Result<bool> {
        let is_of_it = |shown: &Ingress| shown.hostname.as_ref() == Some(&live.hostname);
        let is_shown = || !names::is_of_a_service(&live.name) && self.service.current_ingress.iter().any(is_of_it);
        let is_named = live.name == names::own(self.service, &self.account) || is_shown();
        Ok(is_named && self.is_in_vpc(live)?)
    }

    fn is_in_vpc(&self, live: &VpcBalancer) -> Result<bool> {
        let subnets = self.subnets()?;
        Ok(!live.subnets.is_empty() && live.subnets.iter().all(|it| subnets.iter().any(|subnet| subnet.id == it.id)))
    }

    /// Makes the next change of a load balancer that takes changes, as `next` decides. `None` if there is none. Of its parts its pools are read,
    /// and what else the decision needs.
    fn change(
        &self,
        live: &VpcBalancer,
        service: &LoadBalancer,
        desired: &mut DesiredVpcBalancer,
        next: impl Fn(&str, &BalancerParts, &DesiredVpcBalancer, &[String]) -> VpcNext,
    ) -> Result<Option<Change<String>>> {
        let id = &*live.id;
        let pools = balancers::pools(id)?.into_iter().map(LivePool::of).collect();
        let mut parts = BalancerParts { listener_count: live.listeners.len(), listeners: None, pools };
        if desired.chooses(service) {
            // Those that take traffic stay.
            for pool in parts.unread() {
                parts.keep_members(&pool, balancers::members(id, &pool)?);
            }
        }
        let addresses = desired.addresses(service, &parts.chosen());
        // The host itself tells of a Service without any node.
        if addresses.is_empty() && !service.nodes.is_empty() {
            let why = LoadBalancer::without_nodes(desired.why_none(service));
            desired.warnings.add("NodesMissing", why.why());
        }
        loop {
            match next(id, &parts, desired, &addresses) {
                VpcNext::Nothing => return Ok(None),
                VpcNext::Change(step) => return step.send().map(Some),
                VpcNext::ReadListeners => parts.listeners = Some(balancers::listeners(id)?),
                VpcNext::ReadMembers(pool) => parts.keep_members(&pool, balancers::members(id, &pool)?),
            }
        }
    }
}

impl Backend for IbmCall<'_> {
    type Live = VpcBalancer;

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        crate::settings::id(text).is_some()
    }

    fn pauses(&self) -> Pauses {
        self.settings.pauses
    }

    /// A change lasts for tens of seconds, and there is no other meanwhile.
    fn change_pause(&self) -> Duration {
        self.settings.pauses.poll
    }

    fn list(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for live in balancers::all()? {
            let is_marked = self.is_marked(&live)?;
            // Names of other VPCs are others' to choose.
            if is_marked || self.is_in_vpc(&live)? {
                found.push(Found::new(live.id, live.name, is_marked));
            }
        }
        Ok(found)
    }

    fn find(&self, id: &str) -> Result<Option<VpcBalancer>> {
        // A list that was read a moment ago costs nothing. What it lacks is asked about alone.
        if self.service.is_listed()
            && let Some(listed) = balancers::all()?.into_iter().find(|it| it.id == id)
        {
            return Ok(Some(listed));
        }
        balancers::find(id)
    }

    fn found(&self, live: &VpcBalancer) -> Found {
        // It is remembered: whose it is was decided before.
        Found::new(&live.id, &live.name, true)
    }

    /// A name is one load balancer's in its VPC, and each is made under its own. Where somebody chose another, the Service may have one of that
    /// name from before, and another load balancer may have it.
    fn refuses_second(&self) -> bool {
        self.service.current_ingress.is_empty() && self.service.annotation(NAME.name).is_none()
    }

    fn can_create(&self) -> Result<()> {
        self.settings.can_create()?;
        let desired = self.desired(None)?;
        groups::named(self.service, &self.settings.allowed_groups)?;
        match self.service.nodes.is_empty() {
            true => Err(LoadBalancer::without_nodes(desired.why_none(self.service))),
            false => Ok(()),
        }
    }

    fn create(&self, listed: &[Found]) -> Result<Creation> {
        let mut desired = self.desired(None)?;
        if let Some(chosen) = &desired.chosen_name {
            backend::refuse_taken_name(listed, &NAME, chosen, None)?;
        }
        let subnets = subnets::of_balancer(self.service, &self.settings, self.subnets()?, desired.is_network)?;
        let addresses = desired.addresses(self.service, &SortedSet::new());
        if addresses.is_empty() {
            return Err(LoadBalancer::without_nodes(desired.why_none(self.service)));
        }
        let resource_group = self.settings.resource_group(&self.account.account)?;
        let mut groups = groups::of_service(self.service, &self.vpc, &self.settings)?;
        let own = match self.own_group().for_new(desired.protocol)? {
            Ok(own) => own,
            Err(waits) => return Ok(waits),
        };
        groups.extend(own.iter().map(|it| it.id.clone()));
        let mut body = step::creation(&desired, &addresses, &subnets, resource_group.as_deref());
        if !groups.is_empty() {
            body["security_groups"] = groups.into_iter().map(|id| json!({ "id": id })).collect();
        }
        std::mem::take(&mut desired.warnings).emit();
        let created =
            api::make(balancers::create(&body), |response| response.json::<VpcBalancer>().map(|it| self.found(&it)));
        let is_made_now = own.is_some_and(|it| it.is_made_now);
        match created {
            // A deletion has to wait until lists show the group: the memo of an unclear creation says so, and that of a refused one does not.
            Ok(Creation::Busy(why)) if is_made_now => Ok(Creation::Taken(why)),
            Err(refused) if is_made_now => Ok(Creation::Unclear(format!(
                "its security group is made, and may be listed late; the load balancer was refused, and is asked for again then: {}",
                refused.why()
            ))),
            created => created,
        }
    }

    fn update(&self, live: &VpcBalancer) -> Result<Update> {
        match &*live.provisioning_status {
            "active" => {}
            "create_pending" => return Ok(Update::Building),
            "failed" => {
                return Err(Error::unavailable(format_args!(
                    "the cloud says that {} has failed: look at it in the cloud; deleted there, another is made",
                    live.title()
                )));
            }
            other => return Ok(Update::Busy(format!("{} is {other}", live.title()))),
        }
        let mut desired = self.desired(Some(live))?;
        let change = match self.own_group().guard(live, desired.protocol, &mut desired.warnings)? {
            Some(change) => Some(change),
            None => {
                let change = match self.service.is_as_created() && desired.has_parts_of(live) {
                    // One request has made it all, for the same nodes.
                    true => None,
                    false => self.change(live, self.service, &mut desired, step::next)?,
                };
                let change = match change {
                    Some(change) => Some(change),
                    None => self.way_out().open(live, desired.protocol)?,
                };
                match change {
                    Some(change) => Some(change),
                    None => Self::rename(live, &desired)?,
                }
            }
        };
        let warnings: Warnings = std::mem::take(&mut desired.warnings);
        match change {
            Some(Change::Busy(why)) => Ok(Update::Busy(why)),
            Some(Change::Done(does)) => {
                warnings.emit();
                Ok(Update::Busy(format!("{}: {does}", live.title())))
            }
            None => {
                let mut ingress: Vec<Ingress> = live.addresses().map(Ingress::ip).collect();
                if ingress.is_empty() {
                    ingress.push(Ingress::hostname(&live.hostname));
                }
                if live.operating_status != "online" && self.service.current_ingress != ingress {
                    return Ok(Update::Building);
                }
                warnings.emit();
                Ok(Update::Done(ingress))
            }
        }
    }

    /// Members alone. What was refused may be an annotation: those that choose nodes are read, and no other.
    fn follow_nodes(&self, live: &VpcBalancer) -> Result<Change<()>> {
        let chosen = desired::choosing_nodes(self.service);
        let Ok(mut desired) = DesiredVpcBalancer::of(&chosen, &self.account, false, Some(live)) else {
            return Ok(Change::Done(()));
        };
        match self.change(live, &chosen, &mut desired, step::members)? {
            None => Ok(Change::Done(())),
            // It takes one change at a time: other pools follow in later calls.
            Some(Change::Done(why) | Change::Busy(why)) => Ok(Change::Busy(why)),
        }
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        let Some(live) = balancers::find(id)? else { return Ok(Removal::Gone) };
        // The cloud may still fail to delete it: it is gone once it is not shown any more.
        let change = match live.provisioning_status.as_str() {
            "delete_pending" => Change::Done(()),
            _ => balancers::delete(id).change_or_gone()?,
        };
        Ok(Removal::Busy(match change {
            Change::Done(()) => format!("the cloud deletes {}", live.title()),
            Change::Busy(why) => why,
        }))
    }
}

#[cfg(test)]
mod tests;
