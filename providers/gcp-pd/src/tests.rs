//! The provider's description, and its README. The whole way through the sandbox is tested elsewhere.

use aerostat_sdk::testing::{Host, Outcome, Request, answer};
use aerostat_sdk::{Effect, Error, Method, Provider, readme};

use crate::Pd;

/// A host with the settings that are required.
fn host(answers: impl Fn(&Request) -> Outcome + 'static) -> Host {
    Host::new().setting("project", "p1").answers(answers)
}

#[test]
fn it_describes_its_endpoint() {
    let description = Host::new().setting("project", "p1").run(Pd::describe).unwrap();
    assert_eq!((&*description.name, description.provider_id_prefixes.len()), ("gcp-pd", 0), "no node is its own");
    let [endpoint] = &description.endpoints[..] else { panic!("{:?}", description.endpoints) };
    let rules: Vec<_> = endpoint.allow.iter().map(|it| (it.methods[0], it.paths[0].as_str(), it.effect)).collect();
    let expected = [
        (Method::Get, "/", Effect::Read),
        (Method::Get, "/aggregated/disks", Effect::Read),
        (Method::Get, "/zones/*/disks/*", Effect::Read),
        (Method::Get, "/zones/*/operations", Effect::Read),
        (Method::Post, "/zones/*/disks", Effect::Write),
        (Method::Post, "/zones/*/instances/*/attachDisk", Effect::Update),
        // A disk that has grown does not shrink.
        (Method::Post, "/zones/*/disks/*/resize", Effect::Write),
        (Method::Post, "/zones/*/instances/*/detachDisk", Effect::Detach),
        (Method::Delete, "/zones/*/disks/*", Effect::Delete),
    ];
    assert_eq!(rules, expected);
}

#[test]
fn settings_that_cannot_work_are_refused_at_load() {
    for (name, value, allowed) in [
        ("project", "My Project", "the id of a project such as my-project"),
        ("appearsWithin", "2h", "between 1s and 1h"),
    ] {
        let refused = Host::new().setting(name, value).run(Pd::describe).unwrap_err();
        assert_eq!(refused, Error::invalid(format_args!("setting {name}: {value:?} is not {allowed}")));
    }
    let description = Host::new().run(Pd::describe).unwrap();
    let required: Vec<_> = description.settings.iter().filter(|it| it.required).map(|it| &*it.name).collect();
    assert_eq!(required, ["project"], "the host refuses a config that lacks it");
}

#[test]
fn the_identity_is_the_number_of_the_project() {
    let found = host(|_| answer(200, r#"{ "id": "424242", "name": "p1" }"#));
    assert_eq!(found.run(Pd::identity), Ok(Some("project 424242".to_owned())));
    assert_eq!(found.requests(), ["GET compute /?fields=id,name"]);
    let another = host(|_| answer(200, r#"{ "id": "424243", "name": "p2" }"#)).run(Pd::identity);
    assert!(matches!(&another, Err(Error::Invalid(why)) if why.contains("leads to project p2")), "{another:?}");
    let body = r#"{ "error": { "errors": [{ "reason": "notFound" }] } }"#;
    let unseen = host(move |_| answer(404, body)).run(Pd::identity);
    assert!(matches!(&unseen, Err(Error::Invalid(why)) if why.contains("there is no project p1")), "{unseen:?}");
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = Host::new().setting("project", "p1").run(Pd::describe).unwrap();
    let filled = readme::filled(include_str!("../README.md"), &description, "");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../README.md"].assert_eq(&filled);
}
