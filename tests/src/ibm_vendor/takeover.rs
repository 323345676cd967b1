//! Services with what theirs left for them in the cloud, for a binary that has never seen them.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::beside::{merge_patch, whole_manifest};
use crate::clouds::ibm::{VPC, VpcKind, World};
use crate::vendor::{IbmCloud, Vendor as _, ibm};

use super::seen::{SeenVpcBalancer, recorded_words};
use super::stage::VpcStage;
use super::story::{VpcChange, VpcStoryStep, read_story};

/// A Service that asks for what aerostat refuses.
const REFUSED: &str = "typo";

/// A Service as theirs left it after a step, with its load balancer.
#[derive(Clone, Debug, PartialEq)]
pub struct VpcInheritance {
    name: String,
    service: Value,
    balancer: SeenVpcBalancer,
}

/// All states in which theirs left Services, each once: the step's name, the numbers of the nodes that there are, and the Services.
#[must_use]
pub fn inheritances() -> Vec<(String, Vec<u32>, Vec<VpcInheritance>)> {
    let mut services: BTreeMap<String, Value> = BTreeMap::new();
    let mut before: BTreeMap<String, VpcInheritance> = BTreeMap::new();
    let (mut nodes, mut rounds) = (vec![1, 2, 3], Vec::new());
    for step in read_story().into_iter().flat_map(|it| it.1) {
        change(&mut services, &step);
        match step.change {
            VpcChange::AddWorkers(numbers) => nodes.extend(numbers),
            // The last two left in a step that was not recorded.
            VpcChange::Patch(_) => nodes.retain(|it| step.name != "lb-port-removed" || *it < 5),
            _ => {}
        }
        let mut round = Vec::new();
        for (name, service) in services.iter().filter(|(name, _)| *name != REFUSED) {
            let Some(balancer) = step.balancers.iter().find(|it| is_of(it, name, service)).cloned() else { continue };
            let state = VpcInheritance { name: name.clone(), service: service.clone(), balancer };
            if before.get(name) != Some(&state) {
                before.insert(name.clone(), state.clone());
                round.push(state);
            }
        }
        if !round.is_empty() {
            rounds.push((step.name, nodes.clone(), round));
        }
    }
    rounds
}

/// The Services after a step.
fn change(services: &mut BTreeMap<String, Value>, step: &VpcStoryStep) {
    for name in step.subjects {
        match step.change {
            VpcChange::Become | VpcChange::Make(..) => drop(services.insert((*name).to_owned(), step.wanted(name))),
            VpcChange::Patch(patch) => {
                let patch = serde_json::from_str(patch).expect("it is JSON");
                services.get_mut(*name).into_iter().for_each(|it| merge_patch(it, &patch));
            }
            VpcChange::Delete => drop(services.remove(*name)),
            _ => {}
        }
    }
}

/// Whether a load balancer is the Service's: it has its name, or the one that the Service chose. A chosen name that another Service has is none.
fn is_of(balancer: &SeenVpcBalancer, name: &str, service: &Value) -> bool {
    let chosen = &service["metadata"]["annotations"][IbmCloud::NAME];
    let own = recorded_words().value(&json!(balancer.name));
    let is_chosen = *chosen == json!(balancer.name) && ["priv", "owner"].contains(&name);
    is_chosen || own == json!(format!("LB({name})"))
}

impl VpcInheritance {
    /// Makes the Service with its finalizer and status, and puts what it has into the account. Answers its name.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not take it.
    pub async fn put(&self, stage: &VpcStage) -> String {
        let mut service = whole_manifest(&self.name, &self.service);
        service["metadata"]["finalizers"] = json!(["service.kubernetes.io/load-balancer-cleanup"]);
        let service = serde_json::from_value(service).expect("it is a Service");
        let made = stage.services().create(&PostParams::default(), &service).await.expect("the API server takes it");
        let own = IbmCloud::default_name(&made.uid().unwrap_or_default());
        let words = recorded_words().then(&format!("LB({})", self.name), &own);
        let name = words.value(&json!(self.balancer.name));
        let id = stage.cloud.with(|world| self.restore(world, name.as_str().unwrap_or_default()));
        let ingress = json!([{ "hostname": ibm::hostname(&id) }]);
        let status = Patch::Merge(json!({ "status": { "loadBalancer": { "ingress": ingress } } }));
        let shown = stage.services().patch_status(&self.name, &PatchParams::default(), &status).await;
        stage.learn(shown.expect("the API server takes it"));
        self.name.clone()
    }

    /// Answers the id of the load balancer.
    fn restore(&self, world: &mut World, name: &str) -> String {
        let id = world.add_foreign(VPC, name);
        if let Some(it) = world.get_mut(VpcKind::LoadBalancer, &id) {
            (it["is_public"], it["subnets"]) = (json!(self.balancer.is_public), json!(self.balancer.subnets));
        }
        let mut pools = BTreeMap::new();
        for (recorded, pool) in &self.balancer.pools {
            let mut body = json!({ "balancer": id });
            for field in ["name", "protocol", "algorithm", "proxy_protocol", "health_monitor"] {
                body[field] = pool.body[field].clone();
            }
            if body["proxy_protocol"].is_null() {
                body["proxy_protocol"] = json!("disabled");
            }
            let own = world.insert(VpcKind::Pool, body);
            for it in &pool.members {
                let address = &it["target"]["address"];
                let member = json!({ "balancer": id, "pool": own, "port": it["port"], "address": address });
                world.insert(VpcKind::Member, member);
            }
            pools.insert(recorded.clone(), own.clone());
            pools.insert(pool.body["name"].as_str().unwrap_or_default().to_owned(), own);
        }
        for it in self.balancer.listeners.values() {
            let pool = ["id", "name"].into_iter().find_map(|key| pools.get(it["default_pool"][key].as_str()?));
            world.insert(
                VpcKind::Listener,
                json!({
                    "balancer": id, "pool": pool, "port": it["port"], "protocol": it["protocol"],
                    "connection_limit": it["connection_limit"], "idle_connection_timeout": 50, "accept_proxy_protocol": false,
                }),
            );
        }
        id
    }
}
