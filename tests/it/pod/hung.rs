//! A process that hangs: the other one takes the Lease, and the kubelet starts the container again.

use rustix::process::{Pid, Signal, kill_process};
use tests::pod::Site;

use crate::joining::{events, pods_are_ready};
use crate::restricted::process;
use crate::seen::{leader, machine, name, place, pods, restarts, until};

/// Stops the leader's process, as a dead disk or a debugger would.
pub(crate) async fn leader_is_replaced_and_restarted(site: &Site) {
    let (node, before) = until(site, "somebody leads", async || leader(site).await).await;
    let pod = pods(site).await.iter().find(|it| place(it) == node).map(name).unwrap();
    let pid = Pid::from_raw(process(machine(site, &node)).cast_signed()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let after = until(site, "the other one leads", async || leader(site).await.filter(|it| it.1 != before)).await;
    assert!(after.0 != node, "{after:?}");
    let says = "Container aerostat failed liveness probe, will be restarted";
    until(site, "the kubelet sees it", async || {
        events(site, "Killing").await.into_iter().find(|it| it.0 == pod && it.1.contains(says))
    })
    .await;
    // It would be killed after the time that a Pod has for its end: half a minute.
    kill_process(pid, Signal::CONT).unwrap();
    until(site, "it is started again", async || {
        pods(site).await.iter().any(|it| name(it) == pod && restarts(it) == 1).then_some(())
    })
    .await;
    pods_are_ready(site, 2).await;
}
