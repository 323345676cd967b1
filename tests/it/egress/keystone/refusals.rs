//! Logins that Keystone refuses, and catalogues that lack something.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use egress::{ApplicationCredentialName, Credentials, Egress, EgressSettings, KeystoneLogin, Report};
use serde_json::json;
use tests::wait;

use crate::setup::any;

use super::*;

#[tokio::test]
async fn bad_a_wrong_password_is_told_once_and_replaced() {
    let world = World::start().await;
    world.folder.write("password", "a-wrong-word");
    let before = world.keystone.logins().len();
    let lab = world.lab(world.by_password()).await;
    let text = world.denied(&lab).await;
    for part in
        ["E-EGRESS-CREDENTIAL", "the user \"aerostat\" of the domain \"Default\"", "(401", "correct the password"]
    {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("a-wrong-word"), "{text}");
    for _ in 0..50 {
        world.denied(&lab).await;
    }
    assert_eq!(world.keystone.logins()[before..], [401], "requests of the guest ask nobody");
    world.folder.write("password", "another-wrong-word");
    wait::until("the next attempt", async || (world.keystone.logins().len() == before + 2).then_some(())).await;
    world.folder.write("password", PASSWORD);
    world.answered(&lab).await;
    assert_eq!(world.keystone.logins()[before..], [401, 401, 201], "the fourth would lock the user");
}

#[tokio::test]
async fn bad_users_and_projects_that_are_not_there_are_refused() {
    let world = World::start().await;
    let nobody = KeystoneLogin::Password { user: name("nobody"), password_file: world.folder.path("password") };
    for credential in [
        credential("openstack", &world.keystone, nobody, Some(name("kubernetes"))),
        credential("openstack", &world.keystone, world.password(), Some(name("nowhere"))),
    ] {
        let text = world.denied(&world.lab(credential).await).await;
        assert!(text.contains("(401") && text.contains("the project"), "{text}");
    }
    world.keystone.change_user(&world.user, json!({ "enabled": false })).await;
    let text = world.denied(&world.lab(world.by_password()).await).await;
    assert!(text.contains("(401") && text.contains("disabled"), "{text}");
    assert!(world.service.paths().is_empty());
}

#[tokio::test]
async fn bad_application_credentials_that_are_gone_are_refused() {
    let world = World::start().await;
    let secret_file = world.folder.write("secret", "secret-of-nothing");
    let login = |id: &str, secret_file| KeystoneLogin::ApplicationCredential {
        name: ApplicationCredentialName::Id(id.to_owned()),
        secret_file,
    };
    let unknown = credential("openstack", &world.keystone, login("0123456789abcdef", secret_file), None);
    let text = world.denied(&world.lab(unknown).await).await;
    assert!(text.contains("(404") && text.contains("make a new one"), "{text}");

    let own = world.keystone.ended_application_credential(&world.user, PASSWORD, &world.project).await;
    let secret_file = world.folder.write("expired", &own.secret);
    let expired = credential("openstack", &world.keystone, login(&own.id, secret_file), None);
    let text = world.denied(&world.lab(expired).await).await;
    assert!(text.contains("(401") && text.contains("it may have expired"), "{text}");
}

#[tokio::test]
async fn bad_what_the_catalogue_lacks_is_named() {
    let world = World::start().await;
    let origins = [world.service.url()];
    let balancers = {
        let egress::EndpointPlace::Catalog(place) = compute(&origins, REGION, "public").place else { unreachable!() };
        let place = egress::CatalogPlace { service: "load-balancer".to_owned(), ..place };
        egress::Endpoint { place: egress::EndpointPlace::Catalog(place), ..compute(&origins, REGION, "public") }
    };
    for (endpoint, part) in [
        (compute(&origins, "RegionTwo", "public"), "in the region \"RegionTwo\" (there are: \"RegionOne\")"),
        (compute(&origins, REGION, "admin"), "no interface \"admin\""),
        (balancers, "no service of the type \"load-balancer\""),
    ] {
        let lab = world.lab_of(vec![world.by_password()], vec![endpoint]).await;
        let text = world.unreachable(&lab).await;
        assert!(text.contains("endpoint compute cannot be reached") && text.contains(part), "{text}");
        assert!(text.contains("Next step: correct `catalog."), "{text}");
    }
    assert!(world.service.paths().is_empty());
}

/// How long an endpoint fails before that is told.
const TOLD: Duration = Duration::from_secs(15);

#[tokio::test]
async fn a_service_that_the_catalogue_lacks_is_an_event() {
    let world = World::start().await;
    let told = Arc::<Mutex<Vec<String>>>::default();
    let (credentials, reports) = (Credentials::load(vec![world.by_password()]).unwrap(), told.clone());
    let settings = EgressSettings {
        endpoints: vec![compute(&[world.service.url()], "RegionTwo", "public")],
        credentials: credentials.clone(),
        fence: Arc::new(|| true),
        demands: any(),
        reports: Arc::new(move |report| {
            if let Report::EndpointUnreachable(text) = report {
                reports.lock().unwrap().push(text);
            }
        }),
        route: |it| it,
    };
    let metrics = egress::Metrics::register(&prometheus::Registry::new()).unwrap();
    let egress = Egress::new(settings, metrics).unwrap_or_else(|error| panic!("{error}"));
    let mut turns = tokio::time::interval(Duration::from_millis(200));
    let asked = async {
        loop {
            turns.tick().await;
            let call = egress::CallId { provider: "test".into(), function: "get", id: 1 };
            let request = egress::GuestRequest {
                endpoint: "compute".to_owned(),
                method: egress::Method::Get,
                path: vec!["servers".to_owned()],
                query: Vec::new(),
                headers: Vec::new(),
                body: None,
            };
            let _ = egress.open(call, egress::Mode::Read).send(request).await;
        }
    };
    tokio::select! {
        () = credentials.watch() => {}
        () = egress.watch_reach() => {}
        () = asked => {}
        () = wait::until_after(TOLD, "an event", async || (!told.lock().unwrap().is_empty()).then_some(())) => {}
    }
    let told = told.lock().unwrap()[0].clone();
    assert!(told.starts_with("endpoint compute cannot be reached: the catalogue has no service \"compute\""), "{told}");
    assert_eq!(egress.unreached().borrow()[0].cause, "catalog");
}
