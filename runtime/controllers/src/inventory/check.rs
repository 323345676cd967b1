//! Answers of a provider are checked before anything is written: none is believed.

use std::net::IpAddr;

use cloud_provider::{Address, AddressKind, Description, Instance};

/// Addresses that a machine may have.
const ADDRESSES: usize = 64;
/// Labels that a machine may bring.
const LABELS: usize = 64;
/// The longest name in DNS, and of a label's domain.
const NAME: usize = 253;
/// The longest name and value of a label.
const LABEL: usize = 63;
/// The longest provider id.
const PROVIDER_ID: usize = 1024;

/// The fault of a provider's answer about a node, as a sentence without a subject, if it has one. `is_its` says that
/// the answer's provider id is the node's, perhaps in another spelling.
pub(super) fn refusal(
    description: &Description,
    node: &cloud_provider::Node,
    instance: &Instance,
    is_its: bool,
) -> Option<String> {
    provider_id(description, node, instance, is_its)
        .or_else(|| name(node, instance))
        .or_else(|| addresses(&instance.addresses))
        .or_else(|| labels(&instance.labels))
        .or_else(|| facts(instance))
}

fn provider_id(
    description: &Description,
    node: &cloud_provider::Node,
    instance: &Instance,
    is_its: bool,
) -> Option<String> {
    let answered = instance.provider_id.as_deref()?;
    if !description.owns(answered) {
        let prefixes = description.provider_id_prefixes.join(", ");
        return Some(format!(
            "names the provider id {answered:?}, which begins with none of its prefixes ({prefixes})"
        ));
    }
    if answered.len() > PROVIDER_ID || answered.chars().any(|it| it.is_whitespace() || it.is_control()) {
        return Some("names a provider id with spaces, or one that is too long".to_owned());
    }
    match node.provider_id.as_deref() {
        Some(asked) if asked != answered && !is_its => {
            Some(format!("answers with machine {answered:?}, although the node's provider id is {asked:?}"))
        }
        _ => None,
    }
}

/// A machine that is not known by the node's provider id has to be known by its name, as a list's machines are.
fn name(node: &cloud_provider::Node, instance: &Instance) -> Option<String> {
    let is_identified = node.provider_id.is_some() && instance.provider_id.is_some();
    let is_named = instance.name == node.name || instance.addresses.iter().any(|it| it.value == node.name);
    (!is_identified && !is_named).then(|| {
        format!(
            "answers with machine {:?}, although it was asked for the one of node {:?}, and none of the machine's \
             addresses is that name",
            instance.name, node.name,
        )
    })
}

fn addresses(addresses: &[Address]) -> Option<String> {
    if addresses.len() > ADDRESSES {
        return Some(format!("names {} addresses; at most {ADDRESSES} are taken", addresses.len()));
    }
    let wrong = addresses.iter().find(|address| match address.kind {
        AddressKind::InternalIp | AddressKind::ExternalIp => address.value.parse::<IpAddr>().is_err(),
        AddressKind::Hostname | AddressKind::InternalDns | AddressKind::ExternalDns => !is_name(&address.value),
    })?;
    Some(format!("names the {} {:?}, which is none", wrong.kind.as_str(), wrong.value))
}

fn labels(labels: &[(String, String)]) -> Option<String> {
    if labels.len() > LABELS {
        return Some(format!("brings {} labels; at most {LABELS} are taken", labels.len()));
    }
    let (key, value) = labels.iter().find(|(key, value)| !is_label_key(key) || !is_label_value(value))?;
    Some(format!("brings the label {key:?}: {value:?}, which Kubernetes does not allow"))
}

fn facts(instance: &Instance) -> Option<String> {
    let facts = [("machine type", &instance.machine_type), ("zone", &instance.zone), ("region", &instance.region)];
    facts.into_iter().find_map(|(what, value)| {
        let value = value.as_deref()?;
        (!is_label_value(value)).then(|| format!("names the {what} {value:?}, which cannot be a label"))
    })
}

fn is_name(text: &str) -> bool {
    (1..=NAME).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic())
}

/// A qualified name: an optional DNS subdomain and a slash before the name itself.
#[must_use]
pub fn is_label_key(key: &str) -> bool {
    let (domain, name) = key.split_once('/').map_or((None, key), |(domain, name)| (Some(domain), name));
    domain.is_none_or(is_subdomain) && !name.is_empty() && is_label_value(name)
}

fn is_subdomain(text: &str) -> bool {
    let part = |it: &str| is_framed(it, |it| it.is_ascii_lowercase() || it.is_ascii_digit(), |it| it == b'-');
    (1..=NAME).contains(&text.len()) && text.split('.').all(part)
}

pub(crate) fn is_label_value(text: &str) -> bool {
    let inner = |it| matches!(it, b'-' | b'_' | b'.');
    text.len() <= LABEL && (text.is_empty() || is_framed(text, |it| it.is_ascii_alphanumeric(), inner))
}

