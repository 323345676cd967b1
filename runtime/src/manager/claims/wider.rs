//! Rights that the operator's config gives beyond those a module asks for.

use cloud_provider::Description;
use egress::Endpoint;

use super::requests::{asked, rules};

/// Where the rules of endpoints let more stand in requests than a module says that they carry, or allow what it does not ask
/// for: a sentence for each.
pub(crate) fn wider(description: &Description, endpoints: &[&Endpoint]) -> Vec<String> {
    let mut said = Vec::new();
    for endpoint in endpoints {
        let Some(described) = description.endpoints.iter().find(|it| it.name == endpoint.name) else {
            said.push(format!("endpoint {} is not one that the module uses; remove it", endpoint.name));
            continue;
        };
        let asked = asked(described);
        for rule in rules(endpoint) {
            let own: Vec<_> = asked.iter().filter(|it| it.meets(&rule)).collect();
            if own.is_empty() {
                said.push(format!("endpoint {} allows {rule}, which the module does not ask for", endpoint.name));
            } else if rule.is_wider_than(own.iter().copied()) {
                let carried: Vec<_> = own.iter().map(|it| it.carried()).filter(|it| !it.is_empty()).collect();
                said.push(format!(
                    "endpoint {} lets more stand in {rule} than the module says that its requests carry: {}",
                    endpoint.name,
                    carried.join("; or ")
                ));
            }
        }
    }
    said.sort();
    said.dedup();
    said
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Content, Permission};
    use egress::{BaseUrl, Method, PathPattern, Rule};

    use super::*;

    fn description() -> Description {
        let permission = |path: &str, fields: &[&str]| Permission {
            methods: vec!["PUT".to_owned()],
            paths: vec![path.to_owned()],
            content: Content { fields: fields.iter().map(|it| (*it).to_owned()).collect(), ..Content::default() },
            ..Permission::default()
        };
        let endpoint = cloud_provider::Endpoint {
            name: "api".to_owned(),
            allow: vec![permission("/ports/*", &["port.tags", "port.groups"]), permission("/names", &[])],
            ..cloud_provider::Endpoint::default()
        };
        Description { endpoints: vec![endpoint], ..Description::default() }
    }

    fn said(path: &str, fields: &[&str]) -> Vec<String> {
        let content = egress::RuleContent::parse(None, &[], fields).unwrap();
        let rule = Rule { content, ..Rule::new([Method::Put], [PathPattern::parse(path).unwrap()]) };
        let endpoint =
            Endpoint { allow: vec![rule], ..Endpoint::new("api", BaseUrl::parse("https://api.acme.example").unwrap()) };
        wider(&description(), &[&endpoint])
    }

    #[test]
    fn adv_165_a_rule_that_lets_more_stand_is_told() {
        assert_eq!(said("/ports/*", &["port.tags"]), [""; 0]);
        assert_eq!(said("/ports/*", &["port.tags", "port.groups"]), [""; 0]);
        assert_eq!(said("/names", &[]), [""; 0], "the module does not say what it sends there");
        let all = "endpoint api lets more stand in PUT /ports/* than the module says that its requests carry: \
                   fields: ['port.tags', 'port.groups']";
        for wide in [&[][..], &["port"], &["port.tags", "port.name"]] {
            assert_eq!(said("/ports/*", wide), [all], "{wide:?}");
        }
        let unasked = "endpoint api allows PUT /servers, which the module does not ask for";
        assert_eq!(said("/servers", &[]), [unasked]);
    }
}
