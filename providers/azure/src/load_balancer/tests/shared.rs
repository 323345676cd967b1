//! Services that share addresses, load balancers and limits.

use aerostat_sdk::{Error, LoadBalancer};

use super::*;

const SEVERAL: [(&str, &str); 3] = [
    ("multipleStandardLoadBalancerConfigurations.kubernetes.primaryVMSet", "vs1"),
    ("multipleStandardLoadBalancerConfigurations.lb2.primaryVMSet", "vs2"),
    ("loadBalancerBackendPoolConfigurationType", "nodeIP"),
];

fn mine(stage: &BalancerStage) {
    let address = json!({ "tags": { "team": "web" }, "properties": { "ipAddress": "20.60.0.1" } });
    stage.cloud.borrow_mut().put(&rg("Microsoft.Network/publicIPAddresses/mine"), address);
}

fn on_mine(name: &str, number: usize, port: u16) -> LoadBalancer {
    named(name, &uid(number)).with_port(tcp(port)).with_annotation(key("azure-pip-name"), "mine")
}

#[test]
fn azure_026_and_050_peoples_addresses_are_shared() {
    let stage = BalancerStage::new();
    mine(&stage);
    let public = stage.public("mine");
    let first = stage.ready(on_mine("a", 1, 80));
    let second = stage.ready(on_mine("b", 2, 8_080));
    assert_eq!((ips(&first), ips(&second)), (vec!["20.60.0.1"], vec!["20.60.0.1"]));
    let frontend = first.name.clone();
    assert_eq!(names(&stage.balancer(), "frontendIPConfigurations"), [&*frontend]);
    let why = stage.refused(&on_mine("c", 3, 8_080));
    assert!(why.contains("port 8080 in use"), "{why}");
    // The frontend stays for the one that is left, and so do its rules and its clients.
    stage.gone(&first);
    assert_eq!(names(&stage.balancer(), "frontendIPConfigurations"), [&*frontend]);
    assert_eq!(names(&stage.balancer(), "loadBalancingRules"), [format!("{}-TCP-8080", second.name)]);
    assert_eq!(names(&stage.group(), "securityRules").len(), 1);
    let asked = stage.asked();
    let second = stage.ready(second);
    assert_eq!(stage.writes(asked), [""; 0]);
    stage.gone(&second);
    assert_eq!((stage.balancer(), stage.public("mine")["tags"].clone()), (Value::Null, public["tags"].clone()));
}

#[test]
fn addresses_that_no_list_shows_yet_are_asked_for_by_name() {
    let stage = BalancerStage::new();
    mine(&stage);
    stage.cloud.borrow_mut().unlisted = vec![rg("Microsoft.Network/publicIPAddresses/mine").to_ascii_lowercase()];
    assert_eq!(ips(&stage.ready(on_mine("a", 1, 80))), ["20.60.0.1"]);
}

#[test]
fn addresses_of_other_namespaces_are_refused() {
    let stage = BalancerStage::new();
    let victim = stage.ready(service());
    let thief = LoadBalancer::of("thief", "t", uid(2)).with_port(tcp(8_080));
    let by_name = thief.clone().with_annotation(key("azure-pip-name"), format!("kubernetes-{BASE}"));
    let by_ip = LoadBalancer { load_balancer_ip: Some(ips(&victim)[0].to_owned()), ..thief.clone() };
    let further = thief.with_annotation(key("azure-additional-public-ips"), ips(&victim)[0]);
    let asked = stage.asked();
    for it in [by_name, by_ip, further.clone()] {
        let why = stage.refused(&it);
        assert!(why.contains("belongs to Service default/web, of another namespace"), "{why}");
    }
    assert_eq!(stage.writes(asked), [""; 0]);
    // Nor does the deletion of one that says so shut out the victim's clients.
    let says_so = LoadBalancer { current_ingress: victim.current_ingress.clone(), ..further };
    stage.gone(&says_so);
    assert_eq!(stage.writes(asked), [""; 0]);
    // In one namespace an address may be shared, and stays until its last Service goes.
    let friend = stage.ready(
        named("friend", &uid(3))
            .with_port(tcp(8_080))
            .with_annotation(key("azure-pip-name"), format!("kubernetes-{BASE}")),
    );
    assert_eq!(stage.public(&format!("kubernetes-{BASE}"))["tags"]["k8s-azure-service"], "default/web,default/friend");
    stage.gone(&victim);
    assert_eq!(stage.public(&format!("kubernetes-{BASE}"))["tags"]["k8s-azure-service"], "default/friend");
    stage.gone(&friend);
    assert_eq!(stage.publics(), [""; 0]);
}

