//! The owner of a load balancer.

use super::*;

fn creating() -> LoadBalancer {
    remembering(&format!("creating {NAME} since 1000"))
}

fn taken() -> Value {
    json!({ "error": { "code": "uniqueness_error", "message": "name is already used" } })
}

/// The progress of a creation whose name a load balancer with these labels has.
fn named(service: &LoadBalancer, cloud: Cloud, change: impl FnOnce(&mut Value)) -> Result<Progress> {
    let mut live = shown(5);
    live["labels"] = json!({});
    change(&mut live);
    let name = service.annotation(&key("name")).unwrap_or(NAME).to_owned();
    live["name"] = json!(name);
    let cloud = Cloud { live: Some(live), ..cloud }.special("load_balancers", 409, taken());
    cloud.ensure(service).0
}

fn memo(progress: Result<Progress>) -> Option<String> {
    match progress {
        Ok(Progress::Pending(pending)) => pending.status.memo,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_vendors_mark_is_enough() {
    let mut vendors = shown(5);
    vendors["labels"] = json!({ "hcloud-ccm/service-uid": UID });
    let cloud = Cloud::with(vendors);
    assert_eq!(memo(cloud.ensure(&creating()).0).as_deref(), Some("5"));
    assert_eq!(cloud.writes(), [""; 0]);
}

#[test]
fn two_with_the_mark_are_an_error() {
    let two = json!({ "load_balancers": [shown(5), shown(6)], "meta": {} });
    let host = Cloud::default().host().answers(move |_| answer(200, two.to_string()));
    let why = refusal(host.run(|| Hetzner::ensure(&creating())));
    assert!(why.contains("are both marked for this Service"), "{why}");
}

#[test]
fn the_name_that_holds_the_uid_is_enough() {
    let service = LoadBalancer { current_ingress: Vec::new(), ..creating() };
    assert_eq!(memo(named(&service, Cloud::default(), |_| ())).as_deref(), Some("5"));
}

#[test]
fn a_name_that_somebody_chose_proves_nothing() {
    let service = LoadBalancer { current_ingress: Vec::new(), ..creating() }.with_annotation(key("name"), "web");
    let why = refusal(named(&service, Cloud::default(), |_| ()));
    assert!(why.contains("nothing proves that it is this Service's"), "{why}");
    let by_name = Cloud::default().setting("adoptByName", "true");
    assert_eq!(memo(named(&service, by_name, |_| ())).as_deref(), Some("5"));
    let shows = LoadBalancer { current_ingress: vec![Ingress::ip("203.0.113.9")], ..service };
    assert_eq!(memo(named(&shows, Cloud::default(), |_| ())).as_deref(), Some("5"));
}

#[test]
fn anothers_mark_is_never_overwritten() {
    for (label, value) in [("hcloud-ccm/service-uid", "another"), ("aerostat.dev/cluster-uid", "another")] {
        let by_name = Cloud::default().setting("adoptByName", "true");
        let why = refusal(named(&creating(), by_name, |it| it["labels"][label] = json!(value)));
        assert!(why.contains(&format!("({label}=another)")), "{why}");
        let mut live = shown(5);
        live["labels"][label] = json!(value);
        let cloud = Cloud::with(live);
        let (progress, _) = cloud.ensure(&remembering("5").with_node(worker(2)));
        assert!(refusal(progress).contains("is marked for another Service or cluster"));
        let kept = cloud.delete(&remembering("5"));
        assert!(matches!(kept, Ok(Deletion::Kept(why)) if why.contains("is marked for another")));
        assert_eq!(cloud.writes(), [""; 0]);
    }
}

#[test]
fn adv_171_a_protected_load_balancer_is_marked_and_stays() {
    let mut live = shown(5);
    live["protection"]["delete"] = json!(true);
    let cloud = Cloud::with(live.clone());
    let kept = |cloud: &Cloud| {
        let deletion = cloud.delete(&remembering("5"));
        assert!(matches!(deletion, Ok(Deletion::Kept(why)) if why.contains("is protected from deletion")));
        cloud.writes()
    };
    assert_eq!(kept(&cloud), ["Put load_balancers/5"]);
    live["labels"]["aerostat.dev/kept"] = json!("true");
    assert_eq!(cloud.body("load_balancers/5"), json!({ "name": NAME, "labels": live["labels"] }));
    assert_eq!(kept(&Cloud::with(live)), [""; 0], "it is marked already");
}

#[test]
fn adv_171_the_load_balancer_of_a_service_is_not_kept() {
    let mut live = shown(5);
    live["labels"]["aerostat.dev/kept"] = json!("");
    let cloud = Cloud::with(live.clone());
    assert_eq!(ready(cloud.ensure(&remembering("5")).0).len(), 2);
    assert_eq!(cloud.writes(), ["Put load_balancers/5"]);
    assert_eq!(cloud.body("load_balancers/5")["labels"], shown(5)["labels"]);
}

#[test]
fn a_deletion_waits_and_ends() {
    assert_eq!(Cloud::default().delete(&remembering("5")), Ok(Deletion::Done));
    let cloud = Cloud::with(shown(5));
    assert_eq!(cloud.delete(&remembering("5")), Ok(Deletion::Done));
    assert_eq!(cloud.writes(), ["Delete load_balancers/5"]);
    let unremembered = Cloud::with(shown(5));
    assert_eq!(unremembered.delete(&service()), Ok(Deletion::Done));
    assert_eq!(unremembered.writes(), ["Delete load_balancers/5"]);
}

/// The result of a deletion of which nothing is remembered, in a cloud where all labels were taken off the load balancer of this
/// name; and what is said.
fn unmarked(name: &str, service: &LoadBalancer) -> (Result<Deletion>, Vec<String>) {
    let mut live = shown(5);
    (live["labels"], live["name"]) = (json!({}), json!(name));
    let cloud = Cloud::with(live).setting("adoptByName", "true");
    let host = cloud.host();
    let deletion = host.run(|| Hetzner::delete(service));
    assert_eq!(cloud.writes(), [""; 0]);
    (deletion, warnings(&host.events()))
}

#[test]
fn an_unmarked_load_balancer_is_deleted_with_another_proof() {
    let unknown = LoadBalancer { current_ingress: Vec::new(), ..service() };
    // By the name that holds the UID, or by an address in the Service's status.
    for (name, service) in [(NAME, unknown.clone()), ("web", service().with_annotation(key("name"), "web"))] {
        let (deletion, said) = unmarked(name, &service);
        assert!(
            matches!(&deletion, Ok(Deletion::Pending(it)) if it.status.memo.as_deref() == Some("5")),
            "{deletion:?}"
        );
        assert_eq!(said, [""; 0]);
    }
    let (deletion, said) = unmarked("web", &unknown.clone().with_annotation(key("name"), "web"));
    assert_eq!(deletion, Ok(Deletion::Done));
    assert!(said.len() == 1 && said[0].starts_with("LoadBalancerNotDeleted: load balancer 5 (web), which"), "{said:?}");
    let (deletion, said) = unmarked("web", &unknown);
    assert_eq!((deletion, said), (Ok(Deletion::Done), Vec::new()), "it has another name");
}

#[test]
fn a_memo_of_another_provider_is_refused() {
    for memo in ["", "lb-1", "07", "creating", "tag x"] {
        assert!(
            refusal(Cloud::default().ensure(&remembering(memo)).0).contains("is not one of this provider"),
            "{memo}"
        );
    }
}
