//! A provider that takes several load balancers in one call, in its sandbox, behind the controller.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Demand;
use egress::{Credentials, Egress, EgressSettings};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use prometheus::Registry;
use sandbox::{CallLimits, Metrics, Module, Provider, ProviderSettings, Sandbox};
use tests::control_plane::cluster;
use tests::rig::FakeCloud;
use tests::wait;

use crate::controller::{
    Controller, addressed, addresses, create, delete, gone, join, join_all as join_nodes, memo, node, one, service,
    services, told,
};

/// A loaded provider, and the counts of its calls.
struct BatchedCloud {
    provider: Provider,
    registry: Registry,
}

impl FakeCloud for BatchedCloud {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        self.provider.cloud()
    }
}

impl BatchedCloud {
    /// Loads it; `gather` is in milliseconds.
    async fn load(gather: &str) -> Arc<Self> {
        let registry = Registry::new();
        let egress = EgressSettings {
            endpoints: Vec::new(),
            credentials: Credentials::default(),
            fence: Arc::new(|| true),
            demands: Arc::new(|_| Demand::default()),
            reports: Arc::new(|_| ()),
            route: |it| it,
        };
        let egress = Egress::new(egress, egress::Metrics::register(&registry).unwrap()).unwrap();
        let bytes = std::fs::read(tests::guests::BATCHED).unwrap();
        let digest = sandbox::Digest::parse(&tests::guests::sha256(tests::guests::BATCHED)).unwrap();
        let module = Module::new("module in a file", bytes, digest).unwrap();
        let limits = CallLimits { quarantine: Duration::from_secs(600), ..CallLimits::default() };
        let settings = ProviderSettings {
            settings: vec![("gather".to_owned(), gather.to_owned())],
            limits,
            ..ProviderSettings::default()
        };
        let sandbox = Sandbox::new(limits.memory).unwrap();
        let metrics = Metrics::register(&registry).unwrap();
        let provider = Provider::load(&sandbox, module, settings, egress, metrics).await;
        Arc::new(Self { provider: provider.unwrap_or_else(|error| panic!("{error:?}")), registry })
    }

    /// How many calls of a function there were, however they ended.
    fn calls(&self, function: &str) -> u64 {
        let families = self.registry.gather();
        let family = families.iter().find(|it| it.name() == "aerostat_provider_calls_total").unwrap();
        let function = format!("load-balancer-batches.{function}");
        let found = family.get_metric().iter().filter(|it| it.get_label().iter().any(|it| it.value() == function));
        found.map(|it| it.get_counter().get_value() as u64).sum()
    }
}

/// How many load balancers were in the call that made a Service's.
fn batch(service: &Service) -> Option<usize> {
    memo(service)?.split(" of ").nth(1)?.split(' ').next()?.parse().ok()
}

#[tokio::test]
async fn twenty_services_a_node_and_their_end_are_a_call_each() {
    let cluster = cluster().await;
    let cloud = BatchedCloud::load("10000").await;
    join_nodes(&cluster, 2).await;
    let controller = Controller::start(&cluster, &cloud, one());
    let names: Vec<_> = (0..20).map(|it| format!("web-{it}")).collect();
    join_all(names.iter().map(async |it| create(&cluster, &service(it)).await)).await;
    for name in &names {
        let service = addressed(&cluster, name, "192.0.2.1").await;
        assert_eq!(batch(&service), Some(20), "{name}: one worker is asked for, and a batch is full all the same");
    }
    assert_eq!(cloud.calls("ensure"), 1);
    join(&cluster, &node(3)).await;
    controller.knows("n3").await;
    let all = async || {
        let services = join_all(names.iter().map(async |it| services(&cluster).get(it).await.unwrap())).await;
        services.iter().all(|it| memo(it).is_some_and(|it| it.contains("n1 n2 n3"))).then_some(())
    };
    wait::until("all know the third node", all).await;
    assert_eq!(cloud.calls("ensure"), 2, "the node is one call");
    join_all(names.iter().map(async |it| delete(&cluster, it).await)).await;
    for name in &names {
        gone(&cluster, name).await;
    }
    assert_eq!(cloud.calls("delete"), 1);
}

#[tokio::test]
async fn one_that_crashes_and_one_that_is_invalid_cost_no_other() {
    let cluster = cluster().await;
    let cloud = BatchedCloud::load("500").await;
    join_nodes(&cluster, 1).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    let names = ["web-1", "panic-2", "web-3", "invalid-4", "elsewhere-5", "web-6"];
    join_all(names.map(async |it| create(&cluster, &service(it)).await)).await;
    for name in ["web-1", "web-3", "web-6"] {
        addressed(&cluster, name, "192.0.2.1").await;
    }
    let crashed = told(&cluster, "panic-2", "SyncLoadBalancerFailed", 1).await;
    let says = |events: &[String], part: &str| events.iter().any(|it| it.contains(part));
    assert!(says(&crashed, "Only Service default/panic-2 is set aside"), "{crashed:?}");
    let refused = told(&cluster, "invalid-4", "SyncLoadBalancerFailed", 1).await;
    assert!(says(&refused, "no such size"), "{refused:?}");
    for name in ["panic-2", "invalid-4", "elsewhere-5"] {
        assert!(addresses(&services(&cluster).get(name).await.unwrap()).is_empty(), "{name}");
    }
}