/// Whether a text begins and ends with certain bytes, and has only those and some others between.
fn is_framed(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    outer(*first) && outer(*last) && bytes.iter().all(|it| outer(*it) || inner(*it))
}

#[cfg(test)]
mod tests {
    use cloud_provider::State;

    use super::*;

    /// The fault of an answer about a node with this provider id.
    #[track_caller]
    fn check(asked: Option<&str>, change: impl FnOnce(&mut Instance), expected: Option<&str>) {
        let description = Description { provider_id_prefixes: vec!["fake://".into()], ..Description::default() };
        let node = cloud_provider::Node {
            name: "n1".into(),
            provider_id: asked.map(Into::into),
            ..cloud_provider::Node::default()
        };
        let mut instance = Instance {
            name: "n1".into(),
            provider_id: Some("fake://1".into()),
            state: State::Running,
            machine_type: Some("t1.micro".into()),
            zone: Some("z-1".into()),
            region: Some("r".into()),
            addresses: vec![Address { kind: AddressKind::InternalIp, value: "10.0.0.1".into() }],
            labels: vec![("example.com/team".into(), "a".into()), ("plain".into(), String::new())],
            ..Instance::default()
        };
        change(&mut instance);
        let refusal = refusal(&description, &node, &instance, false);
        match expected {
            None => assert_eq!(refusal, None),
            Some(part) => assert!(refusal.as_ref().is_some_and(|it| it.contains(part)), "{refusal:?}"),
        }
    }

    #[test]
    fn an_honest_answer_is_taken() {
        check(None, |_| (), None);
        check(Some("fake://1"), |_| (), None);
        check(Some("fake://1"), |it| it.provider_id = None, None);
    }

    #[test]
    fn a_provider_id_must_be_the_clouds_and_the_nodes() {
        let id = |id: &str| {
            let id = Some(id.to_owned());
            move |it: &mut Instance| it.provider_id = id
        };
        check(None, id("aws:///i-1"), Some("none of its prefixes (fake://)"));
        check(None, id("fake://1 2"), Some("spaces"));
        check(None, id(&format!("fake://{}", "1".repeat(1100))), Some("too long"));
        check(Some("fake://2"), |_| (), Some("although the node's provider id is \"fake://2\""));
    }

    #[test]
    fn a_machine_must_be_the_one_of_the_node() {
        let name = |name: &str| {
            let name = name.to_owned();
            move |it: &mut Instance| it.name = name
        };
        let other = "answers with machine \"n2\", although it was asked for the one of node \"n1\"";
        check(None, name("n2"), Some(other));
        check(Some("fake://1"), name("n2"), None);
        let bare = |it: &mut Instance| (it.name, it.provider_id) = ("n2".to_owned(), None);
        check(Some("fake://1"), bare, Some(other));
        let by_address = |instance: &mut Instance| {
            instance.name = "web".to_owned();
            instance.addresses = vec![Address { kind: AddressKind::InternalDns, value: "n1".to_owned() }];
        };
        check(None, by_address, None);
    }

    #[test]
    fn addresses_must_be_what_they_are_called() {
        let address = |kind, value: &str| {
            let address = Address { kind, value: value.to_owned() };
            move |it: &mut Instance| it.addresses = vec![address]
        };
        check(None, address(AddressKind::InternalIp, "n1"), Some("InternalIP \"n1\""));
        check(None, address(AddressKind::ExternalIp, ""), Some("ExternalIP"));
        check(None, address(AddressKind::Hostname, ""), Some("Hostname"));
        check(None, address(AddressKind::ExternalDns, "a b"), Some("ExternalDNS"));
        check(None, address(AddressKind::InternalIp, "2600:1f14:1d4:d101:0:0:0:ba3d"), None);
        let many = |it: &mut Instance| it.addresses = vec![it.addresses[0].clone(); 65];
        check(None, many, Some("65 addresses"));
    }

    #[test]
    fn labels_must_be_ones_that_kubernetes_takes() {
        let label = |key: &str, value: &str| {
            let label = (key.to_owned(), value.to_owned());
            move |it: &mut Instance| it.labels = vec![label]
        };
        for key in ["", "/a", "a/", "a b", "-a", "Example.com/a", "a/b/c", &"a".repeat(64)] {
            check(None, label(key, "v"), Some("does not allow"));
        }
        for value in ["a b", "-a", "a/b", &"a".repeat(64)] {
            check(None, label("key", value), Some("does not allow"));
        }
        check(None, label("a.b-c.example/A_b.c-d", "A_b.c-d"), None);
        check(None, |it| it.labels = vec![("a".into(), "b".into()); 65], Some("65 labels"));
        check(None, |it| it.zone = Some("z 1".into()), Some("zone \"z 1\""));
        check(None, |it| it.machine_type = Some("a/b".into()), Some("machine type"));
    }
}
