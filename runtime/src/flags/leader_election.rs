//! Flags about the election of a leader.

use std::time::Duration;

use super::command_line::CommandLine;

/// The Lease, and when it counts.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    /// `--leader-elect-lease-duration`: whole seconds, more than the renew deadline.
    pub lease_duration: Duration,
    /// `--leader-elect-renew-deadline`: more than 1.2 times the retry period.
    pub renew_deadline: Duration,
    /// `--leader-elect-retry-period`.
    pub retry_period: Duration,
    /// `--leader-elect-resource-name`.
    pub name: String,
    /// `--leader-elect-resource-namespace`.
    pub namespace: String,
}

/// The election as the flags describe it together; contradictions go to `errors`.
pub(super) fn check(flags: &CommandLine, errors: &mut Vec<String>) -> Option<LeaderElection> {
    if !flags.leader_elect {
        return None;
    }
    let (lease, renew, retry) =
        (flags.leader_elect_lease_duration, flags.leader_elect_renew_deadline, flags.leader_elect_retry_period);
    for (wrong, sentence) in [
        (flags.leader_elect_resource_lock != "leases", "resourceLock value must be \"leases\""),
        (flags.leader_elect_resource_name.is_empty(), "leader-elect-resource-name cannot be empty"),
        (flags.leader_elect_resource_namespace.is_empty(), "leader-elect-resource-namespace cannot be empty"),
        (lease < Duration::from_secs(1), "leader-elect-lease-duration must be at least 1s"),
        (renew.is_zero(), "leader-elect-renew-deadline must be greater than zero"),
        (retry.is_zero(), "leader-elect-retry-period must be greater than zero"),
        (lease <= renew, "leader-elect-lease-duration must be greater than leader-elect-renew-deadline"),
        (
            renew <= retry.mul_f64(1.2),
            "leader-elect-renew-deadline must be greater than 1.2 times leader-elect-retry-period",
        ),
    ] {
        if wrong {
            errors.push(sentence.to_owned());
        }
    }
    Some(LeaderElection {
        // A Lease holds whole seconds.
        lease_duration: Duration::from_secs(lease.as_secs()),
        renew_deadline: renew,
        retry_period: retry,
        name: flags.leader_elect_resource_name.clone(),
        namespace: flags.leader_elect_resource_namespace.clone(),
    })
}