#[test]
fn azure_052_limits_lead_to_the_next_balancer() {
    let limited = |more: &[(&'static str, &'static str)]| {
        let settings: Vec<_> = more.iter().copied().chain([("maximumLoadBalancerRuleCount", "2")]).collect();
        BalancerStage::of(FakeArm::default(), &settings)
    };
    let two = |number: usize| named(&format!("s{number}"), &uid(number)).with_port(tcp(80)).with_port(tcp(443));
    let stage = limited(&[]);
    stage.ready(two(1));
    let answers = stage.batch(&[two(2), two(1)]);
    assert!(
        matches!(&answers[..], [Err(error), Ok(Progress::Ready(_))] if error.is_quota() && error.why().contains("more than 2 rules")),
        "{answers:?}"
    );
    assert_eq!(stage.publics().len(), 1);
    let stage = limited(&SEVERAL);
    stage.ready(two(1));
    stage.ready(two(2));
    assert_eq!(names(&stage.object("Microsoft.Network/loadBalancers/lb2"), "loadBalancingRules").len(), 2);
    assert!(matches!(stage.step(&two(3)), Err(error) if error.is_quota()));
}

#[test]
fn addresses_of_services_that_do_not_fit_are_given_back() {
    let slow = FakeArm { takes: 3, ..FakeArm::default() };
    let stage = BalancerStage::of(slow, &[("maximumLoadBalancerRuleCount", "1")]);
    // Both get an address before either is on the load balancer.
    let begun = |service: LoadBalancer| match stage.step(&service) {
        Ok(Progress::Pending(pending)) => service.after(pending.status),
        other => panic!("{other:?}"),
    };
    let (one, two) = (begun(service()), begun(named("two", &uid(2)).with_port(tcp(80))));
    assert_eq!(stage.publics().len(), 2);
    let one = stage.ready(one);
    for _ in 0..5 {
        assert!(matches!(stage.step(&two), Err(error) if error.is_quota()));
    }
    assert_eq!(stage.publics(), [format!("kubernetes-{BASE}")]);
    // One that is refused while its address is being made has none either, and one that is served keeps it.
    let wrong = |it: LoadBalancer| it.with_annotation(key("azure-load-balancer-tcp-idle-timeout"), "3");
    stage.refused(&wrong(one.clone()));
    assert_eq!(stage.publics(), [format!("kubernetes-{BASE}")]);
    stage.gone(&one);
    let three = wrong(begun(named("three", &uid(3)).with_port(tcp(80))));
    for _ in 0..5 {
        stage.refused(&three);
    }
    assert_eq!(stage.publics(), [""; 0]);
    assert_eq!(ips(&stage.ready(two)).len(), 1);
}

#[test]
fn services_move_between_balancers_with_their_address() {
    let stage = BalancerStage::of(FakeArm::default(), &SEVERAL);
    let first = stage.ready(service());
    let other = stage.ready(
        named("two", &uid(2))
            .with_port(tcp(80))
            .with_annotation(key("azure-load-balancer-configurations"), "kubernetes"),
    );
    let asked = stage.asked();
    let moved = stage.ready(first.clone().with_annotation(key("azure-load-balancer-configurations"), "lb2"));
    assert_eq!(ips(&moved), ips(&first));
    assert_eq!(stage.writes(asked)[..2], ["Put loadBalancers/kubernetes", "Put loadBalancers/lb2"]);
    assert_eq!(names(&stage.balancer(), "frontendIPConfigurations"), [other.name]);
    stage.gone(&moved);
    assert_eq!(stage.object("Microsoft.Network/loadBalancers/lb2"), Value::Null);
}

