//! Networks and their routes.

use serde_json::json;
use tests::clouds::hetzner::{Behaviour, Options, Route, Taking};

use super::{NETWORK, action, route, simulator};
use crate::client::get;

#[tokio::test]
async fn a_network_is_shown_with_all_that_is_in_it() {
    let simulator = simulator(Options::instant(), 2).await;
    let network = get(&simulator, &format!("/v1/networks/{NETWORK}")).await.unwrap().body["network"].clone();
    assert_eq!((&network["ip_range"], &network["servers"]), (&json!("10.0.0.0/8"), &json!([1, 2])));
    assert_eq!(network["subnets"][0]["ip_range"], "10.0.0.0/16");
    assert_eq!(get(&simulator, "/v1/networks/1").await.unwrap().code(), (404, "not_found"));
    let named = get(&simulator, "/v1/networks?name=nothing").await.unwrap();
    assert_eq!(named.body["networks"], json!([]));
}

#[tokio::test]
async fn routes_come_and_go() {
    let simulator = simulator(Options::instant(), 2).await;
    action(&route(&simulator, "add_route", "10.244.1.0/24", "10.0.0.2").await);
    action(&route(&simulator, "add_route", "10.244.2.0/24", "10.0.0.3").await);
    let network = get(&simulator, &format!("/v1/networks/{NETWORK}")).await.unwrap().body["network"].clone();
    assert_eq!(network["routes"][1], json!({ "destination": "10.244.2.0/24", "gateway": "10.0.0.3" }));
    assert_eq!(route(&simulator, "delete_route", "10.244.1.0/24", "10.0.0.3").await.code(), (404, "not_found"));
    action(&route(&simulator, "delete_route", "10.244.1.0/24", "10.0.0.2").await);
    assert_eq!(simulator.networks().routes(NETWORK), [Route::new("10.244.2.0/24", "10.0.0.3")]);
    let twice = route(&simulator, "add_route", "10.244.2.0/24", "10.0.0.2").await;
    assert_eq!(twice.code(), (422, "invalid_input"));
}

#[tokio::test]
async fn a_network_takes_one_change_at_a_time() {
    let behaviour = Behaviour { actions: Taking::Reads(1), ..Behaviour::instant() };
    let simulator = simulator(Options { behaviour, ..Options::default() }, 2).await;
    let first = action(&route(&simulator, "add_route", "10.244.1.0/24", "10.0.0.2").await);
    let second = route(&simulator, "add_route", "10.244.2.0/24", "10.0.0.3").await;
    assert_eq!(second.code(), (409, "conflict"));
    assert_eq!(simulator.networks().routes(NETWORK), []);
    for status in ["running", "success"] {
        let answer = get(&simulator, &format!("/v1/actions?id={first}&id=77")).await.unwrap();
        let actions = answer.body["actions"].as_array().unwrap();
        assert_eq!((actions.len(), &actions[0]["status"]), (1, &json!(status)));
    }
    action(&route(&simulator, "add_route", "10.244.2.0/24", "10.0.0.3").await);
    assert_eq!(simulator.networks().routes(NETWORK), [Route::new("10.244.1.0/24", "10.0.0.2")]);
}

#[tokio::test]
async fn a_network_has_so_many_routes() {
    let behaviour = Behaviour { routes: 1, ..Behaviour::instant() };
    let simulator = simulator(Options { behaviour, ..Options::default() }, 2).await;
    action(&route(&simulator, "add_route", "10.244.1.0/24", "10.0.0.2").await);
    let second = route(&simulator, "add_route", "10.244.2.0/24", "10.0.0.3").await;
    assert_eq!(second.code(), (403, "resource_limit_exceeded"));
}
