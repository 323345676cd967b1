//! Changes that persons make by hand in the stories.

use std::time::Duration;

use serde_json::{Value, json};

use crate::clouds::openstack::{Kind, Simulator, Taking, World};
use crate::wait;

use super::story::Story;

/// Does what a story has before its Services are made. Answers whether another cluster has objects in it.
pub(super) fn before(cloud: &Simulator, story: &Story) -> bool {
    match story.name.as_str() {
        "created-in-error" => cloud.behave(|behaviour| {
            behaviour.failing_names.insert("kube_service_prod_default_created-in-error".to_owned());
        }),
        "port-id" => cloud.with(|world| {
            let subnet = world.named(Kind::Subnet, "k8s");
            // The name by which the recording calls it.
            let port = world.add_port("port-id", ("", ""), &[(&subnet, Some("10.6.0.78"))]);
            set(world, Kind::Port, &port, &[("_called", json!("<vip-port kube_service_prod_default_port-id>"))]);
        }),
        "pending" => cloud.behave(|it| it.provisioning = Taking::Forever),
        "theft" => others(cloud, "pay", 443, &["kube_service_other_bank_pay"]),
        "theft-untagged" => others(cloud, "old", 443, &[]),
        _ => {}
    }
    story.name.starts_with("theft")
}

/// The objects of another cluster: its load balancers with all parts, and their floating IPs.
pub(super) fn of_others(world: &World) -> Vec<Value> {
    let is_others = |it: &&Value| text(it, "description").ends_with(" from cluster other");
    let balancers: Vec<_> = world.all(Kind::LoadBalancer).filter(is_others).cloned().collect();
    let is_part = |part: &&Value| balancers.iter().any(|it| it["id"] == part["_balancer"]);
    let parts = [Kind::Listener, Kind::Pool, Kind::Member, Kind::HealthMonitor];
    let parts: Vec<_> = parts.into_iter().flat_map(|kind| world.all(kind).filter(is_part).cloned()).collect();
    let floating: Vec<_> = world.all(Kind::FloatingIp).filter(is_others).cloned().collect();
    [balancers, parts, floating].concat()
}

/// Does what a story has once its Services are made.
pub(super) async fn during(cloud: &Simulator, story: &Story) {
    if story.name == "pending" {
        wait::until("both load balancers are being made", async || {
            (cloud.account().all(Kind::LoadBalancer).len() == 2).then_some(())
        })
        .await;
        cloud.with(|world| {
            world.behaviour.provisioning = Taking::Time(Duration::from_millis(100));
            let all: Vec<_> = world.all(Kind::LoadBalancer).map(id).collect();
            all.iter().for_each(|it| world.finish(it));
        });
    }
}

/// Another cluster's load balancer, with a floating IP.
fn others(cloud: &Simulator, service: &str, port: u16, tags: &[&str]) {
    cloud.with(|world| {
        let [subnet, network] = [(Kind::Subnet, "k8s"), (Kind::Network, "ext")].map(|(kind, it)| world.named(kind, it));
        let full = format!("kube_service_other_bank_{service}");
        let id = world.build_balancer(&json!({
            "name": full, "provider": "amphora", "vip_subnet_id": subnet, "tags": tags,
            "description": format!("Kubernetes external service bank/{service} from cluster other"),
            "listeners": [{
                "name": format!("listener_0_{full}"), "protocol": "TCP", "protocol_port": port, "tags": tags,
                "default_pool": {
                    "name": format!("pool_0_{full}"), "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
                    "members": [{ "name": "other-1", "address": "10.6.0.91", "protocol_port": 30_443 }],
                },
            }],
        }));
        let vip = world.get(Kind::LoadBalancer, &id).map(|it| it["vip_port_id"].clone());
        world.build_floating_ip(&json!({
            "floating_network_id": network, "port_id": vip,
            "description": format!("Floating IP for Kubernetes external service bank/{service} from cluster other"),
        }));
    });
}

