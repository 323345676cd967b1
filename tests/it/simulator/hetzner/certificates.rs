//! Certificates: uploaded, and managed.

use serde_json::{Value, json};
use tests::clouds::hetzner::{Behaviour, Certificate, Options, Taking};

use super::{action, create, desired, service, simulator};
use crate::client::{delete, get, send};

#[tokio::test]
async fn a_managed_certificate_is_issued_in_time() {
    let behaviour = Behaviour { actions: Taking::Reads(1), ..Behaviour::instant() };
    let simulator = simulator(Options { behaviour, ..Options::default() }, 0).await;
    let body = json!({
        "name": "www", "type": "managed", "domain_names": ["www.example.com"], "labels": { "hcloud-ccm/service-uid": "a" },
    });
    let answer = send(&simulator, "POST", "/v1/certificates", &body).await.unwrap();
    let issuing = action(&answer);
    assert_eq!(answer.body["certificate"]["status"]["issuance"], "pending");
    get(&simulator, &format!("/v1/actions/{issuing}")).await.unwrap();
    let listed = get(&simulator, "/v1/certificates?label_selector=hcloud-ccm%2Fservice-uid%3Da").await.unwrap();
    assert_eq!(listed.body["certificates"][0]["status"]["issuance"], "completed");
    let second = send(&simulator, "POST", "/v1/certificates", &body).await.unwrap();
    assert_eq!(second.code(), (409, "uniqueness_error"));
    let without = json!({ "name": "other", "type": "managed" });
    assert_eq!(send(&simulator, "POST", "/v1/certificates", &without).await.unwrap().code(), (422, "invalid_input"));
}

#[tokio::test]
async fn an_uploaded_certificate_is_there_at_once() {
    let simulator = simulator(Options::instant(), 2).await;
    let body = json!({ "name": "www", "type": "uploaded", "certificate": "PEM", "private_key": "PEM" });
    let answer = send(&simulator, "POST", "/v1/certificates", &body).await.unwrap();
    assert_eq!((answer.status, &answer.body["action"]), (201, &Value::Null));
    let id = answer.body["certificate"]["id"].clone();
    assert_eq!(get(&simulator, "/v1/certificates?name=www").await.unwrap().body["certificates"][0]["id"], id);

    let mut desired = desired("web");
    let mut https = service(443, 30443);
    (https["protocol"], https["http"]) = (json!("https"), json!({ "certificates": [id] }));
    desired["services"] = json!([https]);
    let user = create(&simulator, &desired).await;
    let path = format!("/v1/certificates/{id}");
    let used = get(&simulator, &path).await.unwrap();
    assert_eq!(used.body["certificate"]["used_by"], json!([{ "id": user, "type": "load_balancer" }]));
    assert_eq!(delete(&simulator, &path).await.unwrap().code(), (409, "conflict"));
    simulator.load_balancers().remove(user);
    assert_eq!(delete(&simulator, &path).await.unwrap().status, 204);
}

#[tokio::test]
async fn certificates_are_chosen_by_their_type() {
    let simulator = simulator(Options::instant(), 0).await;
    simulator.certificates().insert(Certificate::new(1, "one"));
    simulator.certificates().insert(Certificate::new(2, "two").managed());
    let managed = get(&simulator, "/v1/certificates?type=managed").await.unwrap();
    assert_eq!(
        (&managed.body["certificates"][0]["id"], managed.body["certificates"].as_array().unwrap().len()),
        (&json!(2), 1)
    );
}
