//! Security groups that are made for a load balancer. A name is unique in its VPC, so that none is made twice.

use aerostat_sdk::{Change, Result, SortedMap, SortedSet, events};

use super::rules::{self, IngressRule, RuleDifference};
use crate::api::AwsRefusal;
use crate::api::ec2::security_groups::{self as api, IpPermission, SecurityGroup};
use crate::settings::ClusterMarks;

/// Why an event tells of a group that takes no more rules.
const FULL: &str = "SecurityGroupFull";

/// The group of this name in the cluster's VPC, whoever's it is.
///
/// # Errors
///
/// Whatever EC2 answered.
pub(crate) fn find(cluster: &ClusterMarks, name: &str) -> Result<Option<SecurityGroup>> {
    Ok(api::named(cluster, name)?)
}

/// Makes a group with these tags and without rules. Busy, if there is one already that EC2 does not list yet: an answer
/// was lost.
///
/// # Errors
///
/// Whatever EC2 answered.
pub(crate) fn create(
    cluster: &ClusterMarks,
    name: &str,
    description: &str,
    tags: &SortedMap<String, String>,
) -> Result<Change<SecurityGroup>> {
    let made = api::create(cluster, name, description, tags)?;
    Ok(made.map(|id| SecurityGroup { id, name: name.to_owned(), tags: tags.clone(), ..SecurityGroup::default() }))
}

/// Deletes a group. Busy, as long as something has it or refers to it: the network interfaces of a load balancer go
/// later than itself.
///
/// # Errors
///
/// Whatever EC2 answered.
pub(crate) fn delete(id: &str) -> Result<Change<()>> {
    api::delete(id)
}

/// Whether [`sync`] would write anything.
pub(crate) fn needs_writing(group: &SecurityGroup, rules: &[IngressRule]) -> bool {
    !difference(group, rules).is_empty()
}

/// Gives a group these rules and no others.
///
/// # Errors
///
/// Whatever EC2 answered. A group that takes no more rules is a Warning event.
pub(crate) fn sync(group: &SecurityGroup, rules: &[IngressRule]) -> Result<()> {
    write(group, &difference(group, rules))
}

fn difference(group: &SecurityGroup, rules: &[IngressRule]) -> RuleDifference {
    RuleDifference::between(&group.permissions, &rules::permissions(rules), |_: &IpPermission| true)
}

/// Adds rules. EC2 refuses all of them where it has one: another Service may have been faster with a rule that both
/// share. What is there is read again then, and the others are added.
fn authorize(group: &str, rules: &SortedSet<IpPermission>) -> Result<(), AwsRefusal> {
    let refusal = match api::authorize(group, rules) {
        Err(refusal) if refusal.code == "InvalidPermission.Duplicate" => refusal,
        done => return done,
    };
    let there = api::by_ids(&[group])?;
    let is_there = |it: &IpPermission| there.iter().flat_map(|it| &it.permissions).any(|other| other.key == it.key);
    let missing: SortedSet<_> = rules.iter().filter(|it| !is_there(it)).cloned().collect();
    match missing.len() {
        // EC2 does not show it yet.
        number if number == rules.len() => Err(refusal),
        0 => Ok(()),
        _ => api::authorize(group, &missing),
    }
}

/// Writes a difference: what is added first. If the group takes no more rules, what is no longer wanted goes first
/// where that makes room for all; otherwise nothing is written, and an event says so.
///
/// The next call tries it again, with one request and the event once more: AWS tells nobody when the account's quota has grown,
/// or when another Service's rules have left the group. The vendor's controller tries again, too.
pub(super) fn write(group: &SecurityGroup, difference: &RuleDifference) -> Result<()> {
    let RuleDifference { add, revoke } = difference;
    let mut is_revoked = revoke.is_empty();
    if !add.is_empty() {
        match authorize(&group.id, add) {
            Ok(()) => {}
            Err(refusal) if refusal.code != "RulesPerSecurityGroupLimitExceeded" => return Err(refusal.error),
            Err(refusal) if !difference.makes_room() => {
                let (has, more, id) = (group.permissions.len(), add.len(), &group.id);
                let message = format!(
                    "security group {id} has {has} rules and does not take {more} more, which stay out: {}. \
                     Fewer source ranges or ports need fewer rules",
                    refusal.why()
                );
                events::warning(None, FULL, &message);
                return Ok(());
            }
            Err(_) => {
                api::revoke(&group.id, revoke)?;
                authorize(&group.id, add)?;
                is_revoked = true;
            }
        }
    }
    if !is_revoked {
        api::revoke(&group.id, revoke)?;
    }
    Ok(())
}
