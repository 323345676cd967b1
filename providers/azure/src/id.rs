//! Ids of objects: `/subscriptions/<s>/resourceGroups/<g>/providers/<namespace>/<type>/<name>/…`. They are compared without case.

use std::fmt;

/// Namespaces and types as the API's paths spell them.
const SPELLED: [&str; 19] = [
    "Microsoft.Compute",
    "Microsoft.Network",
    "backendAddressPools",
    "disks",
    "frontendIPConfigurations",
    "ipConfigurations",
    "loadBalancers",
    "loadBalancingRules",
    "networkInterfaces",
    "networkSecurityGroups",
    "privateLinkServices",
    "probes",
    "publicIPAddresses",
    "publicIPPrefixes",
    "routeTables",
    "subnets",
    "virtualMachineScaleSets",
    "virtualMachines",
    "virtualNetworks",
];

/// An object's id: its subscription, its group, and the types and names that lead to it.
#[derive(Clone, Debug)]
pub(crate) struct ResourceId {
    pub(crate) subscription: String,
    pub(crate) group: String,
    /// "Microsoft.Network".
    pub(crate) namespace: String,
    /// Types and names in turn: "loadBalancers", "kubernetes". Without the last name it is a list.
    pub(crate) words: Vec<String>,
}

impl ResourceId {
    /// An id of these words.
    pub(crate) fn new(subscription: &str, group: &str, namespace: &str, words: &[&str]) -> Self {
        Self {
            subscription: subscription.to_owned(),
            group: group.to_owned(),
            namespace: namespace.to_owned(),
            words: words.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    /// The parts of an id in any case; `None` if it is none, or if one of them could lead elsewhere in a path.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let parts: Vec<&str> = id.strip_prefix('/')?.split('/').collect();
        let [subscriptions, subscription, groups, group, providers, namespace, words @ ..] = &parts[..] else {
            return None;
        };
        let is_fixed = subscriptions.eq_ignore_ascii_case("subscriptions")
            && groups.eq_ignore_ascii_case("resourceGroups")
            && providers.eq_ignore_ascii_case("providers");
        let are_names =
            is_name(subscription) && is_group(group) && is_name(namespace) && words.iter().all(|it| is_name(it));
        let words: Vec<&str> =
            words.iter().enumerate().map(|(at, it)| if at % 2 == 0 { spelled(it) } else { it }).collect();
        (is_fixed && are_names && words.len() >= 2).then(|| Self::new(subscription, group, spelled(namespace), &words))
    }

    /// The object below it.
    pub(crate) fn child(&self, words: &[&str]) -> Self {
        let mut child = self.clone();
        child.words.extend(words.iter().map(|it| (*it).to_owned()));
        child
    }

    /// The type of the object: "loadBalancers/probes".
    pub(crate) fn has_types(&self, types: &[&str]) -> bool {
        let own: Vec<&String> = self.words.iter().step_by(2).collect();
        self.words.len() == types.len() * 2 && own.iter().zip(types).all(|(own, other)| own.eq_ignore_ascii_case(other))
    }

    /// Its own name.
    pub(crate) fn name(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }

    /// The segments of its path.
    pub(crate) fn path(&self) -> Vec<String> {
        let head = ["subscriptions", &self.subscription, "resourceGroups", &self.group, "providers", &self.namespace];
        head.into_iter().map(str::to_owned).chain(self.words.iter().cloned()).collect()
    }

    /// The same text for all spellings.
    pub(crate) fn key(&self) -> String {
        self.to_string().to_ascii_lowercase()
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.path().join("/"))
    }
}

/// A namespace or type as the operator's rules spell it: they are compared with case.
fn spelled(word: &str) -> &str {
    SPELLED.iter().find(|it| it.eq_ignore_ascii_case(word)).copied().unwrap_or(word)
}

/// Whether two ids are those of one object.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The last name of an id.
pub(crate) fn last_of(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// Whether it can be a name: letters, digits, dots, dashes and underscores, at most 80, and nothing that leads up in a path.
pub(crate) fn is_name(text: &str) -> bool {
    let is_allowed = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    (1..=80).contains(&text.len()) && text.bytes().all(is_allowed) && text.bytes().any(|it| it != b'.')
}

/// Whether it can be the name of a resource group: names of groups may have brackets, and letters of all alphabets.
pub(crate) fn is_group(text: &str) -> bool {
    let is_allowed =
        |it: char| !it.is_ascii() || it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '(' | ')');
    let length = text.chars().count();
    (1..=90).contains(&length) && text.chars().all(is_allowed) && !text.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_in_any_case() {
        let id = "/SUBSCRIPTIONS/s/resourcegroups/Rg(1)/Providers/Microsoft.Network/loadbalancers/Kubernetes";
        let read = ResourceId::parse(id).unwrap();
        assert_eq!((&*read.group, read.name()), ("Rg(1)", "Kubernetes"));
        assert_eq!(
            read.to_string(),
            "/subscriptions/s/resourceGroups/Rg(1)/providers/Microsoft.Network/loadBalancers/Kubernetes"
        );
        assert!(read.has_types(&["loadBalancers"]) && !read.has_types(&["loadBalancers", "probes"]));
        let expected =
            "/subscriptions/s/resourcegroups/rg(1)/providers/microsoft.network/loadbalancers/kubernetes/probes/p";
        assert_eq!(read.child(&["probes", "P"]).key(), expected);
    }

    #[test]
    fn ids_that_lead_elsewhere_are_none() {
        for id in [
            "",
            "/subscriptions/s/resourceGroups/g/providers/n",
            "/subscriptions/s/resourceGroups/g/providers/n/t",
            "/subscriptions/s/resourceGroups/../providers/n/t/x",
            "/subscriptions/s/resourceGroups/g/providers/n/t/..",
            "/subscriptions/s/resourceGroups/g/providers/n/t/x?y",
            "subscriptions/s/resourceGroups/g/providers/n/t/x",
        ] {
            assert!(ResourceId::parse(id).is_none(), "{id}");
        }
    }
}
