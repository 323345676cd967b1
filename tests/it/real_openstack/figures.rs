//! Counts beside those of OpenStack's own manager, and seconds.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};

use crate::setup::{PATIENCE, Site, play, port};

/// How many load balancers there are, unless AEROSTAT_POINTS says it. The recordings have 20, with 32 pools.
const BALANCERS: usize = 20;

#[test]
#[expect(clippy::disallowed_methods, reason = "AEROSTAT_POINTS is how a person says how many there are")]
fn figures_of_many_load_balancers() {
    play(async |cloud| {
        let points = std::env::var("AEROSTAT_POINTS").ok().and_then(|it| it.parse().ok());
        let count: usize = points.unwrap_or(BALANCERS);
        // Counts are those of the provider's own default.
        let site = Site::new(cloud, "figures").await.setting("pollInterval", "5s");
        let process = site.start().await;
        let mut ids = site.joined(&[("node-1", 11), ("node-2", 12)]).await;
        let names: Vec<_> = (0..count).map(|it| format!("many-{it}")).collect();
        // One has ten ports, three have two, the others one: 32 pools with 20.
        let ports = |index: usize| -> Value {
            let wanted: u16 = if index == 0 {
                10
            } else if index <= 3 {
                2
            } else {
                1
            };
            (0..wanted).map(|it| port(80 + it)).collect()
        };
        let pools: usize = (0..count).map(|it| ports(it).as_array().unwrap().len()).sum();
        let _ = site.asked();
        let begun = Instant::now();
        for (index, name) in names.iter().enumerate() {
            site.create(name, ports(index), &json!({})).await;
        }
        let patience = PATIENCE * u32::try_from(count).unwrap();
        tests::wait::within(patience, async || {
            let all = cloud.cloud.list("load-balancer", "/v2.0/lbaas/loadbalancers", "loadbalancers").await;
            let active = all.iter().filter(|it| it["provisioning_status"] == "ACTIVE").count();
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            (active == count).then_some(())
        })
        .await
        .unwrap();
        let mut addresses = BTreeSet::new();
        for name in &names {
            addresses.insert(site.address(name, "").await);
        }
        assert!(addresses.len() == count && addresses.iter().all(|it| it.starts_with("172.24.4.")), "{addresses:?}");
        let asked = site.asked();
        figure(&format!("creation of {count} load balancers with {pools} pools"), &asked, begun);
        let refused: Vec<_> = asked.0.iter().filter(|it| it.status >= 400).collect();
        assert_eq!(asked.writes().len(), 2 * count, "{:#?} {refused:#?}", asked.writes());
        process.stop().await;

        let begun = Instant::now();
        let process = site.start().await;
        // Its first node is joined only when it has seen all Services.
        ids.extend(site.joined(&[("node-3", 13)]).await);
        let all_have = async |members: usize| {
            tests::wait::within(patience, async || {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                for name in &names {
                    let balancer = site.balancers(name).await.remove(0);
                    if balancer["provisioning_status"] != "ACTIVE" {
                        return None;
                    }
                    if !site.members(&balancer).await.iter().all(|it| it.len() == members) {
                        return None;
                    }
                }
                Some(())
            })
            .await
            .unwrap();
        };
        all_have(3).await;
        let asked = site.asked();
        figure("a new process, and a node that comes", &asked, begun);
        assert_eq!(asked.writes().len(), pools);

        let begun = Instant::now();
        let nodes = kube::Api::<k8s_openapi::api::core::v1::Node>::all(site.cluster.admin.clone());
        nodes.delete("node-3", &kube::api::DeleteParams::default()).await.unwrap();
        all_have(2).await;
        let asked = site.asked();
        figure("a node that goes", &asked, begun);
        assert_eq!(asked.writes().len(), pools);
        process.stop().await;

        let begun = Instant::now();
        let process = site.start().await;
        // Whatever a new process asks about its Services comes before it says so.
        tokio::time::sleep(std::time::Duration::from_secs(20)).await;
        let asked = site.asked();
        figure("a new process", &asked, begun);
        assert!(asked.writes().is_empty() && asked.count() <= 60);

        let begun = Instant::now();
        site.change("many-0", &json!({ "spec": { "loadBalancerSourceRanges": ["192.0.2.0/24"] } })).await;
        let balancer = site.active("many-0").await;
        site.eventually("source ranges of ten ports", async || {
            let listeners = site.parts(&balancer, "listeners").await;
            listeners.iter().all(|it| it["allowed_cidrs"] == json!(["192.0.2.0/24"])).then_some(())
        })
        .await;
        site.active("many-0").await;
        let asked = site.asked();
        figure("source ranges of ten ports", &asked, begun);
        assert!(asked.writes().len() == 10 && asked.count() <= 40);
        for name in &names {
            site.services().delete(name, &kube::api::DeleteParams::default()).await.unwrap();
        }
        for name in &names {
            site.eventually(&format!("{name} goes"), async || {
                site.services().get_opt(name).await.unwrap().is_none().then_some(())
            })
            .await;
        }
        process.stop().await;
    });
}

/// Shows counts, and seconds.
fn figure(what: &str, asked: &crate::setup::Asking, begun: Instant) {
    let largest = asked.0.iter().map(|it| it.bytes).max().unwrap_or_default();
    eprintln!(
        "    figure: {what}: {} requests, {} writes, the largest body has {largest} bytes, {:.0} s",
        asked.count(),
        asked.writes().len(),
        begun.elapsed().as_secs_f64(),
    );
    for (request, times) in asked.kinds() {
        eprintln!("      {times:>4} {request}");
    }
}
