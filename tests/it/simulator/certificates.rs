//! Certificates, tags and private networks.

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Certificate, Options, Vpc};

use crate::client::{get, send, simulator};
use crate::creation::{create, desired};

const A: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";
const B: &str = "ba9b9c18-6c59-46c2-99df-70da170a42ba";

#[tokio::test]
async fn certificates_are_found_by_their_exact_name_or_their_id() {
    let simulator = simulator(Options::default(), 1, 0).await;
    simulator.certificates().insert(Certificate::new(A, "web"));
    simulator.certificates().insert(Certificate::new(B, "mail").lets_encrypt());
    let ids = async |path: &str| {
        let list = get(&simulator, path).await.unwrap();
        Vec::from_iter(list.body["certificates"].as_array().unwrap().iter().map(|it| it["id"].clone()))
    };
    assert_eq!(ids("/v2/certificates").await, [A, B]);
    assert_eq!(ids("/v2/certificates?name=").await, [A, B]);
    assert_eq!(ids("/v2/certificates?name=mail&page=1&per_page=1").await, [B]);
    assert_eq!(ids("/v2/certificates?name=Mail").await, [] as [Value; 0]);

    let one = get(&simulator, &format!("/v2/certificates/{B}")).await.unwrap();
    let certificate = &one.body["certificate"];
    assert_eq!((&certificate["name"], &certificate["type"]), (&json!("mail"), &json!("lets_encrypt")));
    simulator.certificates().remove(B);
    assert_eq!(get(&simulator, &format!("/v2/certificates/{B}")).await.unwrap().status, 404);
}

#[tokio::test]
async fn a_tag_is_made_before_it_is_put_on_something() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let resource = json!({ "resource_id": id, "resource_type": "load_balancer" });
    let droplet = json!({ "resource_id": "2", "resource_type": "droplet" });
    let both = json!({ "resources": [resource, droplet] });
    let path = "/v2/tags/k8s:c/resources";
    assert_eq!(send(&simulator, "POST", path, &both).await.unwrap().status, 404);

    let made = send(&simulator, "POST", "/v2/tags", &json!({ "name": "k8s:c" })).await.unwrap();
    assert_eq!((made.status, &made.body["tag"]["name"]), (201, &json!("k8s:c")));
    for _ in 0..2 {
        assert_eq!(send(&simulator, "POST", path, &both).await.unwrap().status, 204);
    }
    assert_eq!(simulator.load_balancers().all()[0].tags, ["k8s:c"]);
    assert_eq!(simulator.droplets().get(2).unwrap().tags, ["k8s:c"]);

    let nothing = json!({ "resources": [{ "resource_id": A, "resource_type": "load_balancer" }] });
    let refused = send(&simulator, "POST", path, &nothing).await.unwrap();
    assert_eq!(refused.refusal(), (422, format!("there is no load_balancer {A} to tag").as_str()));
    simulator.assert_valid();
    let refused = send(&simulator, "POST", "/v2/tags", &json!({ "name": "k8s c" })).await.unwrap();
    assert_eq!(refused.refusal(), (422, r#"tag "k8s c" is invalid"#));
    assert_eq!(simulator.take_violations().len(), 1);
}

#[tokio::test]
async fn tags_are_set_at_creation_and_not_shown() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let mut tagged = desired("web");
    tagged["tags"] = json!(["k8s:c"]);
    let made = create(&simulator, &tagged).await;
    assert_eq!(made["tags"], Value::Null);
    assert!(simulator.tags().contains("k8s:c"));

    tagged["tags"] = json!(["k8s:d"]);
    let path = format!("/v2/load_balancers/{}", made["id"].as_str().unwrap());
    assert_eq!(send(&simulator, "PUT", &path, &tagged).await.unwrap().status, 200);
    assert_eq!(simulator.load_balancers().all()[0].tags, ["k8s:c"]);
}

#[tokio::test]
async fn every_region_has_a_private_network() {
    let simulator = simulator(Options::default(), 1, 0).await;
    let own = "e0fe0f4d-596a-465e-a902-571ce57b79fa";
    let vpc = Vpc { id: own.to_owned(), name: "own".to_owned(), region: "nyc3".to_owned(), default: false };
    simulator.vpcs().insert(vpc);
    let list = get(&simulator, "/v2/vpcs").await.unwrap();
    assert_eq!(list.body["vpcs"].as_array().unwrap().iter().filter(|it| it["region"] == "nyc3").count(), 2);
    assert_eq!(get(&simulator, &format!("/v2/vpcs/{own}")).await.unwrap().body["vpc"]["region"], "nyc3");
    assert_eq!(get(&simulator, &format!("/v2/vpcs/{A}")).await.unwrap().status, 404);

    let mut inside = desired("web");
    inside["droplet_ids"] = json!([]);
    inside["vpc_uuid"] = json!(own);
    let wrong = send(&simulator, "POST", "/v2/load_balancers", &inside).await.unwrap();
    assert_eq!(wrong.refusal(), (422, format!("VPC {own} is in the region nyc3").as_str()));
    inside["region"] = json!("nyc3");
    assert_eq!(create(&simulator, &inside).await["vpc_uuid"], own);
}
