//! The calls about a load balancer that is as large as it may be: what each takes of the host.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use cloud_provider::{Address, AddressKind, Node};
use egress::{CredentialKind, CredentialSettings, Endpoint, WriteLimits};
use serde_json::{Value, json};
use tests::clouds::azure::{Kind, LOCATION, World, id, machine_address};
use tests::vendor::loading::{Secret, endpoint};
use tests::vendor::manifest::{cloud_config, rules};
use tests::vendor::{AzureCloud, Differences, ProviderRig, Service, Vendor as _};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::{shipped, simulator};
use crate::table::Table;

/// The most rules of a load balancer.
const RULES: usize = 250;
/// The interfaces in its pool.
const INTERFACES: usize = 1000;

/// A call that has ended, as the host logs it.
#[derive(Clone, Debug, Default)]
struct EndedCall {
    function: String,
    cpu: u64,
    wall: u64,
    memory: u64,
}

/// The log of calls that have ended.
#[derive(Clone, Default)]
struct CallLog(Arc<Mutex<Vec<EndedCall>>>);

impl CallLog {
    /// The calls since it was asked last.
    fn take(&self) -> Vec<EndedCall> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: Subscriber> Layer<S> for CallLog {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("sandbox")
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut call = EndedCall::default();
        event.record(&mut call);
        if call.memory > 0 {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        }
    }
}

impl Visit for EndedCall {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "function" {
            value.clone_into(&mut self.function);
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "cpu_us" => self.cpu = value,
            "wall_us" => self.wall = value,
            "memory" => self.memory = value,
            _ => {}
        }
    }
}

/// A Service's last rule, one in its place, and a node that leaves.
pub(crate) async fn measure() -> Result<()> {
    let log = CallLog::default();
    // The only row that listens.
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log.clone()))?;
    let cloud = simulator(INTERFACES, Duration::ZERO).await?;
    let secret = Secret::write(&cloud.token);
    let network = Endpoint {
        credential: Some("network".to_owned()),
        ca_file: Some(cloud.ca_file()),
        allow: rules(&cloud_config(&shipped())["endpoints"][1]),
        ..endpoint("network", &cloud.base_url())
    };
    let credential = CredentialSettings {
        name: "network".to_owned(),
        kind: CredentialKind::Bearer { file: secret.path() },
        limits: WriteLimits::default(),
    };
    let settings = &[AzureCloud::SETTINGS, &[("gatherMilliseconds", "0")]].concat();
    let differences = Differences { settings, second: Some((network, credential)), ..Differences::default() };
    let rig = ProviderRig::<AzureCloud>::over(cloud, differences).await;

    let mut first = Service::new(&rig);
    first.desired.nodes = (1..=1).map(node).collect();
    first.served().await;
    let base = first.desired.name.clone();
    rig.cloud.with(|world| fill(world, &base));
    let mut last = Service::new(&rig).named("last", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    last.desired.nodes = (1..=INTERFACES).map(node).collect();

    let mut table = Table::new(
        &format!("a call with a load balancer of {RULES} rules and {INTERFACES} interfaces"),
        &["memory", "CPU time", "time", "calls"],
    );
    log.take();
    last.served().await;
    show(&mut table, "a Service gets the last rule", &log.take());
    last.served().await;
    show(&mut table, "nothing to do", &log.take());
    last.desired.nodes.pop();
    last.served().await;
    show(&mut table, "a node leaves", &log.take());
    let balancer = rig.cloud.with(|world| world.get(&id("Microsoft.Network/loadBalancers/kubernetes")).cloned());
    let count = |list: &str| balancer.as_ref().map_or(0, |it| it["properties"][list].as_array().map_or(0, Vec::len));
    anyhow::ensure!(count("loadBalancingRules") == RULES, "it has {} rules", count("loadBalancingRules"));
    rig.cloud.stop().await;
    table.print()
}

/// The largest of these calls, and how many there were.
fn show(table: &mut Table, name: &str, calls: &[EndedCall]) {
    let calls: Vec<_> = calls.iter().filter(|it| it.function.contains("ensure")).collect();
    let most = |of: fn(&EndedCall) -> u64| calls.iter().map(|it| of(it)).max().unwrap_or_default();
    let milliseconds = |it: u64| format!("{} ms", it / 1000);
    let memory = format!("{:.1} MB", most(|it| it.memory) as f64 / 1e6);
    table.row(
        name,
        &[memory, milliseconds(most(|it| it.cpu)), milliseconds(most(|it| it.wall)), calls.len().to_string()],
    );
}

/// The node of a machine that was listed, as the host hands it on.
fn node(number: usize) -> Node {
    let name = crate::cloud::name(number - 1);
    let address = machine_address(u32::try_from(number).expect("there are few nodes"));
    Node {
        provider_id: Some(format!("azure://{}", id(&format!("Microsoft.Compute/virtualMachines/{name}")))),
        addresses: vec![Address { kind: AddressKind::InternalIp, value: address }],
        extra: vec![("interface".to_owned(), configuration(&name))],
        name,
        ..Node::default()
    }
}

/// The configuration of a machine's interface.
fn configuration(machine: &str) -> String {
    id(&format!("Microsoft.Network/networkInterfaces/{machine}-nic/ipConfigurations/ipc"))
}

/// Puts the parts of others beside those of the first Service, but for the last rule, and all interfaces into the pool.
fn fill(world: &mut World, first: &str) {
    let balancer = id("Microsoft.Network/loadBalancers/kubernetes");
    let Some(mut body) = world.get(&balancer).cloned() else { return };
    let is_own = |it: &&Value| it["name"].as_str().is_some_and(|it| it.ends_with(first));
    let Some(template) = world.all(Kind::PublicIp).find(is_own).cloned() else { return };
    for number in 1..RULES - 1 {
        let base = format!("a{number:031x}");
        let renamed = |it: &Value| -> Value {
            serde_json::from_str(&it.to_string().replace(first, &base)).expect("a name is no syntax")
        };
        let mut address = renamed(&template);
        address["tags"] = json!({ "k8s-azure-service": format!("default/web-{number}") });
        address["properties"]["ipAddress"] = json!(format!("20.60.{}.{}", number / 250, number % 250));
        let public = address["id"].as_str().unwrap_or_default().to_owned();
        world.insert(Kind::PublicIp, &public, address);
        for list in ["frontendIPConfigurations", "probes", "loadBalancingRules"] {
            let part = renamed(&body["properties"][list][0]);
            body["properties"][list].as_array_mut().into_iter().for_each(|it| it.push(part.clone()));
        }
    }
    body["location"] = json!(LOCATION);
    world.insert(Kind::LoadBalancer, &balancer, body);
    let pool = json!([{ "id": format!("{balancer}/backendAddressPools/kubernetes") }]);
    let interfaces: Vec<_> = world.all(Kind::Interface).filter_map(|it| Some(it["id"].as_str()?.to_owned())).collect();
    for it in interfaces {
        if let Some(body) = world.get_mut(&it) {
            body["properties"]["ipConfigurations"][0]["properties"]["loadBalancerBackendAddressPools"] = pool.clone();
        }
        world.mark(&it);
    }
}
