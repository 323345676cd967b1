//! Answers that leave out, and show, what the published examples do.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Behaviour, Certificate, Creation, Droplet, Options, Simulator};

use crate::client::{get, send, simulator};
use crate::creation::{create, desired, show};

/// An example of the description, by its name there.
fn example(name: &str) -> Value {
    let examples: Value = serde_json::from_str(include_str!("../../api/digitalocean-examples.json")).unwrap();
    examples[name].clone()
}

fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

async fn behaving(load_balancers: Behaviour) -> Simulator {
    simulator(Options { load_balancers, ..Options::default() }, 1, 2).await
}

#[tokio::test]
async fn an_answer_may_leave_out_what_an_example_leaves_out() {
    let simulator = behaving(Behaviour { defaults_left_out: true, ..Behaviour::default() }).await;
    let request = example("load_balancer_ssl_termination_create_request");
    for id in request["droplet_ids"].as_array().unwrap() {
        simulator.droplets().insert(Droplet::new(id.as_u64().unwrap(), "worker").region("nyc3"));
    }
    let certificate = request["forwarding_rules"][0]["certificate_id"].as_str().unwrap();
    simulator.certificates().insert(Certificate::new(certificate, "web"));
    let made = create(&simulator, &request).await;

    let published = &example("load_balancer_ssl_termination_response")["load_balancer"];
    assert_eq!(names(&made), names(published));
    for part in ["forwarding_rules", "health_check", "sticky_sessions"] {
        let (made, published) = (&made[part], &published[part]);
        assert_eq!(names(made.get(0).unwrap_or(made)), names(published.get(0).unwrap_or(published)), "{part}");
    }
    let list = get(&simulator, "/v2/load_balancers").await.unwrap();
    assert_eq!(names(&list.body["load_balancers"][0]), names(published));
}

#[tokio::test]
async fn what_is_not_as_by_default_is_never_left_out() {
    let simulator = behaving(Behaviour { defaults_left_out: true, ..Behaviour::default() }).await;
    let mut rich = desired("web");
    let said = json!({
        "type": "REGIONAL_NETWORK",
        "network_stack": "DUALSTACK",
        "size_unit": 3,
        "firewall": { "allow": ["cidr:10.0.0.0/8"], "deny": [] },
        "http_idle_timeout_seconds": 600,
        "project_id": "4de7ac8b-495b-4884-9a69-1050c6793cd6",
        "tls_cipher_policy": "STRONG",
    });
    rich.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    let made = create(&simulator, &rich).await;
    for (name, value) in said.as_object().unwrap() {
        assert_eq!(&made[name], value, "{name}");
    }
    let mut inside = desired("inside");
    inside["network"] = json!("INTERNAL");
    assert_eq!(create(&simulator, &inside).await["network"], "INTERNAL");
}

#[tokio::test]
async fn a_replaced_load_balancer_may_be_new_again() {
    assert_eq!(example("load_balancer_update_response")["load_balancer"]["status"], "new");

    let simulator = behaving(Behaviour { replacements_are_new: true, ..Behaviour::default() }).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let before = show(&simulator, &id).await;
    simulator.load_balancers().behave(|it| it.creation = Creation::Reads(1));
    let path = format!("/v2/load_balancers/{}", id.as_str().unwrap());
    let put = send(&simulator, "PUT", &path, &desired("web")).await.unwrap();
    let answer = &put.body["load_balancer"];
    assert_eq!((put.status, &answer["status"], &answer["ip"]), (200, &json!("new"), &before["ip"]));
    assert_eq!(show(&simulator, &id).await["status"], "new");
    assert_eq!(show(&simulator, &id).await, before);

    simulator.load_balancers().behave(|it| it.creation = Creation::Takes(Duration::ZERO));
    send(&simulator, "PUT", &path, &desired("web")).await.unwrap();
    assert_eq!(show(&simulator, &id).await, before);
}
