//! Carries out steps.

use std::time::Duration;

use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Change, Error, Node, Result, SortedMap};

use super::plan::{NlbStep, NlbTarget, TargetGroupRef};
use crate::api::AwsRefusal;
use crate::api::elbv2::listeners::{self, ListenerContent};
use crate::api::elbv2::target_groups::{self as groups, TargetGroupCreation};
use crate::api::elbv2::{load_balancers, tags};
use crate::load_balancer::targets;
use crate::tags::Tags;

/// The most removals that one call sends: the host counts them, and stops what deletes too much.
pub(super) const MOST_REMOVALS: usize = 8;

/// How often targets are registered without those that were refused.
const ATTEMPTS: usize = 6;

/// How long to wait before something that AWS is still busy with is asked about again.
const POLL: Duration = Duration::from_secs(10);
/// The same where the next call only goes on with what did not fit into one.
const GO_ON: Duration = Duration::from_secs(1);

/// Why a call ends before everything is written, and when the next one goes on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Wait {
    pub(super) pause: Duration,
    pub(super) reason: String,
}

impl Wait {
    /// AWS is still busy with something.
    pub(super) fn busy(reason: impl Into<String>) -> Self {
        Self { pause: POLL, reason: reason.into() }
    }

    /// So many changes did not fit into this call.
    pub(super) fn more(changes: usize) -> Self {
        Self { pause: GO_ON, reason: format!("{changes} more changes are to come") }
    }

    /// The wait for a change; `None`, if it is done.
    pub(super) fn of(change: Change<()>) -> Option<Self> {
        match change {
            Change::Done(()) => None,
            Change::Busy(why) => Some(Self::busy(why)),
        }
    }
}

/// The load balancer that steps are about.
pub(super) struct Writer<'a> {
    /// The ARN of the load balancer.
    pub(super) balancer: &'a str,
    pub(super) vpc: &'a str,
    /// Those that take traffic.
    pub(super) nodes: &'a [Node],
    /// Marks for all that is made.
    pub(super) tags: &'a Tags,
    /// How many requests may be sent.
    pub(super) most: usize,
}

