//! Rights that a module asks for beside those that the operator's config gives: decided here, and logged as one table at the start.

mod changes;
mod config;
mod missing;
mod prefixes;
mod requests;
mod wider;

use std::collections::BTreeMap;

use cloud_provider::{Annotation, Description, printable};
use egress::{Endpoint, OperationPlace};

pub(crate) use self::changes::{ModuleChange, ModuleSide, changes};
pub(crate) use self::config::Config;
pub(super) use self::missing::grown;
pub(crate) use self::missing::{MissingLine, missing};
use self::missing::{has_header, is_operation, operation_yaml};
pub(crate) use self::prefixes::{check as check_prefixes, is_pinned};
use self::requests::{AllowedKind, asked, rules};
pub(super) use self::requests::{allowed, needed};
pub(crate) use self::wider::wider;

/// Lines of the table: a description may hold more than anybody reads.
const ROWS: usize = 400;
/// The widest that a column is made for the sake of one line.
const WIDTH: usize = 64;

/// One line of the table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ClaimRow {
    /// The subject of the row: `endpoint api`.
    about: String,
    /// The right that the module asks for: `GET /v2/droplets/*`.
    asked: String,
    /// The config's answer to that.
    answer: String,
    /// Whether a person should read it.
    pub(super) is_odd: bool,
}

/// The table, in the order in which a reader asks: which nodes, which requests, which writes, and the rest.
pub(super) fn table(description: &Description, config: &Config<'_>) -> Vec<ClaimRow> {
    let mut rows = Vec::new();
    for prefix in &description.provider_id_prefixes {
        let is_pinned = config.prefixes.iter().any(|it| is_pinned(prefix, it));
        let answer = if is_pinned { "yes, pinned" } else { "yes, not pinned (provider.providerIDPrefixes)" };
        let shown = if prefix.is_empty() { "(without ://)" } else { prefix };
        rows.push(row("provider id", shown, answer));
    }
    for endpoint in config.endpoints {
        rows.extend(endpoint_rows(description, endpoint));
    }
    for key in &description.writes_annotations {
        let is_allowed = config.writes_annotations.contains(key);
        let answer = if is_allowed { "yes" } else { "no: it is not in provider.writesAnnotations, and is left out" };
        rows.push(row("Service annotation", &format!("write {key}"), answer));
    }
    for finalizer in &description.finalizers {
        let is_allowed = config.finalizers.contains(finalizer);
        let answer = if is_allowed { "yes" } else { "no: it is not in provider.finalizers, and stays on Services" };
        rows.push(row("finalizer", &format!("take off {finalizer}"), answer));
    }
    for value in &description.config_maps {
        let is_allowed = config.config_maps.contains(&value.config_map);
        let answer = if is_allowed { "yes" } else { "no: it is not in provider.configMaps, and is left out" };
        rows.push(row("ConfigMap", &format!("read {value}"), answer));
    }
    for value in &description.cluster_ids {
        let is_allowed = config.creates_config_maps.contains(&value.config_map);
        let answer = if is_allowed { "yes" } else { "no: it is not in provider.createsConfigMaps, and stays missing" };
        rows.push(row("ConfigMap", &format!("make {value} if it is missing"), answer));
    }
    for (domain, keys) in domains(description) {
        let asked = match keys.as_slice() {
            [key] => format!("read {key}"),
            keys => format!("read {} keys of {domain}", keys.len()),
        };
        rows.push(row("Service annotation", &asked, "yes, what a provider describes"));
    }
    for label in description.node_labels.iter().filter(|it| *it != "*") {
        let is_allowed = config.node_labels.contains(label);
        let answer = if is_allowed { "yes" } else { "no: it is not in provider.nodeLabels, and is left out" };
        rows.push(row("node label", &format!("read {label}"), answer));
    }
    for label in config.node_labels.iter().filter(|it| !description.node_labels.contains(it)) {
        rows.push(match description.node_labels.iter().any(|it| it == "*") {
            true => row("node label", &format!("read {label}"), "yes"),
            false => odd("node label", "nothing", &format!("{label}, which the module does not read: remove it")),
        });
    }
    for setting in &description.settings {
        let is_given = config.settings.iter().any(|(name, _)| setting.matches(name));
        let answer = match (is_given, &setting.default) {
            (true, _) => "given".to_owned(),
            (false, Some(default)) => format!("not given: {}", printable(default, WIDTH)),
            (false, None) => "not given".to_owned(),
        };
        rows.push(row("setting", &setting.name, &answer));
    }
    if rows.len() > ROWS {
        let left = rows.len() - ROWS;
        rows.truncate(ROWS);
        rows.push(odd("…", &format!("{left} more"), "not shown: the module describes more than anybody reads"));
    }
    rows
}

