//! A real Keystone gives tokens: which of its words are kept, and how often it is asked.

mod refusals;
mod world;

use egress::{ApplicationCredentialName, KeystoneLogin};
use serde_json::json;
use tests::keystone::{Keystone, REGION};
use tests::wait;

use crate::setup::{Folder, Outcome};

use self::world::{PASSWORD, Service, World, compute, credential, get, name, post};

#[tokio::test]
async fn a_real_keystone_gives_and_takes_back_tokens() {
    let keystone = Keystone::start().await;
    let project = keystone.project("kubernetes").await;
    let user = keystone.user("aerostat", PASSWORD, &[&project]).await;
    let token = keystone.token_of(&user, PASSWORD, &project).await;
    assert_eq!(keystone.project_of(&token).await.as_ref(), Some(&project));
    keystone.revoke(&token).await;
    assert_eq!(keystone.project_of(&token).await, None);
    assert_eq!(keystone.logins(), [201, 201], "the administrator's, and this one");
}

#[tokio::test]
async fn each_login_brings_a_token_of_the_project() {
    let world = World::start().await;
    let (keystone, user, project) = (&world.keystone, &world.user, &world.project);
    let own = keystone.application_credential(user, PASSWORD, project, json!({ "name": "aerostat" })).await;
    let trustee = keystone.user("trustee", PASSWORD, &[]).await;
    let trust = keystone.trust(user, PASSWORD, project, &trustee).await;
    let file = |name: &str, text: &str| world.folder.write(name, text);
    let of = |name| KeystoneLogin::ApplicationCredential { name, secret_file: file("secret", &own.secret) };
    let token = keystone.token_of(user, PASSWORD, project).await;
    for (login, has_project) in [
        (world.password(), true),
        (of(ApplicationCredentialName::Id(own.id.clone())), false),
        (of(ApplicationCredentialName::IdFile(file("id", &own.id))), false),
        (of(ApplicationCredentialName::Name { name: "aerostat".to_owned(), user: name("aerostat") }), false),
        (
            KeystoneLogin::Trust {
                id: trust,
                user: egress::KeystoneName::Id(trustee),
                password_file: file("password", PASSWORD),
            },
            false,
        ),
        (KeystoneLogin::Token { file: file("token", &token) }, true),
    ] {
        let shown = format!("{login:?}");
        let lab = world.lab(credential("openstack", keystone, login, has_project.then(|| name("kubernetes")))).await;
        let outcome = wait::until("an answer", async || match lab.send(&get()).await {
            Outcome::RetryAfter(_) => None,
            outcome => Some(outcome),
        });
        assert!(matches!(outcome.await, Outcome::Answered { status: 200, .. }), "{shown}");
    }
    assert!(world.service.projects().iter().all(|it| it.as_deref() == Some(project)), "{:?}", world.service.projects());
    assert_eq!(world.service.projects().len(), 6);
}

#[tokio::test]
async fn a_revoked_token_is_replaced_and_a_write_repeated() {
    let world = World::start().await;
    let lab = world.lab(world.by_password()).await;
    world.answered(&lab).await;
    let first = world.service.tokens().pop().unwrap();
    world.keystone.revoke(&first).await;
    let logins = world.keystone.logins().len();
    match lab.ensure(&post()).await {
        Outcome::Answered { status, .. } => assert_eq!(status, 200),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.keystone.logins().len(), logins + 1);
    let tokens = world.service.tokens();
    assert_eq!(tokens[tokens.len() - 2], first);
    assert_eq!(world.service.projects().last(), Some(&Some(world.project.clone())));
}

#[tokio::test]
async fn two_projects_behind_one_keystone_stay_apart() {
    let world = World::start().await;
    let (other, folder) = (world.keystone.project("other").await, Folder::new());
    world.keystone.user("another", "word-of-another", &[&other]).await;
    let login =
        KeystoneLogin::Password { user: name("another"), password_file: folder.write("password", "word-of-another") };
    let second = credential("second", &world.keystone, login, Some(name("other")));
    let origins = [world.service.url()];
    let endpoint = egress::Endpoint {
        name: "second".to_owned(),
        credential: Some("second".to_owned()),
        ..compute(&origins, REGION, "public")
    };
    let lab =
        world.lab_of(vec![world.by_password(), second], vec![compute(&origins, REGION, "public"), endpoint]).await;
    world.answered(&lab).await;
    let request = get().to("second");
    wait::until("an answer", async || matches!(lab.send(&request).await, Outcome::Answered { .. }).then_some(())).await;
    assert_eq!(world.service.projects(), [Some(world.project.clone()), Some(other)]);
}

#[tokio::test]
async fn a_catalogue_of_keystone_is_followed_within_origins() {
    let world = World::start().await;
    let second = Service::start(world.keystone.clone()).await;
    let origins = [world.service.url(), second.url()];
    let lab = world.lab_of(vec![world.by_password()], vec![compute(&origins, REGION, "public")]).await;
    world.answered(&lab).await;
    world.keystone.move_endpoint(&world.endpoint, &format!("{}/compute/v2.1", second.url())).await;
    // The next token has it.
    world.keystone.revoke(&world.service.tokens().pop().unwrap()).await;
    world.answered(&lab).await;
    assert_eq!(second.projects(), [Some(world.project.clone())]);
    assert_eq!(second.paths(), ["/compute/v2.1/servers"]);
}

#[tokio::test]
async fn a_catalogue_of_keystone_leads_nowhere_else() {
    let world = World::start().await;
    let elsewhere = Service::start(world.keystone.clone()).await;
    for url in ["http://169.254.169.254/v2.1", "http://localhost:9/v2.1", "https://nova.example/v2.1", &elsewhere.url()]
    {
        world.keystone.move_endpoint(&world.endpoint, url).await;
        let lab = world.lab(world.by_password()).await;
        let text = world.unreachable(&lab).await;
        assert!(text.contains("endpoint compute cannot be reached: the catalogue says"), "{text}");
        assert!(text.contains("which `origins` does not name") && text.contains("Next step: "), "{text}");
    }
    assert!(world.service.paths().is_empty() && elsewhere.paths().is_empty());
}
