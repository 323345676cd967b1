//! One call: from its JSON to its JSON.

use anyhow::{Error, Result};
use cloud_provider::{Cloud, Instance, Reply, Topology};
use conformance::{LoadBalancerInput, NodeInput, NodesInput, PodNetworkInput, RouteChangeInput, VolumeInput};
use serde_json::{Value, json};

use super::answers::{
    CallOutcome, deletion, instance, instance_page, inventory_page, progress, route_outcome, route_page, topology,
};
use super::argument::{page, read};
use super::function::CallFunction;
use super::{batches, volumes};

/// Calls the provider. The cluster has this name.
pub(super) async fn ask(cloud: &Cloud, function: CallFunction, argument: Value, cluster: &str) -> Result<CallOutcome> {
    let description = cloud.description.now();
    let lacking = || {
        Error::msg(format!(
            "the provider {} exports no {}, so that {function} cannot be called; aerostat provider check lists what it exports",
            description.name,
            function.interface()
        ))
    };
    Ok(match function {
        CallFunction::Identity => {
            let identity = cloud.identity.identity().await;
            CallOutcome::one(identity, &[], |it| json!({ "identity": it }))
        }
        CallFunction::Get => {
            let instances = cloud.instances.as_ref().ok_or_else(lacking)?;
            let shown = |it: &Option<Instance>| it.as_ref().map_or(Value::Null, instance);
            match read(function, argument)? {
                NodesInput::One(node) => {
                    let node = node.node().map_err(Error::msg)?;
                    let Reply { answer, events, .. } = instances.get(&[node]).await;
                    let first = answer.into_iter().next();
                    let first = first.ok_or_else(|| Error::msg("the provider has given no answer about the node"))?;
                    CallOutcome::one(first, &events, shown)
                }
                NodesInput::Several(nodes) => {
                    let nodes = all(nodes, NodeInput::node)?;
                    let Reply { answer, events, .. } = instances.get(&nodes).await;
                    CallOutcome::several(&answer, &events, shown)
                }
            }
        }
        CallFunction::ListInstances => {
            let instances = cloud.instances.as_ref().ok_or_else(lacking)?;
            let (cursor, limit) = page(function, argument, description.list_page_size)?;
            let Reply { answer, events, .. } = instances.list(cursor, limit).await;
            CallOutcome::one(answer, &events, instance_page)
        }
        CallFunction::CanonicalIds => {
            let instances = cloud.instances.as_ref().ok_or_else(lacking)?;
            let ids: Vec<String> = read(function, argument)?;
            CallOutcome::several(&instances.canonical_ids(&ids).await, &[], |it| json!(it))
        }
        CallFunction::Ensure => {
            let balancers = cloud.load_balancers.as_ref().ok_or_else(lacking)?;
            let desired: LoadBalancerInput = read(function, argument)?;
            let desired = desired.load_balancer(cluster).map_err(Error::msg)?;
            let Reply { answer, events, .. } = balancers.ensure(&desired).await;
            CallOutcome::one(answer, &events, progress)
        }
        CallFunction::Delete => {
            let balancers = cloud.load_balancers.as_ref().ok_or_else(lacking)?;
            let unwanted: LoadBalancerInput = read(function, argument)?;
            let unwanted = unwanted.load_balancer(cluster).map_err(Error::msg)?;
            let Reply { answer, events, .. } = balancers.delete(&unwanted).await;
            CallOutcome::one(answer, &events, deletion)
        }
        CallFunction::Batch(which) => {
            let balancers = cloud.load_balancers.as_deref().filter(|_| description.load_balancer_batches.is_some());
            let asked = all(read(function, argument)?, |it: LoadBalancerInput| it.load_balancer(cluster))?;
            batches::ask(balancers.ok_or_else(lacking)?, which, &asked).await?
        }
        CallFunction::ListLoadBalancers => {
            let inventory = cloud.load_balancer_inventory.as_ref().ok_or_else(lacking)?;
            let (cursor, limit) = page(function, argument, inventory.description().page_size)?;
            let Reply { answer, events, .. } = inventory.list(cursor, limit).await;
            CallOutcome::one(answer, &events, inventory_page)
        }
        CallFunction::ListRoutes => {
            let routes = cloud.routes.as_ref().ok_or_else(lacking)?;
            let (cursor, limit) = page(function, argument, routes.description().page_size)?;
            let Reply { answer, events, .. } = routes.list(cursor, limit).await;
            CallOutcome::one(answer, &events, route_page)
        }
        CallFunction::NextHops => {
            let routes = cloud.routes.as_ref().ok_or_else(lacking)?;
            let networks = all(read(function, argument)?, PodNetworkInput::network)?;
            let Reply { answer, events, .. } = routes.next_hops(&networks).await;
            CallOutcome::several(&answer, &events, |it| json!(it))
        }
        CallFunction::ApplyRoutes => {
            let routes = cloud.routes.as_ref().ok_or_else(lacking)?;
            let changes = all(read(function, argument)?, RouteChangeInput::change)?;
            let Reply { answer, events, .. } = routes.apply(&changes).await;
            CallOutcome::several(&answer, &events, route_outcome)
        }
        CallFunction::GetTopology => {
            let volumes = cloud.persistent_volumes.as_ref().ok_or_else(lacking)?;
            let asked: Vec<VolumeInput> = read(function, argument)?;
            let asked: Vec<_> = asked.into_iter().map(VolumeInput::volume).collect();
            let Reply { answer, events, .. } = volumes.get_topology(&asked).await;
            let shown = |it: &Option<Topology>| it.as_ref().map_or(Value::Null, topology);
            CallOutcome::several(&answer, &events, shown)
        }
        CallFunction::Volumes(which) => {
            let volumes = cloud.volumes.as_ref().ok_or_else(lacking)?;
            volumes::ask(&**volumes, which, function, argument, cluster).await?
        }
    })
}

fn all<I, T>(inputs: Vec<I>, of: impl Fn(I) -> Result<T, String>) -> Result<Vec<T>> {
    inputs.into_iter().map(of).collect::<Result<_, _>>().map_err(Error::msg)
}
