//! Load balancers that people change in Rancher, natively.

use std::cell::RefCell;

use aerostat_sdk::testing::{Host, Outcome, Request, answer};
use aerostat_sdk::{Address, Deletion, Error, LoadBalancer, LoadBalancers, Method, Node, Progress};
use serde_json::{Value, json};

use super::collection;
use crate::Rancher;

const MARK: &str = "aerostat:c1a5e000-1111-2222-3333-444455556666:uid";

/// A Service whose load balancer is remembered by this id.
fn service(memo: &str) -> LoadBalancer {
    LoadBalancer { memo: Some(memo.to_owned()), ..LoadBalancer::of("default", "web", "uid") }
}

fn resource(id: &str, name: &str, mark: &str) -> Value {
    json!({ "id": id, "name": name, "state": "active", "transitioning": "no", "externalId": mark, "stackId": "1st1" })
}

/// The name of the external service of this Service.
fn target_name() -> String {
    format!("c1a5e000-{}", service("").name)
}

/// The collections `loadbalancerservices` and `externalservices` of an environment with these resources: what is deleted is gone at once, and
/// nothing is created.
fn environment(resources: [Vec<Value>; 2]) -> Host {
    let resources = RefCell::new(resources);
    Host::new().answers(move |request| answered(&mut resources.borrow_mut(), request))
}

fn answered([balancers, targets]: &mut [Vec<Value>; 2], request: &Request) -> Outcome {
    let all = match &*request.path[0] {
        "loadbalancerservices" => balancers,
        "externalservices" => targets,
        "stacks" => return collection(json!([resource("1st1", "kubernetes-loadbalancers", "")])),
        "settings" => {
            return collection(json!([{ "name": "lb.instance.image", "value": "rancher/lb-service-haproxy" }]));
        }
        other => panic!("{other} is not asked for"),
    };
    if request.method == Method::Post {
        return answer(422, r#"{ "type": "error", "status": 422, "code": "NotUnique" }"#);
    }
    let Some(id) = request.path.get(1) else { return collection(json!(all)) };
    let Some(at) = all.iter().position(|it| it["id"] == **id) else {
        return answer(404, r#"{ "type": "error", "status": 404, "code": "NotFound" }"#);
    };
    let shown = if request.method == Method::Delete { all.remove(at) } else { all[at].clone() };
    answer(200, shown.to_string())
}

/// The writes that came to a host.
fn writes(host: &Host) -> Vec<String> {
    host.requests().into_iter().filter(|it| !it.starts_with("GET ")).collect()
}

#[test]
fn service_without_its_load_balancer_leaves_no_external_service() {
    for memo in [Some("1s5".to_owned()), None] {
        let gone = LoadBalancer { memo, ..service("") };
        let cloud = environment([vec![], vec![resource("1s6", &target_name(), MARK)]]);
        let told = cloud.run(|| Rancher::delete(&gone));
        assert!(matches!(&told, Ok(Deletion::Pending(it)) if it.status.memo == gone.memo), "{told:?}");
        assert_eq!(cloud.run(|| Rancher::delete(&gone)), Ok(Deletion::Done));
        assert_eq!(writes(&cloud), ["DELETE api /externalservices/1s6"]);
    }
}

/// A load balancer whose external id was changed in Rancher since it was remembered.
#[test]
fn load_balancer_with_the_mark_of_another_is_not_touched() {
    let cloud = environment([vec![resource("1s5", "lb-web", "another")], vec![resource("1s6", &target_name(), MARK)]]);
    let node = Node { addresses: vec![Address::internal_ip("10.0.0.1")], ..Node::named("web-1") };
    let desired = LoadBalancer { nodes: vec![node], ..service("1s5") };
    let told = cloud.run(|| Rancher::ensure(&desired));
    assert!(matches!(&told, Err(Error::Invalid(why)) if why.contains("1s5 (lb-web) is another's")), "{told:?}");
    assert_eq!(writes(&cloud), [""; 0]);
    let told = cloud.run(|| Rancher::delete(&desired));
    assert!(matches!(&told, Ok(Deletion::Pending(_))), "{told:?}");
    let told = cloud.run(|| Rancher::delete(&desired));
    assert!(matches!(&told, Ok(Deletion::Kept(why)) if why.contains("1s5 (lb-web) is another's")), "{told:?}");
    assert_eq!(writes(&cloud), ["DELETE api /externalservices/1s6"], "the Service's own");
}

#[test]
fn load_balancer_of_another_with_the_name_of_a_service_is_told() {
    let name = format!("lb-{}", service("").name);
    let memo = format!("creating {} since 0", service("").name);
    let announced = LoadBalancer { extra: vec![("host.new-memo".to_owned(), "true".to_owned())], ..service(&memo) };
    let cloud = environment([vec![resource("1s5", &name, "")], vec![]]);
    let told = cloud.run(|| Rancher::ensure(&announced));
    let refused =
        matches!(&told, Ok(Progress::Failed(it)) if it.error.why().contains("is another's: delete it in Rancher"));
    assert!(refused, "{told:?}");
    assert_eq!(writes(&cloud), [""; 0]);
}

#[test]
fn external_service_that_no_list_shows_is_not_left() {
    let mut bare = resource("1s1", &format!("lb-{}", service("").name), MARK);
    bare["actions"] = json!({ "remove": "http://rancher.internal:8080/?action=remove" });
    let host = environment([vec![bare.clone()], Vec::new()]);
    let waits = host.run(|| Rancher::delete(&service("1s1")));
    let has_lost = |memo: &Option<String>| memo.as_ref().is_some_and(|it| it.starts_with("lost "));
    assert!(matches!(&waits, Ok(Deletion::Pending(it)) if has_lost(&it.status.memo)), "{waits:?}");
    assert_eq!(writes(&host), ["DELETE api /loadbalancerservices/1s1"], "no list has to show it");
    let mut changing = bare.clone();
    changing["actions"] = json!({});
    let host = environment([vec![changing.clone()], Vec::new()]);
    let waits = host.run(|| Rancher::delete(&service("1s1")));
    assert!(
        matches!(&waits, Ok(Deletion::Pending(it)) if it.status.memo.as_deref() == Some("1s1")),
        "one that cannot go yet is remembered: {waits:?}"
    );
    let mut removing = changing;
    removing["state"] = json!("removing");
    let host = environment([vec![removing], Vec::new()]);
    let waits = host.run(|| Rancher::delete(&service("1s1")));
    assert!(matches!(&waits, Ok(Deletion::Pending(it)) if has_lost(&it.status.memo)), "its answer was lost: {waits:?}");
    assert_eq!(writes(&host), [""; 0]);
    let mut leading = bare;
    leading["lbConfig"] = json!({ "portRules": [{ "serviceId": "1s2" }] });
    let host = environment([vec![leading], vec![resource("1s2", "listed-under-no-such-name", MARK)]]);
    assert!(matches!(host.run(|| Rancher::delete(&service("1s1"))), Ok(Deletion::Pending(_))));
    assert_eq!(writes(&host), ["DELETE api /externalservices/1s2"], "its id is known");
}
