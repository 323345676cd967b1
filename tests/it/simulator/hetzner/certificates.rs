//! Certificates: uploaded, and managed.

use serde_json::json;
use tests::clouds::hetzner::{Behaviour, Certificate, Options, Simulator, Taking};

use super::{behaving, create, desired, service, simulator, with};
use crate::table::{delete, get, play, post, row, then};

#[tokio::test]
async fn certificates_of_hetzner() {
    let managed = || {
        json!({
            "name": "www", "type": "managed", "domain_names": ["www.example.com"],
            "labels": { "hcloud-ccm/service-uid": "a" },
        })
    };
    let uploaded = json!({ "name": "www", "type": "uploaded", "certificate": "PEM", "private_key": "PEM" });
    let https = with(service(443, 30443), "protocol", json!("https"));
    let https = with(https, "http", json!({ "certificates": ["$www"] }));
    let issued = |issuance: &str| json!({ "status": { "issuance": issuance } });
    let path = "/v1/certificates/$www";
    play([
        row(
            "a managed certificate is issued in time",
            behaving(Behaviour { actions: Taking::Reads(1), ..Behaviour::instant() }),
        )
        .asks([
            post("/v1/certificates", managed()).is(
                201,
                json!({ "action": { "id": "$issuing", "status": "running" }, "certificate": issued("pending") }),
            ),
            get("/v1/actions/$issuing"),
            get("/v1/certificates?label_selector=hcloud-ccm%2Fservice-uid%3Da")
                .is(200, json!({ "certificates": [issued("completed")] })),
            post("/v1/certificates", managed()).code(409, "uniqueness_error"),
            post("/v1/certificates", json!({ "name": "other", "type": "managed" })).code(422, "invalid_input"),
        ]),
        row("an uploaded certificate is there at once, and stays while it is used", simulator(Options::instant(), 2))
            .asks([
                post("/v1/certificates", uploaded).is(201, json!({ "action": null, "certificate": { "id": "$www" } })),
                get("/v1/certificates?name=www").is(200, json!({ "certificates": [{ "id": "$www" }] })),
                create("$user", with(desired("web"), "services", json!([https]))),
                get(path)
                    .is(200, json!({ "certificate": { "used_by": [{ "id": "$user", "type": "load_balancer" }] } })),
                delete(path).code(409, "conflict"),
                then(|it: &Simulator, known| it.load_balancers().remove(known["$user"].as_u64().unwrap())),
                delete(path).status(204),
            ]),
        row("certificates are chosen by their type", simulator(Options::instant(), 0)).asks([
            then(|simulator: &Simulator, _| {
                simulator.certificates().insert(Certificate::new(1, "one"));
                simulator.certificates().insert(Certificate::new(2, "two").managed());
            }),
            get("/v1/certificates?type=managed").is(200, json!({ "certificates": [{ "id": 2 }] })),
        ]),
    ])
    .await;
}