/// The table as text: a line for the columns' names, and one for each row. The columns are aligned.
pub(super) fn lines(rows: &[ClaimRow]) -> impl Iterator<Item = (String, bool)> {
    let head = ClaimRow { is_odd: false, ..row("ABOUT", "ASKED FOR BY THE MODULE", "ALLOWED BY THE CONFIG") };
    let width = |of: fn(&ClaimRow) -> &String| {
        rows.iter().chain([&head]).map(|it| of(it).chars().count()).max().unwrap_or_default().min(WIDTH)
    };
    let (about, asked) = (width(|it| &it.about), width(|it| &it.asked));
    let line = move |it: &ClaimRow| (format!("{:about$}  {:asked$}  {}", it.about, it.asked, it.answer), it.is_odd);
    [head].iter().chain(rows).map(line).collect::<Vec<_>>().into_iter()
}

/// The annotation keys that a module reads, by the domain before the slash.
fn domains(description: &Description) -> BTreeMap<&str, Vec<&str>> {
    let mut domains: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Annotation { key, .. } in &description.annotations {
        domains.entry(key.split_once('/').map_or(key, |(domain, _)| domain)).or_default().push(key);
    }
    domains
}

fn endpoint_rows(description: &Description, endpoint: &Endpoint) -> Vec<ClaimRow> {
    let about = format!("endpoint {}", endpoint.name);
    let credential = endpoint.credential.as_deref().map_or("no credential".to_owned(), |it| format!("credential {it}"));
    let place = format!("{}, with {credential}", endpoint.place);
    let Some(described) = description.endpoints.iter().find(|it| it.name == endpoint.name) else {
        return vec![odd(&about, "nothing", &format!("{place}; the module does not use it: remove it"))];
    };
    let asked = asked(described);
    let mut rows = vec![row(&about, &printable(&described.purpose, WIDTH), &place)];
    rows.extend(operation_row(&about, described, endpoint));
    rows.extend(parameter_rows(&about, described, endpoint));
    for kind in &asked {
        let request = kind.to_string();
        let shown = kind.effect.map_or(request.clone(), |it| format!("{request}, {}", with_article(it)));
        rows.push(match kind.allowed_by(endpoint) {
            Some(AllowedKind { is_whole: false, rule, .. }) => {
                let carried = kind.carried();
                let carried = if carried.is_empty() { "anything" } else { carried.as_str() };
                odd(
                    &about,
                    &shown,
                    &format!("in part, by {rule}, where less may stand than the module sends: {carried}"),
                )
            }
            Some(AllowedKind { other_effect: Some(effect), rule, .. }) => {
                let answer = format!("yes, by {rule}, as {}: correct the effect of the rule", with_article(effect));
                odd(&about, &shown, &answer)
            }
            Some(AllowedKind { rule, .. }) if rule == request => row(&about, &shown, "yes"),
            Some(AllowedKind { rule, .. }) => row(&about, &shown, &format!("yes, by {rule}")),
            None => odd(&about, &shown, "no: requests of this kind are refused until a rule of allow covers them"),
        });
    }
    for header in &described.headers {
        rows.push(match has_header(&endpoint.headers, header) {
            true => row(&about, &format!("header {header}"), "yes"),
            false => {
                odd(&about, &format!("header {header}"), "no: requests with it are refused until headers names it")
            }
        });
    }
    for header in &endpoint.headers {
        if !has_header(&described.headers, header) {
            rows.push(odd(&about, "nothing", &format!("header {header}, which the module does not ask for")));
        }
    }
    for rule in rules(endpoint).filter(|rule| !asked.iter().any(|it| it.meets(rule))) {
        rows.push(odd(&about, "nothing", &format!("{rule}, which the module does not ask for")));
    }
    rows
}

