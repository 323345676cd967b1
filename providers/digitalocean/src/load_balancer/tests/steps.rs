//! Steps that a simulated cloud does not show: what is remembered, and what is said.

use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Deletion, Error, Ingress, LoadBalancer, LoadBalancers, Progress};
use serde_json::{Value, json};

use super::{ID, NAME, OTHER_ID, key, service, shown, warnings};
use crate::DigitalOcean;

fn ensure(host: &Host, service: &LoadBalancer) -> Result<Progress, Error> {
    host.run(|| DigitalOcean::ensure(service))
}

fn one(load_balancer: &Value) -> String {
    json!({ "load_balancer": load_balancer }).to_string()
}

/// With a memo that no call before this one has had.
fn remembering(memo: &str) -> LoadBalancer {
    let extra = vec![("host.new-memo".to_owned(), "true".to_owned())];
    LoadBalancer { memo: Some(memo.to_owned()), extra, ..service() }
}

#[test]
fn a_memo_of_another_provider_is_refused() {
    let foreign = format!("creating {NAME}x since 7");
    for memo in ["", "lb-1", "creating", "creating a since 7", &foreign, &format!("lost {NAME} since never")] {
        let Err(Error::Invalid(why)) = ensure(&Host::new(), &remembering(memo)) else { panic!("{memo}") };
        assert!(why.contains("is not one of this provider"), "{why}");
        let deleted = Host::new().run(|| DigitalOcean::delete(&remembering(memo)));
        assert!(matches!(deleted, Err(Error::Invalid(_))), "{deleted:?}");
    }
}

#[test]
fn a_creation_is_announced_and_nothing_sent() {
    let host = Host::new().at(1_000);
    let Ok(Progress::Pending(pending_status)) = ensure(&host, &service()) else { panic!("not announced") };
    assert_eq!(pending_status.status.memo, Some(format!("creating {NAME} since 1000")));
    assert_eq!(pending_status.wait.milliseconds, 0);
    assert_eq!(host.requests(), [""; 0]);
}

#[test]
fn a_creation_with_an_unreadable_answer_is_unclear() {
    let host = Host::new().at(1_000).answers(|request| match request.body {
        None => answer(200, json!({ "load_balancers": [] }).to_string()),
        Some(_) => answer(202, "{}"),
    });
    let Ok(Progress::Pending(pending_status)) = ensure(&host, &remembering(&format!("creating {NAME} since 999")))
    else {
        panic!("not unclear")
    };
    assert_eq!(pending_status.status.memo, Some(format!("lost {NAME} since 1000")));
    let [warning] = &warnings(&host.events())[..] else { panic!("one warning") };
    assert!(warning.starts_with(&format!("LoadBalancerCreationUnclear: load balancer {NAME} may have been created")));
}

#[test]
fn a_clock_that_was_set_back_does_not_make_the_wait_longer() {
    let host = Host::new().at(1_000).answers(|_| answer(200, json!({ "load_balancers": [] }).to_string()));
    let host = host.setting("createAgainAfter", "10s");
    let Ok(Progress::Pending(pending_status)) = ensure(&host, &remembering(&format!("lost {NAME} since 5000"))) else {
        panic!("not waiting")
    };
    assert_eq!(pending_status.wait.milliseconds, 10_000);
}