impl Writer<'_> {
    /// Sends the steps. `None` means all of them.
    ///
    /// # Errors
    ///
    /// The first refusal. What follows it is not sent.
    pub(super) fn carry_out(&self, steps: &[NlbStep], warnings: &mut Warnings) -> Result<Option<Wait>> {
        let mut made = SortedMap::new();
        let mut removals = 0;
        for (sent, step) in steps.iter().enumerate() {
            removals += usize::from(step.removes());
            if sent == self.most || removals > MOST_REMOVALS {
                return Ok(Some(Wait::more(steps.len() - sent)));
            }
            if let Some(wait) = Wait::of(self.send(step, &mut made, warnings)?) {
                return Ok(Some(wait));
            }
        }
        Ok(None)
    }

    fn send(
        &self,
        step: &NlbStep,
        made: &mut SortedMap<String, String>,
        warnings: &mut Warnings,
    ) -> Result<Change<()>> {
        match step {
            NlbStep::Tag { arns, tags } => tag(arns, tags, warnings)?,
            NlbStep::Attributes(attributes) => load_balancers::modify(self.balancer, attributes)?,
            NlbStep::CreateGroup(it) => {
                let (vpc, tags) = (self.vpc, self.tags);
                let creation = TargetGroupCreation {
                    name: &it.name,
                    protocol: it.protocol,
                    port: it.port,
                    vpc,
                    is_ipv6: it.is_ipv6,
                    health: &it.health,
                    tags,
                };
                match groups::create(creation) {
                    Ok(group) => _ = made.insert(group.name, group.arn),
                    Err(refusal) if refusal.code == "DuplicateTargetGroupName" => {
                        let why =
                            format!("target group {} was made a moment ago, and AWS does not list it yet", it.name);
                        return Ok(Change::Busy(why));
                    }
                    Err(refusal) => return Err(refusal.error),
                }
            }
            NlbStep::ModifyGroup { arn, change } => groups::modify(arn, change)?,
            NlbStep::GroupAttributes { to, attributes } => groups::modify_attributes(arn_of(to, made)?, attributes)?,
            NlbStep::Register { to, targets } => self.register(arn_of(to, made)?, targets, warnings)?,
            NlbStep::Deregister { arn, targets } => groups::deregister(arn, targets)?,
            NlbStep::CreateListener { listener, to } => {
                let content = ListenerContent {
                    protocol: Some(listener.protocol),
                    policy: listener.policy.as_deref(),
                    certificate: listener.certificate.as_deref(),
                    target_group: Some(arn_of(to, made)?),
                };
                match listeners::create(self.balancer, listener.port, content, self.tags) {
                    Err(refusal) if refusal.code == "DuplicateListener" => {
                        let why =
                            format!("the listener of port {} is there, and AWS does not list it yet", listener.port);
                        return Ok(Change::Busy(why));
                    }
                    answer => answer?,
                }
            }
            NlbStep::ModifyListener { arn, change } => {
                let to = change.to.as_ref().map(|it| arn_of(it, made)).transpose()?;
                let (policy, certificate) = (change.policy.as_deref(), change.certificate.as_deref());
                let content = ListenerContent { protocol: change.protocol, policy, certificate, target_group: to };
                listeners::modify(arn, content)?;
            }
            NlbStep::DeleteListener { arn, .. } => listeners::delete(arn)?,
            NlbStep::DeleteGroup { arn, name } => return delete_group(arn, name),
        }
        Ok(Change::Done(()))
    }

    /// Registers targets. An instance that does not run, or is elsewhere, is refused together with all others of its
    /// request: AWS says which, and the others are registered without it.
    ///
    /// The next call tries it again, with one request and another warning, for as long as its node takes traffic: an instance
    /// that did not run may do so by then, and AWS tells nobody.
    fn register(&self, arn: &str, targets: &[NlbTarget], warnings: &mut Warnings) -> Result<()> {
        let mut left = targets.to_vec();
        // A sentence of AWS is cut where it is long, and may not name all.
        for _ in 0..ATTEMPTS {
            let Err(refusal) = groups::register(arn, &left) else { return Ok(()) };
            let (refused, others) = refused(&refusal, &left);
            if refusal.code != "InvalidTarget" || refused.is_empty() {
                return Err(refusal.error);
            }
            let ids: Vec<_> = refused.iter().map(|(id, _)| id.as_str()).collect();
            let names = targets::named(self.nodes, &ids);
            warnings.add("TargetRefused", format_args!("no traffic is sent to {names}: {}", refusal.why()));
            left = others;
            if left.is_empty() {
                return Ok(());
            }
        }
        Err(Error::unavailable(format_args!("AWS refuses too many of the instances of target group {arn}")))
    }
}

/// A Service is served also where tags may not be written.
fn tag(arns: &[String], tags: &Tags, warnings: &mut Warnings) -> Result<()> {
    match tags::add(arns, tags) {
        Err(refusal) if refusal.error.is_refusal() => {
            warnings.add("LoadBalancerNotTagged", refusal.why());
            Ok(())
        }
        answer => Ok(answer?),
    }
}

/// Deletes a target group. Busy, as long as AWS still sends to it.
///
/// # Errors
///
/// Whatever AWS answered.
pub(super) fn delete_group(arn: &str, name: &str) -> Result<Change<()>> {
    match groups::delete(arn) {
        Ok(()) => Ok(Change::Done(())),
        Err(refusal) if refusal.code == "ResourceInUse" => {
            Ok(Change::Busy(format!("target group {name} is still in use: {}", refusal.why())))
        }
        Err(refusal) => Err(refusal.error),
    }
}

fn arn_of<'a>(to: &'a TargetGroupRef, made: &'a SortedMap<String, String>) -> Result<&'a str> {
    match to {
        TargetGroupRef::There(arn) => Ok(arn),
        TargetGroupRef::Made(name) => made
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| Error::unavailable(format_args!("AWS did not make target group {name} under this name"))),
    }
}

/// Which targets a refusal names, and the others.
fn refused(refusal: &AwsRefusal, targets: &[NlbTarget]) -> (Vec<NlbTarget>, Vec<NlbTarget>) {
    let is_id = |it: char| it.is_ascii_alphanumeric() || it == '-';
    let words: Vec<_> = refusal.why().split(|it| !is_id(it)).collect();
    targets.iter().cloned().partition(|(id, _)| words.contains(&id.as_str()))
}
