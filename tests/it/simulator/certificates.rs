//! Certificates, tags and private networks.

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Certificate, Options, Simulator, Vpc};

use crate::client::simulator;
use crate::creation::{ONE, create, desired, two, want, with};
use crate::table::{get, play, post, put, row, then};

const A: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";
const B: &str = "ba9b9c18-6c59-46c2-99df-70da170a42ba";
/// A private network in `nyc3`.
const OWN: &str = "e0fe0f4d-596a-465e-a902-571ce57b79fa";

async fn one() -> Simulator {
    simulator(Options::default(), 1, 0).await
}

#[tokio::test]
async fn certificates_tags_and_networks_at_digitalocean() {
    let ids = |query: &str, ids: &[&str]| {
        let ids: Value = ids.iter().map(|it| json!({ "id": it })).collect();
        get(format!("/v2/certificates{query}")).is(200, json!({ "certificates": ids }))
    };
    let mail = json!({ "certificate": { "name": "mail", "type": "lets_encrypt" } });
    let resource = |id: &str, kind: &str| json!({ "resource_id": id, "resource_type": kind });
    let tag = |resources: Value| post("/v2/tags/k8s:c/resources", json!({ "resources": resources })).status(204);
    let both = || tag(json!([resource("$id", "load_balancer"), resource("2", "droplet")]));
    let make = |tag: &str| post("/v2/tags", json!({ "name": tag }));
    let tagged = |tag: &str| with(desired("web"), "tags", json!([tag]));
    let kept = |it: &Simulator| assert_eq!(it.load_balancers().all()[0].tags, ["k8s:c"]);
    let vpc = || Vpc { id: OWN.to_owned(), name: "own".to_owned(), region: "nyc3".to_owned(), default: false };
    let inside = |region: &str| {
        let desired = with(with(desired("web"), "droplet_ids", json!([])), "vpc_uuid", json!(OWN));
        want(with(desired, "region", json!(region)))
    };
    play([
        row("certificates are found by their exact name or their id", one()).asks([
            then(|simulator: &Simulator, _| {
                simulator.certificates().insert(Certificate::new(A, "web"));
                simulator.certificates().insert(Certificate::new(B, "mail").lets_encrypt());
            }),
            ids("", &[A, B]),
            ids("?name=", &[A, B]),
            ids("?name=mail&page=1&per_page=1", &[B]),
            ids("?name=Mail", &[]),
            get(format!("/v2/certificates/{B}")).is(200, mail),
            then(|it: &Simulator, _| it.certificates().remove(B)),
            get(format!("/v2/certificates/{B}")).status(404),
        ]),
        row("a tag is made before it is put on something", two()).asks([
            create("$id", desired("web")),
            both().status(404),
            make("k8s:c").is(201, json!({ "tag": { "name": "k8s:c" } })),
            both(),
            both(),
            then(move |simulator: &Simulator, _| {
                kept(simulator);
                assert_eq!(simulator.droplets().get(2).unwrap().tags, ["k8s:c"]);
            }),
            tag(json!([resource(A, "load_balancer")])).refused(422, &format!("there is no load_balancer {A} to tag")),
            then(|it: &Simulator, _| it.assert_valid()),
            make("k8s c").refused(422, r#"tag "k8s c" is invalid"#),
            then(|it: &Simulator, _| assert_eq!(it.take_violations().len(), 1)),
        ]),
        row("tags are set at creation and not shown", two()).asks([
            want(tagged("k8s:c")).is(202, json!({ "load_balancer": { "id": "$id", "tags": null } })),
            then(|it: &Simulator, _| assert!(it.tags().contains("k8s:c"))),
            put(ONE, tagged("k8s:d")).status(200),
            then(move |it: &Simulator, _| kept(it)),
        ]),
        row("every region has a private network", one()).asks([
            then(move |it: &Simulator, _| it.vpcs().insert(vpc())),
            get("/v2/vpcs").is(200, json!({ "vpcs": "$vpcs" })),
            then(|_, known| {
                let vpcs = known["$vpcs"].as_array().unwrap();
                assert_eq!(vpcs.iter().filter(|it| it["region"] == "nyc3").count(), 2);
            }),
            get(format!("/v2/vpcs/{OWN}")).is(200, json!({ "vpc": { "region": "nyc3" } })),
            get(format!("/v2/vpcs/{A}")).status(404),
            inside("fra1").refused(422, &format!("VPC {OWN} is in the region nyc3")),
            inside("nyc3").is(202, json!({ "load_balancer": { "vpc_uuid": OWN } })),
        ]),
    ])
    .await;
}