#[test]
fn local_services_on_several_balancers_have_own_pools() {
    let stage = BalancerStage::of(FakeArm::default(), &SEVERAL);
    let local =
        LoadBalancer { external_traffic_policy: aerostat_sdk::ExternalTrafficPolicy::Local(31_000), ..service() };
    let local = stage.ready(local);
    stage.ready(
        named("two", &uid(2))
            .with_port(tcp(80))
            .with_annotation(key("azure-load-balancer-configurations"), "kubernetes"),
    );
    assert_eq!(names(&stage.balancer(), "backendAddressPools"), ["default-web", "kubernetes"]);
    stage.gone(&local);
    assert_eq!(names(&stage.balancer(), "backendAddressPools"), ["kubernetes"]);
}

#[test]
fn azure_055_a_superseded_change_is_written_again() {
    let stage = BalancerStage::new();
    stage.cloud.borrow_mut().refusals =
        vec![("PUT /".to_owned(), 409, "CanceledAndSupersededDueToAnotherOperation", 2)];
    assert!(matches!(stage.step(&service()), Ok(Progress::Pending(_))));
    let service = stage.ready(service());
    stage.cloud.borrow_mut().touch("Microsoft.Network/loadBalancers/kubernetes", |entry| {
        entry["properties"]["provisioningState"] = json!("Failed")
    });
    let asked = stage.asked();
    stage.ready(service);
    assert_eq!(stage.writes(asked), ["Put loadBalancers/kubernetes"]);
}

#[test]
fn throttling_is_told_and_a_busy_object_is_not() {
    let stage = BalancerStage::new();
    stage.cloud.borrow_mut().refusals = vec![("PUT /".to_owned(), 429, "TooManyRequests", 1)];
    assert!(matches!(stage.step(&service()), Err(Error::RetryAfter(_))));
    stage.cloud.borrow_mut().refusals = vec![("PUT /".to_owned(), 429, "RetryableError", 1)];
    assert!(matches!(stage.step(&service()), Ok(Progress::Pending(_))));
}

#[test]
fn one_that_the_api_refuses_costs_no_other() {
    let stage = BalancerStage::new();
    let services: Vec<_> = (1..4).map(|it| named(&format!("s{it}"), &uid(it)).with_port(tcp(80))).collect();
    stage.cloud.borrow_mut().bad_frontend = Some(services[1].name.clone());
    let answers = stage.batch(&services);
    let served: Vec<bool> =
        answers.iter().map(|it| matches!(it, Ok(Progress::Ready(_) | Progress::Pending(_)))).collect();
    assert_eq!(served, [true, false, true], "{answers:?}");
    assert_eq!(names(&stage.balancer(), "frontendIPConfigurations").len(), 2);
}

#[test]
fn a_group_that_cannot_be_read_costs_no_other_service() {
    let stage = BalancerStage::new();
    stage.cloud.borrow_mut().refusals = vec![("resourceGroups/elsewhere".to_owned(), 403, "AuthorizationFailed", 100)];
    let lost = named("lost", &uid(1)).with_port(tcp(81));
    let lost = lost.with_annotation(key("azure-load-balancer-resource-group"), "elsewhere");
    let answers = stage.batch(&[service(), lost.clone()]);
    assert!(matches!(&answers[1], Err(Error::Denied(_))), "{answers:?}");
    assert!(answers[0].is_ok(), "{answers:?}");
    let served = stage.ready(service());
    // It goes if nothing was ever made for it, and keeps what there may be if something was.
    let made = LoadBalancer { current_ingress: served.current_ingress.clone(), ..lost.clone() };
    let answers = stage.host.run(|| Azure::delete_batch(&[lost, served.clone(), made]));
    assert!(matches!(&answers[..], [Ok(_), Ok(_), Err(Error::Denied(_))]), "{answers:?}");
    stage.gone(&served);
    assert_eq!(stage.publics().len(), 0);
}

#[test]
fn groups_are_asked_for_as_the_settings_spell_them() {
    let stage = BalancerStage::new();
    let service = stage.ready(service());
    let public = format!("Microsoft.Network/publicIPAddresses/kubernetes-{BASE}");
    let shouted = rg(&public).replace("/rg1/", "/RG1/");
    stage.cloud.borrow_mut().touch(&public, |it| it["id"] = json!(shouted));
    stage.gone(&service);
    assert_eq!(stage.publics().len(), 0);
    let paths: Vec<String> = stage.host.sent().iter().map(|it| it.path.join("/")).collect();
    assert!(paths.iter().all(|it| !it.contains("/RG1/")), "{paths:#?}");
}