/// Whether the load balancer of this Service is at rest, each listener of a manager has members, whatever their weight, and no pool is left
/// over.
pub(super) fn is_whole(cloud: &Simulator, service: &str) -> bool {
    let name = format!("kube_service_prod_default_{service}");
    cloud.with(|world| {
        let Some(balancer) = world.all(Kind::LoadBalancer).find(|it| it["_first"] == json!(name)) else { return false };
        let of = |kind: Kind| world.all(kind).filter(|it| it["_balancer"] == balancer["id"]);
        let members = |pool: &Value| of(Kind::Member).filter(|it| it["_pool"] == *pool).count();
        let pools: Vec<_> = of(Kind::Listener).map(|it| &it["default_pool_id"]).filter(|it| !it.is_null()).collect();
        balancer["provisioning_status"] == "ACTIVE"
            && pools.len() == 2
            && pools.iter().all(|it| members(it) == 4)
            && of(Kind::Pool).count() == 2
    })
}

/// Changes what belongs to this Service by hand, as a step's name says.
///
/// # Panics
///
/// Panics if no person is known to do so.
pub(super) fn change(cloud: &Simulator, service: &str, step: &str) {
    let name = format!("kube_service_prod_default_{service}");
    cloud.with(|world| {
        let balancer = world.all(Kind::LoadBalancer).find(|it| it["_first"] == json!(name)).map(id).unwrap_or_default();
        let listener = |world: &World, port: u16| {
            let all =
                world.all(Kind::Listener).find(|it| it["_balancer"] == json!(balancer) && it["protocol_port"] == port);
            all.cloned().expect("the listener is there")
        };
        let pool_of = |world: &World, port: u16| text(&listener(world, port), "default_pool_id");
        match step {
            "listener 80 deleted" => drop(world.remove(Kind::Listener, &id(&listener(world, 80)))),
            "pool of a listener deleted" => {
                // The recording has the pool that was left alone before.
                let lone = world.all(Kind::Pool).find(|pool| {
                    pool["_balancer"] == json!(balancer)
                        && !world.all(Kind::Listener).any(|it| it["default_pool_id"] == pool["id"])
                });
                let pool = lone.map(id).unwrap_or_default();
                remove_pool(world, &pool);
            }
            "member removed" => {
                let member = member_of(world, &pool_of(world, 80), "node-4");
                world.remove(Kind::Member, &member);
            }
            "member's weight set to 0" => {
                let member = member_of(world, &pool_of(world, 80), "node-4");
                set(world, Kind::Member, &member, &[("weight", json!(0))]);
            }
            "listener and load balancer renamed, tags of a person added" => {
                let tags = json!([name, "person"]);
                let listener = id(&listener(world, 80));
                set(world, Kind::Listener, &listener, &[("name", json!("mine")), ("tags", tags.clone())]);
                set(world, Kind::LoadBalancer, &balancer, &[("description", json!("mine")), ("tags", tags)]);
            }
            "listener of a person added" => add_listener(world, &balancer, ("person", 99), &[]),
            "listener of a person added, with a tag" => add_listener(world, &balancer, ("person2", 98), &["person"]),
            "floating IP deleted" => {
                let port =
                    world.get(Kind::LoadBalancer, &balancer).map(|it| text(it, "vip_port_id")).unwrap_or_default();
                let floating = world.all(Kind::FloatingIp).find(|it| it["port_id"] == json!(port)).map(id);
                floating.map(|it| world.remove(Kind::FloatingIp, &it));
            }
            "load balancer deleted" => world.take_away(&balancer),
            other => panic!("no person does this: {other}"),
        }
    });
}

fn member_of(world: &World, pool: &str, node: &str) -> String {
    let member = world.all(Kind::Member).find(|it| it["_pool"] == json!(pool) && it["name"] == json!(node));
    member.map(id).expect("the member is there")
}

fn remove_pool(world: &mut World, pool: &str) {
    for kind in [Kind::Member, Kind::HealthMonitor] {
        let parts: Vec<_> = world.all(kind).filter(|it| it["_pool"] == json!(pool)).map(id).collect();
        parts.iter().for_each(|it| drop(world.remove(kind, it)));
    }
    world.remove(Kind::Pool, pool);
}

fn add_listener(world: &mut World, balancer: &str, (name, port): (&str, u16), tags: &[&str]) {
    world.build_listener(balancer, &json!({ "name": name, "protocol": "TCP", "protocol_port": port, "tags": tags }));
}

fn set(world: &mut World, kind: Kind, id: &str, fields: &[(&str, Value)]) {
    if let Some(it) = world.get_mut(kind, id) {
        fields.iter().for_each(|(field, value)| it[*field] = value.clone());
    }
}

fn id(object: &Value) -> String {
    text(object, "id")
}

fn text(object: &Value, key: &str) -> String {
    object[key].as_str().unwrap_or_default().to_owned()
}