fn with_article(effect: egress::Effect) -> String {
    let article = if effect == egress::Effect::Update { "an" } else { "a" };
    format!("{article} {effect}")
}

/// Where requests say what they do.
fn operation_row(about: &str, described: &cloud_provider::Endpoint, endpoint: &Endpoint) -> Option<ClaimRow> {
    match (&described.operation, &endpoint.operation) {
        (None, None) => None,
        (None, Some(place)) => {
            let place = match place {
                OperationPlace::Parameter(name) => format!("parameter {name}"),
                OperationPlace::Header(name) => format!("header {name}"),
            };
            let answer =
                format!("an operation in the {place}, which the module does not name: all requests are refused");
            Some(odd(about, "nothing", &answer))
        }
        (Some(place), _) => {
            let asked = format!("operation {}", operation_yaml(place));
            Some(match is_operation(endpoint, place) {
                true => row(about, &asked, "yes"),
                false => odd(about, &asked, "no: requests are told apart by it only once operation says so"),
            })
        }
    }
}

/// The rows about the parameters that each request carries.
fn parameter_rows(about: &str, described: &cloud_provider::Endpoint, endpoint: &Endpoint) -> Vec<ClaimRow> {
    let mut rows = Vec::new();
    for (name, value) in &described.parameters {
        let asked = format!("parameter {name}: {value}");
        let given = endpoint.parameters.iter().find(|(it, _)| it == name);
        rows.push(match given {
            Some((_, it)) if it == value => row(about, &asked, "yes"),
            Some((_, it)) => odd(about, &asked, &format!("no: {it}, and requests with another value are refused")),
            None => odd(about, &asked, "not fixed: name it in parameters, since another API may be at this host"),
        });
    }
    for (name, _) in
        endpoint.parameters.iter().filter(|(it, _)| described.parameters.iter().all(|(name, _)| name != it))
    {
        let answer = format!("parameter {name}, which the module does not send: all requests are refused");
        rows.push(odd(about, "nothing", &answer));
    }
    rows
}

fn row(about: &str, asked: &str, answer: &str) -> ClaimRow {
    ClaimRow { about: about.to_owned(), asked: asked.to_owned(), answer: answer.to_owned(), is_odd: false }
}

