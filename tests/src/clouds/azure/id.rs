//! Ids of resources, and paths of requests. They compare without letter case.

use super::kind::{Kind, Service};

/// The words of paths beside those of kinds and their parts.
const WORDS: [&str; 12] = [
    "subscriptions",
    "resourceGroups",
    "providers",
    "Microsoft.Network",
    "Microsoft.Compute",
    "locations",
    "operations",
    "operationResults",
    "instanceView",
    "start",
    "deallocate",
    "powerOff",
];

/// The subject of a request.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum ArmSubject {
    Subscription,
    Provider(Service),
    /// An operation by its id, or its result.
    Operation {
        operation: String,
        is_result: bool,
    },
    Groups,
    Group,
    /// A list of a kind: of the subscription, a group, or a scale set or one of its machines.
    Many {
        kind: Kind,
        within: String,
    },
    One {
        kind: Kind,
        id: String,
    },
    /// A list of parts of a resource.
    Parts {
        kind: Kind,
        id: String,
        part: &'static str,
    },
    Part {
        kind: Kind,
        id: String,
        part: &'static str,
        name: String,
    },
    /// Something about a resource, or something to do with it.
    Verb {
        kind: Kind,
        id: String,
        verb: String,
    },
}

/// A path, understood.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct ArmPath {
    pub(super) subscription: String,
    pub(super) group: Option<String>,
    pub(super) subject: ArmSubject,
}

/// An id as it compares.
pub(super) fn key(id: &str) -> String {
    id.trim_end_matches('/').to_lowercase()
}

/// The last segment of an id.
pub(super) fn name_of(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// The id without its last word and name.
pub(super) fn parent_of(id: &str) -> &str {
    id.rsplitn(3, '/').nth(2).unwrap_or_default()
}

/// A path whose words have their usual letter case. Names keep theirs.
pub(super) fn canonical(path: &str) -> String {
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    if segments.get(1).is_none_or(|it| !it.eq_ignore_ascii_case("subscriptions")) {
        return path.to_owned();
    }
    let mut is_word = true;
    for segment in segments.iter_mut().skip(1) {
        if is_word {
            if let Some(word) = word(segment) {
                word.clone_into(segment);
            }
            // After `providers` comes a namespace, which is followed by a word.
            is_word = segment == "providers" || segment.starts_with("Microsoft.");
        } else {
            is_word = true;
        }
    }
    segments.join("/")
}

fn word(segment: &str) -> Option<&'static str> {
    let kinds = Kind::ALL.into_iter().flat_map(|it| it.words().1.iter().chain(it.parts()));
    WORDS.iter().chain(kinds).copied().find(|it| it.eq_ignore_ascii_case(segment))
}

impl ArmPath {
    /// Understands a canonical path. Nothing, if it leads nowhere.
    pub(super) fn read(path: &str) -> Option<ArmPath> {
        let segments: Vec<&str> = path.trim_end_matches('/').split('/').skip(1).collect();
        let ["subscriptions", subscription, rest @ ..] = &segments[..] else { return None };
        let (group, rest) = match rest {
            ["resourceGroups", group, rest @ ..] => (Some((*group).to_owned()), rest),
            rest => (None, rest),
        };
        let subject = match (rest, &group) {
            ([], None) => ArmSubject::Subscription,
            (["resourceGroups"], None) => ArmSubject::Groups,
            ([], Some(_)) => ArmSubject::Group,
            (["providers", namespace, rest @ ..], _) => {
                let service =
                    [Service::Network, Service::Compute].into_iter().find(|it| it.namespace() == *namespace)?;
                match rest {
                    [] if group.is_none() => ArmSubject::Provider(service),
                    ["locations", _, kind @ ("operations" | "operationResults"), operation] if group.is_none() => {
                        let is_result = *kind == "operationResults";
                        ArmSubject::Operation { operation: (*operation).to_owned(), is_result }
                    }
                    rest => resource(path, namespace, rest)?,
                }
            }
            _ => return None,
        };
        Some(ArmPath { subscription: (*subscription).to_owned(), group, subject })
    }
}

