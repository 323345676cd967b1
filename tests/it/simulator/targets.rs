//! The droplets behind a load balancer.

use serde_json::json;
use tests::clouds::digitalocean::{Droplet, LoadBalancer, Options, Simulator};
use tests::simulator::Cloud;

use crate::client::simulator;
use crate::creation::{ID, create, desired, show, two, want, with};
use crate::table::{Step, play, row, say, then};

/// Adds droplets to the load balancer `$id`, or takes them away.
fn change<C: Cloud>(method: &'static str, droplets: &[u64]) -> Step<C> {
    say(method, "/v2/load_balancers/$id/droplets", json!({ "droplet_ids": droplets })).is(204, json!(null))
}

#[tokio::test]
async fn targets_at_digitalocean() {
    let targets = |ids: &[u64]| show(json!({ "droplet_ids": ids }));
    let vpc = "760e09ef-dc84-11e8-981e-3cfdfeaae000";
    let apart = |id| format!("droplet {id} is not in the VPC {vpc} of the load balancer");
    let many = "a load balancer can have at most 10 droplets";
    let mut tagged = with(desired("web"), "tag", json!("web"));
    tagged.as_object_mut().unwrap().remove("droplet_ids");
    let chosen = json!({ "load_balancer": { "id": "$id", "tag": "web", "droplet_ids": [3] } });
    let large = || {
        let mut large = LoadBalancer::new(ID, "large");
        large.attributes.droplet_ids = (1..=11).collect();
        large
    };
    let there = || {
        let mut there = LoadBalancer::new(ID, "before");
        there.attributes.droplet_ids = vec![2];
        there.attributes.kind = "REGIONAL_NETWORK".to_owned();
        there
    };
    play([
        row("targets come and go and nothing else changes", simulator(Options::default(), 1, 4)).asks([
            create("$id", with(desired("web"), "tls_cipher_policy", json!("STRONG"))),
            show(json!("$before")),
            change("POST", &[2, 3, 4]),
            targets(&[1, 2, 3, 4]),
            change("DELETE", &[3, 4]),
            show(json!("$before")),
        ]),
        row("targets are droplets of the same network", two()).asks([
            then(|simulator: &Simulator, _| {
                simulator.droplets().insert(Droplet::new(3, "far").region("nyc3"));
                simulator.droplets().insert(Droplet::new(4, "apart").vpc("e0fe0f4d-596a-465e-a902-571ce57b79fa"));
            }),
            create("$id", desired("web")),
            change("POST", &[2, 3]).refused(422, &apart(3)),
            change("POST", &[2, 4]).refused(422, &apart(4)),
            change("POST", &[2, 9]).refused(422, "droplet 9 was not found"),
            targets(&[1, 2]),
        ]),
        row("targets by id are limited and can be taken away", simulator(Options::default(), 1, 12))
            .knowing("$id", ID)
            .asks([
                then(move |simulator: &Simulator, _| {
                    simulator.load_balancers().insert(large());
                    simulator.load_balancers().behave(|it| it.targets = Some(10));
                }),
                change("POST", &[12]).refused(422, many),
                change("DELETE", &[11]),
                change("POST", &[12]).refused(422, many),
                change("DELETE", &[10]),
                change("POST", &[12]),
                want(with(desired("many"), "droplet_ids", json!(Vec::from_iter(1..=11)))).refused(422, many),
            ]),
        row("a deleted droplet is no target", two()).asks([
            create("$id", desired("web")),
            then(|it: &Simulator, _| it.droplets().remove(1)),
            targets(&[2]),
            then(|simulator: &Simulator, known| {
                let made = simulator.load_balancers().get(known["$id"].as_str().unwrap()).unwrap();
                assert_eq!(made.attributes.droplet_ids, [2]);
            }),
            change("DELETE", &[1]).refused(422, "droplet 1 was not found"),
        ]),
        row("a tag chooses droplets in the place of ids", simulator(Options::default(), 1, 3)).asks([
            then(|it: &Simulator, _| it.droplets().update(3, |it| it.tags.push("web".to_owned()))),
            want(tagged).is(202, chosen),
            change("POST", &[1]).refused(422, "droplets of a load balancer with a tag are chosen by the tag"),
        ]),
        row("a load balancer can be there before the first request", two()).knowing("$id", ID).asks([
            then(move |it: &Simulator, _| it.load_balancers().insert(there())),
            show(json!({ "status": "active", "droplet_ids": [2], "ip": "~192.0.2." })),
        ]),
    ])
    .await;
}
