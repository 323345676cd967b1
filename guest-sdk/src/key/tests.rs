//! Values that are read and refused by a row, and what the description says of it.

use std::time::Duration;

use super::*;
use crate::annotations::Annotations;
use crate::form::{Bool, Custom, Integer, List, OneOf, PORTS, Port, Span};
use crate::testing::Host;
use crate::{LoadBalancer, settings};

crate::table! {
    /// Rows of several forms.
    const TABLE;
    SIZE: Integer = ("acme.example/size", Integer::between(1, 9), "How large it is.").default("1");
    ZONE: OneOf<char> = ("acme.example/zone", OneOf(&[("a", 'a'), ("b", 'b'), ("c", 'c')]), "Where it is.")
        .only_at_creation();
    LISTENS: List<Port> = ("acme.example/ports", PORTS, "Its ports.").otherwise("all of the Service");
}

fn service() -> LoadBalancer {
    LoadBalancer::of("default", "web", "uid")
}

/// Checks how a value is read.
fn read<F: Form>(key: &Key<F>, value: &str, check: impl FnOnce(Result<Option<F::Value<'_>>>)) {
    let service = service().with_annotation(key.name, value);
    check(Annotations::of(&service).read(key));
}

fn why<F: Form + Copy>(form: F, value: &str) -> String {
    let service = service().with_annotation("k", value);
    let Err(Error::Invalid(why)) = Annotations::of(&service).read(&Key::new("k", form, "")).map(|_| ()) else {
        panic!("{value} was taken")
    };
    why
}

#[test]
fn a_value_is_read_without_space_around_it() {
    read(&SIZE, " 7 ", |it| assert_eq!(it, Ok(Some(7))));
    read(&SIZE, " ", |it| assert_eq!(it, Ok(None)));
    read(&ZONE, "b", |it| assert_eq!(it, Ok(Some('b'))));
    read(&LISTENS, "80, 443", |it| assert_eq!(it, Ok(Some(vec![80, 443]))));
    assert_eq!(Annotations::of(&service()).read(&SIZE), Ok(None));
}

#[test]
fn a_default_holds_where_nothing_is_written() {
    let plain = service();
    assert_eq!(Annotations::of(&plain).get(&SIZE), Ok(1));
    let error = Error::invalid("annotation acme.example/zone is missing");
    assert_eq!(Annotations::of(&plain).get(&ZONE), Err(error));
    assert_eq!(LISTENS.fallback(), None, "words are no value");
}

#[test]
fn a_setting_is_read_and_refused_by_its_row() {
    Host::new().setting(SIZE.name, "7").setting(ZONE.name, "").run(|| {
        assert_eq!(settings::get(&SIZE), Ok(7));
        let error = Error::invalid("setting acme.example/zone: \"\" is not a, b or c");
        assert_eq!(settings::read(&ZONE), Err(error));
    });
    Host::new().run(|| {
        assert_eq!((settings::get(&SIZE), settings::read(&ZONE)), (Ok(1), Ok(None)));
        assert_eq!(settings::read(&SIZE), Ok(None));
        let error = "setting acme.example/zone is missing: write it under provider.settings";
        assert_eq!(settings::get(&ZONE), Err(Error::invalid(error)));
    });
}

#[test]
fn an_error_names_the_allowed_values() {
    assert_eq!(why(Bool, "yes"), "annotation k: \"yes\" is not true or false");
    assert_eq!(why(Integer::between(1, 9), "10"), "annotation k: \"10\" is not a whole number from 1 to 9");
    let seconds = Integer::between(30, 600).of("seconds").or_zero();
    assert_eq!(why(seconds, "29"), "annotation k: \"29\" is not a whole number of seconds from 30 to 600");
    assert_eq!(why(OneOf(&[("a", 1), ("b", 2)]), "A"), "annotation k: \"A\" is not a or b");
    assert_eq!(why(OneOf(&[("a", 1), ("b", 2), ("c", 3)]), "d"), "annotation k: \"d\" is not a, b or c");
    assert_eq!(why(Port, "0"), "annotation k: \"0\" is not one port, a whole number from 1 to 65535");
    assert_eq!(why(PORTS, "80,,81"), "annotation k: \"80,,81\" is not a list of ports such as 80,8080");
    let span = Span::between(Duration::from_secs(1), Duration::from_secs(300));
    assert_eq!(why(span, "500ms"), "annotation k: \"500ms\" is not between 1s and 5m");
    let name = Custom { allowed: "a name of one letter", parse: |it| (it.len() == 1).then(|| it.to_owned()) };
    assert_eq!(why(name, "ab"), "annotation k: \"ab\" is not a name of one letter");
    let rules = List { of: Bool, what: "", example: "true,false" };
    assert_eq!(why(rules, "x"), "annotation k: \"x\" is not a list such as true,false");
    let long = "x".repeat(500);
    assert!(why(Bool, &long).len() < 200);
}

#[test]
fn an_error_says_where_else_it_may_be_meant() {
    read(&ZONE.hint("for size there is another"), "7", |value| {
        let text = "annotation acme.example/zone: \"7\" is not a, b or c (for size there is another)";
        assert_eq!(value, Err(Error::invalid(text)));
    });
}

#[test]
fn the_description_is_made_of_the_same_rows() {
    let described = Description::new("acme", "1.0.0").annotations(TABLE).settings(TABLE);
    let default = |it: &Option<String>| it.clone().unwrap_or("-".to_owned());
    let lines: Vec<_> = described
        .annotations
        .iter()
        .map(|it| format!("{} | {} | {} | {}", it.key, it.values, default(&it.default), it.doc))
        .collect();
    assert_eq!(
        lines,
        [
            "acme.example/size | a whole number from 1 to 9 | 1 | How large it is.",
            "acme.example/zone | a, b or c | - | Where it is. Counts only when the load balancer is created.",
            "acme.example/ports | a list of ports such as 80,8080 | all of the Service | Its ports.",
        ]
    );
    let setting = &described.settings[0];
    assert_eq!((&*setting.name, setting.default.as_deref()), ("acme.example/size", Some("1")));
    assert_eq!(setting.doc, "How large it is. Values: a whole number from 1 to 9.");
}

#[test]
fn a_row_says_what_else_the_host_has_to_know() {
    let selector = Key::new("acme.example/nodes", Bool, "Which nodes.").selects_nodes();
    let annotation = |row: &dyn Row| row.annotation();
    let setting = |row: &dyn Row| row.setting();
    assert!(annotation(&selector).selects_nodes && !annotation(&SIZE).selects_nodes);
    assert!(setting(&SIZE.required()).required && !setting(&SIZE).required);
}