#[test]
fn a_load_balancer_that_only_the_list_shows_is_not_replaced() {
    let host = Host::new().answers(|request| match &request.path[..] {
        [_, _] => answer(200, json!({ "load_balancers": [shown()] }).to_string()),
        _ => answer(404, r#"{ "id": "not_found", "message": "no" }"#),
    });
    let ensured = ensure(&host, &remembering(ID));
    assert!(matches!(ensured, Err(Error::Unavailable(_))), "{ensured:?}");
}

#[test]
fn a_missing_cluster_tag_is_added_where_tags_are_shown() {
    let mut tagged = shown();
    tagged["tags"] = json!(["web"]);
    let host = Host::new().setting("clusterId", "c-1").answers(move |request| match &request.path[2..] {
        [name, _] if name == "k8s:c-1" => answer(404, r#"{ "id": "not_found", "message": "no such tag" }"#),
        [] => answer(201, "{}"),
        _ => answer(200, one(&tagged)),
    });
    assert!(matches!(ensure(&host, &remembering(ID)), Ok(Progress::Ready(_))));
    assert_eq!(
        host.requests(),
        [
            format!("GET api /v2/load_balancers/{ID}"),
            "POST api /v2/tags/k8s:c-1/resources".to_owned(),
            "POST api /v2/tags".to_owned(),
            "POST api /v2/tags/k8s:c-1/resources".to_owned(),
        ]
    );
}

#[test]
fn another_id_in_the_annotation_is_ignored_with_a_warning() {
    let host = Host::new().answers(|_| answer(200, one(&shown())));
    let service = remembering(ID).with_annotation(key::ID.name, OTHER_ID);
    let Ok(Progress::Ready(status)) = ensure(&host, &service) else { panic!("not ready") };
    assert_eq!(status.annotations[0], (key::ID.name.to_owned(), ID.to_owned()));
    let text = format!("LoadBalancerIdIgnored: annotation {}: {OTHER_ID:?} is ignored: this Service has", key::ID.name);
    assert!(warnings(&host.events())[0].starts_with(&text));
    assert_eq!(host.requests(), [format!("GET api /v2/load_balancers/{ID}")]);
}

#[test]
fn a_global_load_balancer_serves_no_service() {
    let mut global = shown();
    global["type"] = json!("GLOBAL");
    let host = Host::new().answers(move |_| answer(200, one(&global)));
    let Err(Error::Invalid(why)) = ensure(&host, &remembering(ID)) else { panic!("it was taken") };
    assert!(why.contains("neither REGIONAL nor REGIONAL_NETWORK"), "{why}");
}

#[test]
fn a_busy_load_balancer_is_deleted_later() {
    let busy =
        r#"{ "id": "forbidden", "message": "Load Balancer can't be updated while it processes previous actions" }"#;
    let host = Host::new().answers(move |_| answer(403, busy));
    let Ok(Deletion::Pending(pending_status)) = host.run(|| DigitalOcean::delete(&remembering(ID))) else {
        panic!("not pending")
    };
    assert_eq!(pending_status.status.memo.as_deref(), Some(ID));
}

#[test]
fn other_load_balancers_may_be_of_an_unknown_kind() {
    let other = json!({
        "id": OTHER_ID, "name": "other", "status": "dreaming", "type": "LUNAR",
        "forwarding_rules": [{ "entry_protocol": "light" }],
    });
    let host = Host::new().at(1_000).answers(move |request| match request.body {
        None => answer(200, json!({ "load_balancers": [other] }).to_string()),
        Some(_) => answer(202, one(&shown())),
    });
    let Ok(Progress::Pending(pending_status)) = ensure(&host, &remembering(&format!("creating {NAME} since 999")))
    else {
        panic!("not created")
    };
    assert_eq!(pending_status.status.memo.as_deref(), Some(ID));
}

#[test]
fn a_service_without_a_creation_may_adopt_later() {
    let cloud = || {
        Host::new().at(1_000).answers(|request| match (&request.body, &request.path[..]) {
            (Some(_), _) => answer(422, r#"{ "id": "unprocessable_entity", "message": "enough" }"#),
            (None, [_, _]) => answer(200, json!({ "load_balancers": [] }).to_string()),
            (None, _) => {
                answer(200, one(&json!({ "id": OTHER_ID, "name": "web", "status": "active", "ip": "203.0.113.5" })))
            }
        })
    };
    let named = |service: LoadBalancer| LoadBalancer {
        current_ingress: vec![Ingress::ip("203.0.113.5")],
        ..service.with_annotation(key::ID.name, OTHER_ID)
    };
    // The announcement comes first.
    let refused = ensure(&cloud(), &named(remembering(&format!("creating {NAME} since 990"))));
    let Ok(Progress::Failed(failed)) = refused else { panic!("not refused") };
    assert!(matches!(failed.error, Error::Invalid(why) if why.contains("422 enough")));
    assert_eq!(failed.status.memo, None);
    let Ok(Progress::Pending(pending_status)) = ensure(&cloud(), &named(service())) else { panic!("not adopted") };
    assert_eq!(pending_status.status.memo.as_deref(), Some(OTHER_ID));
}

#[test]
fn lists_are_read_to_their_end() {
    let host = Host::new().at(1_000).answers(|request| {
        let page = request.query.iter().find(|(name, _)| name == "page").unwrap().1.clone();
        let last = page == "3";
        let links = if last { json!({}) } else { json!({ "pages": { "next": "https://api.example.com/elsewhere" } }) };
        let name = if last { NAME } else { "other" };
        answer(200, json!({ "load_balancers": [{ "id": ID, "name": name }], "links": links }).to_string())
    });
    let Ok(Progress::Pending(pending_status)) = ensure(&host, &remembering(&format!("lost {NAME} since 999"))) else {
        panic!("not found")
    };
    assert_eq!(pending_status.status.memo.as_deref(), Some(ID));
    assert_eq!(host.requests().len(), 3);
}

#[test]
fn a_creation_is_sent_by_the_first_call_with_its_announcement() {
    let announced = |is_new: bool| {
        let host = Host::new().at(1_000).answers(|request| match request.body {
            None => answer(200, json!({ "load_balancers": [] }).to_string()),
            Some(_) => answer(202, one(&shown())),
        });
        let mut service = remembering(&format!("creating {NAME} since 900"));
        service.extra.retain(|_| is_new);
        let Ok(Progress::Pending(pending_status)) = ensure(&host, &service) else { panic!("not pending") };
        (pending_status.status.memo, host.requests())
    };
    let list = "GET api /v2/load_balancers?page=1&per_page=200".to_owned();
    assert_eq!(announced(false), (Some(format!("lost {NAME} since 1000")), vec![list.clone()]));
    assert_eq!(announced(true), (Some(ID.to_owned()), vec![list, "POST api /v2/load_balancers".to_owned()]));
}

#[test]
fn a_list_with_a_missing_type_is_read() {
    let other = json!({ "id": OTHER_ID, "name": "other", "status": "active", "type": null });
    let host = Host::new().at(1_000).answers(move |_| {
        answer(200, json!({ "load_balancers": [other, { "id": ID, "name": NAME, "type": "" }] }).to_string())
    });
    let Ok(Progress::Pending(pending_status)) = ensure(&host, &remembering(&format!("lost {NAME} since 999"))) else {
        panic!("not found")
    };
    assert_eq!(pending_status.status.memo.as_deref(), Some(ID));
}

#[test]
fn an_adopted_load_balancer_gets_the_clusters_tag_once() {
    let host = Host::new().setting("clusterId", "c-1").answers(|request| match &request.body {
        Some(_) => answer(204, ""),
        None => answer(200, one(&shown())),
    });
    let adopted = LoadBalancer { current_ingress: vec![Ingress::ip("203.0.113.5")], ..service() };
    let mut service = adopted.with_annotation(key::ID.name, ID);
    let mut memos = Vec::new();
    while let Progress::Pending(pending_status) = ensure(&host, &service).unwrap() {
        memos.push(pending_status.status.memo.clone().unwrap());
        service = service.after(pending_status.status);
    }
    assert_eq!(memos, [format!("tag {ID}"), ID.to_owned()], "its id alone is what no other Service may have");
    assert!(matches!(ensure(&host, &service), Ok(Progress::Ready(_))));
    let writes: Vec<_> = host.requests().into_iter().filter(|it| !it.starts_with("GET ")).collect();
    assert_eq!(writes, ["POST api /v2/tags/k8s:c-1/resources"]);
}

#[test]
fn a_tag_that_may_not_be_put_on_is_a_warning() {
    let host = Host::new().setting("clusterId", "c-1").answers(|request| match &request.body {
        Some(_) => answer(403, r#"{ "id": "forbidden", "message": "missing scope" }"#),
        None => answer(200, one(&shown())),
    });
    let Ok(Progress::Pending(pending_status)) = ensure(&host, &remembering(&format!("tag {ID}"))) else {
        panic!("it was kept from its traffic")
    };
    assert_eq!(pending_status.status.memo.as_deref(), Some(ID));
    assert!(warnings(&host.events())[0].starts_with(&format!("LoadBalancerNotTagged: load balancer {ID}")));
}
