//! A provider that takes several load balancers in one call. A Service's name is what it does with it: an honest one has an address, and
//! a memo that tells how many were in the call and which nodes it has.

#![expect(clippy::disallowed_methods, reason = "a call that lasts is one of the crimes")]

use std::time::Duration;

use aerostat_sdk::{
    BatchDescription, BatchItem, Deletion, Description, Endpoint, Error, Ingress, LoadBalancer, LoadBalancerBatches,
    LoadBalancerStatus, LoadBalancers, Method, Node, Progress, Provider, Result, Setting, events, http, settings,
};

struct Batched;

aerostat_sdk::export!(Batched: Provider, LoadBalancers, LoadBalancerBatches);

impl Provider for Batched {
    fn describe() -> Result<Description> {
        let api = Endpoint::new("api", "the cloud", "https://api.example.com").allow(
            [Method::Get, Method::Put, Method::Delete],
            ["/load-balancers/*"],
            [],
        );
        let description = Description::new("batched", "1.0.0")
            .setting(Setting::optional("batch", "Load balancers in one call.").default("20"))
            .setting(Setting::optional("gather", "Milliseconds for which the host waits.").default("50"))
            .setting(Setting::optional("calls", "Calls at a time.").default("1"))
            .setting(Setting::optional("cloud", "Whether there is one.").default("false"))
            .load_balancers_share_addresses();
        Ok(match settings::find("cloud")? {
            Some(true) => description.endpoint(api),
            _ => description,
        })
    }
}

impl LoadBalancers for Batched {
    fn ensure(_: &LoadBalancer) -> Result<Progress> {
        panic!("the host calls batches")
    }

    fn delete(_: &LoadBalancer) -> Result<Deletion> {
        panic!("the host calls batches")
    }
}

impl LoadBalancerBatches for Batched {
    fn describe() -> Result<BatchDescription> {
        let gather = Duration::from_millis(settings::find("gather")?.unwrap_or(50));
        let description = BatchDescription::new(settings::find("batch")?.unwrap_or(20)).gather(gather);
        Ok(description.concurrency(settings::find("calls")?.unwrap_or(1)))
    }

    fn ensure_batch(desired: &[BatchItem], nodes: &[Node]) -> Vec<Result<Progress>> {
        let mut answers: Vec<_> = desired.iter().map(|it| ensured(it, nodes, desired.len())).collect();
        if desired.iter().any(|it| it.load_balancer.owner.name.starts_with("short")) {
            answers.pop();
        }
        answers
    }

    fn delete_batch(unwanted: &[LoadBalancer]) -> Vec<Result<Deletion>> {
        unwanted.iter().map(|it| deleted(it, unwanted.len())).collect()
    }
}

fn ensured(item: &BatchItem, nodes: &[Node], batch: usize) -> Result<Progress> {
    let LoadBalancer { owner, nodes: own, extra, .. } = &item.load_balancer;
    let (uid, name) = (&owner.uid, owner.name.split('-').next().unwrap_or_default());
    act(name, uid);
    match name {
        "invalid" => return Err(Error::invalid("no such size")),
        "elsewhere" => return Ok(Progress::NotManaged),
        _ => {}
    }
    if settings::find("cloud")? == Some(true) {
        http::put("api", ["load-balancers", &owner.name]).send()?;
    }
    let nodes: Vec<_> = item.nodes_of(nodes).map(|it| it.name.as_str()).collect();
    let words: Vec<_> = extra.iter().map(|(key, _)| key.as_str()).collect();
    let memo = format!("{uid} of {batch} nodes {} {} extra {}", own.len(), nodes.join(" "), words.join(" "));
    Ok(Progress::Ready(LoadBalancerStatus::new([Ingress::ip("192.0.2.1")]).memo(memo)))
}

fn deleted(unwanted: &LoadBalancer, batch: usize) -> Result<Deletion> {
    let (uid, name) = (&unwanted.owner.uid, unwanted.owner.name.split('-').next().unwrap_or_default());
    act(name, uid);
    if settings::find("cloud")? == Some(true) {
        // Whatever comes of it: the host has seen it.
        let _ = http::delete("api", ["load-balancers", &unwanted.name]).send();
    }
    match name {
        "count" => Ok(Deletion::kept(format!("one of {batch}"))),
        _ => Ok(Deletion::Done),
    }
}

/// The deed of a Service with this name, whatever it asks for.
fn act(name: &str, uid: &str) {
    match name {
        "panic" => panic!("on purpose"),
        "sleep" => std::thread::sleep(Duration::from_secs(3_600)),
        "nap" => std::thread::sleep(Duration::from_millis(100)),
        "tell" => {
            events::warning(Some(uid), "Note", "this one");
            events::warning(None, "Note", "nobody");
        }
        _ => {}
    }
}