fn odd(about: &str, asked: &str, answer: &str) -> ClaimRow {
    ClaimRow { is_odd: true, ..row(about, asked, answer) }
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Permission, Setting};
    use egress::{BaseUrl, Effect, Method, OperationPattern, PathPattern, Rule};

    use super::*;

    fn endpoint(name: &str, allow: &[(Method, &str)]) -> Endpoint {
        let rule = |(method, path): &(Method, &str)| Rule::new([*method], [PathPattern::parse(path).unwrap()]);
        Endpoint {
            credential: Some("token".to_owned()),
            allow: allow.iter().map(rule).collect(),
            ..Endpoint::new(name, BaseUrl::parse("https://api.acme.example").unwrap())
        }
    }

    fn description() -> Description {
        let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let permission = |methods: &[&str], paths: &[&str]| Permission {
            methods: words(methods),
            paths: words(paths),
            effect: methods.iter().map(|it| cloud_provider::Effect::of_method(it)).max().unwrap_or_default(),
            actions: Vec::new(),
            ..Permission::default()
        };
        Description {
            name: "acme".to_owned(),
            provider_id_prefixes: words(&["acme://"]),
            endpoints: vec![cloud_provider::Endpoint {
                name: "api".to_owned(),
                purpose: "the cloud".to_owned(),
                example_base_url: String::new(),
                allow: vec![
                    permission(&["GET"], &["/v1/machines/*"]),
                    permission(&["GET", "POST"], &["/v1/balancers"]),
                ],
                ..cloud_provider::Endpoint::default()
            }],
            annotations: ["acme.example/size", "acme.example/kind", "other.example/name"]
                .map(|key| Annotation {
                    key: key.to_owned(),
                    values: String::new(),
                    default: None,
                    doc: String::new(),
                    ..Annotation::default()
                })
                .into(),
            writes_annotations: words(&["acme.example/id"]),
            node_labels: words(&["rack", "acme.example/pool"]),
            settings: vec![Setting { name: "class.*.size".to_owned(), ..Setting::default() }],
            ..Description::default()
        }
    }

    #[test]
    fn adv_130_a_description_without_end_is_a_short_table() {
        let mut description = description();
        let paths = (0..256).map(|it| format!("/v1/{it}")).collect::<Vec<_>>();
        let permission = &mut description.endpoints[0].allow[0];
        (permission.methods, permission.paths) = (vec!["GET".to_owned(), "POST".to_owned()], paths);
        description.endpoints[0].purpose = "x".repeat(1 << 10);
        let api = endpoint("api", &[]);
        let config = Config {
            prefixes: &[],
            endpoints: &[&api],
            settings: &[],
            node_labels: &[],
            writes_annotations: &[],
            finalizers: &[],
            config_maps: &[],
            creates_config_maps: &[],
        };
        let rows = table(&description, &config);
        assert_eq!(rows.len(), ROWS + 1);
        assert!(lines(&rows).all(|(line, _)| line.len() < 250));
    }

    #[test]
    fn adv_130_asked_rules_stand_beside_allowed_ones() {
        let mut description = description();
        description.endpoints[0].headers = vec!["X-Acme-Version".to_owned(), "x-acme-trace".to_owned()];
        let mut api =
            endpoint("api", &[(Method::Get, "/v1/**"), (Method::Delete, "/v1/balancers/*"), (Method::Post, "/v1/x")]);
        api.headers = vec!["x-acme-version".to_owned(), "x-other".to_owned()];
        let old = endpoint("old", &[]);
        let config = Config {
            prefixes: &["acme://".to_owned()],
            endpoints: &[&api, &old],
            settings: &[("class.gold.size".to_owned(), "2".to_owned())],
            node_labels: &["rack".to_owned(), "secret".to_owned()],
            writes_annotations: &[],
            finalizers: &[],
            config_maps: &[],
            creates_config_maps: &[],
        };
        let rows = table(&description, &config);
        let text: Vec<_> =
            lines(&rows).map(|(line, is_odd)| format!("{} {line}", if is_odd { "!" } else { " " })).collect();
        expect_test::expect![[r#"
              ABOUT               ASKED FOR BY THE MODULE      ALLOWED BY THE CONFIG
              provider id         acme://                      yes, pinned
              endpoint api        the cloud                    https://api.acme.example, with credential token
              endpoint api        GET /v1/balancers            yes, by GET /v1/**
              endpoint api        GET /v1/machines/*           yes, by GET /v1/**
            ! endpoint api        POST /v1/balancers           no: requests of this kind are refused until a rule of allow covers them
              endpoint api        header X-Acme-Version        yes
            ! endpoint api        header x-acme-trace          no: requests with it are refused until headers names it
            ! endpoint api        nothing                      header x-other, which the module does not ask for
            ! endpoint api        nothing                      DELETE /v1/balancers/*, which the module does not ask for
            ! endpoint api        nothing                      POST /v1/x, which the module does not ask for
            ! endpoint old        nothing                      https://api.acme.example, with credential token; the module does not use it: remove it
              Service annotation  write acme.example/id        no: it is not in provider.writesAnnotations, and is left out
              Service annotation  read 2 keys of acme.example  yes, what a provider describes
              Service annotation  read other.example/name      yes, what a provider describes
              node label          read rack                    yes
              node label          read acme.example/pool       no: it is not in provider.nodeLabels, and is left out
            ! node label          nothing                      secret, which the module does not read: remove it
              setting             class.*.size                 given
        "#]].assert_eq(&(text.join("\n") + "\n"));
    }

    #[test]
    fn adv_130_operations_stand_beside_what_is_allowed() {
        let mut description = description();
        let described = &mut description.endpoints[0];
        described.operation = Some(cloud_provider::OperationPlace::Parameter("Action".to_owned()));
        described.parameters = [("Version", "2"), ("Region", "r1"), ("Kind", "a")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let permission = |operation: &str, effect| Permission {
            methods: vec!["POST".to_owned()],
            paths: vec!["/".to_owned()],
            operations: vec![operation.to_owned()],
            effect,
            ..Permission::default()
        };
        described.allow = vec![
            permission("Describe*", cloud_provider::Effect::Read),
            permission("ModifyListener", cloud_provider::Effect::Write),
            permission("TerminateInstances", cloud_provider::Effect::Delete),
        ];
        let rule = |operation: &str, effect| Rule {
            operations: vec![OperationPattern::parse(operation).unwrap()],
            effect: Some(effect),
            ..Rule::new([Method::Post], [PathPattern::parse("/").unwrap()])
        };
        let mut api = endpoint("api", &[]);
        api.operation = Some(OperationPlace::Parameter("Action".to_owned()));
        api.parameters = [("Version", "2"), ("Region", "r2"), ("Zone", "z")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        api.allow = vec![rule("describe*", Effect::Read), rule("*", Effect::Read), rule("Reboot*", Effect::Write)];
        api.allow[1].operations = vec![OperationPattern::parse("Modify*").unwrap()];
        let config = Config {
            prefixes: &[],
            endpoints: &[&api],
            settings: &[],
            node_labels: &[],
            writes_annotations: &[],
            finalizers: &[],
            config_maps: &[],
            creates_config_maps: &[],
        };
        let rows = table(&description, &config).into_iter().filter(|it| it.about == "endpoint api").skip(1);
        let text: Vec<_> =
            rows.map(|it| format!("{} {} | {}", if it.is_odd { "!" } else { " " }, it.asked, it.answer)).collect();
        expect_test::expect![[r#"
              operation { parameter: 'Action' } | yes
              parameter Version: 2 | yes
            ! parameter Region: r1 | no: r2, and requests with another value are refused
            ! parameter Kind: a | not fixed: name it in parameters, since another API may be at this host
            ! nothing | parameter Zone, which the module does not send: all requests are refused
              POST / Describe*, a read | yes, by POST / describe*
            ! POST / ModifyListener, a write | yes, by POST / Modify*, as a read: correct the effect of the rule
            ! POST / TerminateInstances, a delete | no: requests of this kind are refused until a rule of allow covers them
            ! nothing | POST / Reboot*, which the module does not ask for
        "#]]
        .assert_eq(&(text.join("\n") + "\n"));
    }

    #[test]
    fn rules_that_are_missing_are_ready_to_be_pasted() {
        let text = |rules: &[(Method, &str)]| {
            let api = endpoint("api", rules);
            let missing = missing(&description(), &[&api, &endpoint("old", &[])]);
            missing.into_iter().map(|it| format!("{} {}: {}", it.endpoint, it.key, it.yaml)).collect::<Vec<_>>()
        };
        let all = [
            "api allow: - { methods: [GET], paths: ['/v1/machines/*'] }",
            "api allow: - { methods: [GET, POST], paths: ['/v1/balancers'] }",
        ];
        assert_eq!(text(&[]), all);
        let reads = [(Method::Get, "/v1/**")];
        assert_eq!(text(&reads), ["api allow: - { methods: [POST], paths: ['/v1/balancers'] }"]);
        assert_eq!(text(&[reads[0], (Method::Post, "/v1/balancers")]), [""; 0]);
    }
}
