//! Where we aim at more than upstream did: each row turns a recording into what is expected of us, and says why.
//!
//! A row depends on what a recording says, not on its number, so that it holds for recordings that are not in this tree.

mod backends;
mod lifecycle;
mod nodes;
mod routes;
mod services;
mod writes;

use std::collections::BTreeSet;

use crate::scenario::Scenario;

/// A row.
struct Better {
    /// Upstream's behaviour, and ours instead.
    reason: &'static str,
    /// Changes the recording; the objects that it was about.
    adjust: fn(&mut Scenario) -> BTreeSet<String>,
}

const TABLE: [Better; 24] = [
    Better {
        reason: "null metadata ended upstream's process; for us the machine is not there, and nothing happens",
        adjust: nodes::stay_alive,
    },
    Better {
        reason: "null metadata of a node that joins was the end of it until the node changed; for us the machine is \
                 not there yet, and the cloud is asked again with back-off",
        adjust: nodes::ask_again,
    },
    Better {
        reason: "a cloud that answers with another provider id than the node has is not believed; upstream \
                 initialised the node with the other machine's data",
        adjust: nodes::refuse_other_machines,
    },
    Better {
        reason: "a node of another cloud is not asked about; upstream asked, and initialised it",
        adjust: nodes::leave_other_clouds_alone,
    },
    Better {
        reason: "addresses are compared one by one and in order; upstream compared the last of each type, missed \
                 changes, and wrote where there were none",
        adjust: nodes::follow_every_change_of_addresses,
    },
    Better {
        reason: "a machine that the cloud does not know is gone: its node is deleted; upstream took that answer for an \
                 error, and kept it",
        adjust: lifecycle::delete_what_is_not_found,
    },
    Better {
        reason: "a machine that runs again loses the taint of those that are shut down; upstream waits until its node is \
                 Ready",
        adjust: lifecycle::untaint_what_runs_again,
    },
    Better {
        reason: "there is one question about a machine: one that does not exist has no data, and its node is not \
                 initialised before it is deleted",
        adjust: lifecycle::have_no_data_of_what_does_not_exist,
    },
    Better {
        reason: "a machine has to be missing twice before its node is deleted, so that an answer that comes and goes \
                 deletes nothing; upstream deletes after one answer",
        adjust: lifecycle::ask_twice,
    },
    Better {
        reason: "which port of a pod is dialled, the order of ports and external addresses are nothing that a load \
                 balancer has; upstream asks its cloud when they change",
        adjust: services::leave_out_calls_without_a_change,
    },
    Better {
        reason: "a Service that changes all the time has ten changes at once, and then one each ten seconds, so that one \
                 author does not eat up the account's quota",
        adjust: services::spare_the_account,
    },
    Better {
        reason: "a node that is about to go takes no more traffic at once, and one with another address takes it there; \
                 upstream waits until something else changes",
        adjust: backends::follow_every_change,
    },
    Better {
        reason: "a node takes traffic once it is initialised, and nothing is updated if nothing has changed; upstream \
                 gives a node to the load balancer before, without a provider id, and once more afterwards",
        adjust: backends::follow_nothing_else,
    },
    Better {
        reason: "a node takes traffic once the cloud has its instance: it is asked one question about a node that comes \
                 without the taint; upstream takes its kubelet's word",
        adjust: backends::ask_about_backends,
    },
    Better {
        reason: "an answer that came too late for a Service is not written on another one of its name",
        adjust: writes::leave_namesakes_alone,
    },
    Better {
        reason: "nothing asks whether a load balancer exists: when an update fails, that is an event, and the update is tried again; \
                 upstream asks, and forgets it if there is none",
        adjust: backends::tell_every_failed_update,
    },
    Better {
        reason: "the load balancer of a Service that vanishes without our finalizer is deleted from memory; upstream \
                 leaves it for ever",
        adjust: writes::remember_what_vanishes,
    },
    Better {
        reason: "there is no question whether a load balancer exists: its deletion is asked for in any case, and fails \
                 as the question would",
        adjust: writes::delete_without_asking,
    },
    Better {
        reason: "the event that a load balancer is ensured comes when its address is on the Service, and a conflict \
                 before that is settled without the cloud; upstream records the event before, and starts again",
        adjust: writes::tell_what_is_written,
    },
    Better {
        reason: "the start of the work on a desired load balancer, or of a deletion, is one event; upstream records one at each attempt",
        adjust: services::report_each_start_once,
    },
    Better {
        reason: "finalizer and addresses go in one write when a load balancer is gone; upstream writes twice",
        adjust: writes::release_in_one_write,
    },
    Better {
        reason: "a cloud with routes is played by a provider that has nothing else: nodes keep the addresses that they have",
        adjust: routes::leave_addresses_alone,
    },
    Better {
        reason: "a node without pod networks has no route to wait for, and its condition stays; upstream says of it that its \
                 network is unavailable because there is a route that leads to it",
        adjust: routes::leave_nodes_without_networks_alone,
    },
    Better {
        reason: "a provider says where a load balancer is reached, and not which of its ports are in order there",
        adjust: writes::leave_ports_out,
    },
];

/// Turns a recording into what we aim for. The sentences say what was changed, and for which objects.
pub(crate) fn adjust(scenario: &mut Scenario) -> Vec<String> {
    let mut reasons = Vec::new();
    for Better { reason, adjust } in TABLE {
        let names = adjust(scenario);
        if !names.is_empty() {
            let names: Vec<_> = names.into_iter().collect();
            reasons.push(format!("{}: {reason}", names.join(", ")));
        }
    }
    reasons
}

#[cfg(test)]
mod tests;