fn resource(path: &str, namespace: &str, rest: &[&str]) -> Option<ArmSubject> {
    let words: Vec<&str> = rest.iter().step_by(2).copied().collect();
    let kind = Kind::with(namespace, &words);
    let (last, before) = words.split_last()?;
    let parent = Kind::with(namespace, before);
    let part = parent.and_then(|kind| kind.parts().iter().copied().find(|it| it == last));
    let without = |count: usize| path.trim_end_matches('/').rsplitn(count + 1, '/').nth(count).map(str::to_owned);
    if rest.len().is_multiple_of(2) {
        return match (kind, parent, part) {
            (Some(kind), ..) => Some(ArmSubject::One { kind, id: without(0)? }),
            (None, Some(kind), Some(part)) => {
                Some(ArmSubject::Part { kind, id: without(2)?, part, name: rest.last()?.to_string() })
            }
            _ => None,
        };
    }
    let id = without(1)?;
    match (kind, parent, part) {
        (Some(kind), ..) => Some(ArmSubject::Many { kind, within: id }),
        (None, Some(kind), Some(part)) => Some(ArmSubject::Parts { kind, id, part }),
        (None, Some(Kind::ScaleSet), None) if *last == "networkInterfaces" => {
            Some(ArmSubject::Many { kind: Kind::ScaleSetInterface, within: id })
        }
        (None, Some(kind), None) => Some(ArmSubject::Verb { kind, id, verb: (*last).to_owned() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_paths_have_no_letter_case_and_names_keep_theirs() {
        for (path, expected) in [
            (
                "/SUBSCRIPTIONS/S/resourcegroups/Providers/providers/microsoft.network/LOADBALANCERS/Subnets/PROBES/P",
                "/subscriptions/S/resourceGroups/Providers/providers/Microsoft.Network/loadBalancers/Subnets/probes/P",
            ),
            (
                "/subscriptions/s/providers/microsoft.compute/virtualmachines",
                "/subscriptions/s/providers/Microsoft.Compute/virtualMachines",
            ),
            ("/Tenant/OAuth2/v2.0/token", "/Tenant/OAuth2/v2.0/token"),
        ] {
            assert_eq!(canonical(path), expected);
        }
    }

    #[test]
    fn paths_lead_to_resources_parts_and_lists() {
        let r = "/subscriptions/s/resourceGroups/g/providers";
        let set = format!("{r}/Microsoft.Compute/virtualMachineScaleSets/v");
        for (path, subject) in [
            (
                format!("{r}/Microsoft.Network/loadBalancers/l"),
                Some(ArmSubject::One {
                    kind: Kind::LoadBalancer,
                    id: format!("{r}/Microsoft.Network/loadBalancers/l"),
                }),
            ),
            (
                format!("{r}/Microsoft.Network/virtualNetworks/v/subnets/s/"),
                Some(ArmSubject::Part {
                    kind: Kind::Network,
                    id: format!("{r}/Microsoft.Network/virtualNetworks/v"),
                    part: "subnets",
                    name: "s".to_owned(),
                }),
            ),
            (
                format!("{set}/networkInterfaces"),
                Some(ArmSubject::Many { kind: Kind::ScaleSetInterface, within: set.clone() }),
            ),
            (
                format!("{set}/virtualMachines/0/instanceView"),
                Some(ArmSubject::Verb {
                    kind: Kind::ScaleSetMachine,
                    id: format!("{set}/virtualMachines/0"),
                    verb: "instanceView".to_owned(),
                }),
            ),
            (
                "/subscriptions/s/providers/Microsoft.Network/locations/l/operations/o".to_owned(),
                Some(ArmSubject::Operation { operation: "o".to_owned(), is_result: false }),
            ),
            (format!("{r}/Microsoft.Storage/accounts/a"), None),
            ("/subscriptions".to_owned(), None),
        ] {
            assert_eq!(ArmPath::read(&path).map(|it| it.subject), subject, "{path}");
        }
    }
}
