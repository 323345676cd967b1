//! Differences in endpoints and in the requests at them.

use cloud_provider::{Description, Endpoint, OperationPlace, printable};

use super::list::ChangeList;
use crate::manager::claims::config::Config;
use crate::manager::claims::missing::{has_header, is_operation, operation_yaml};
use crate::manager::claims::requests::{RequestKind, asked};

/// The longest request in a line.
const SHOWN: usize = 320;

pub(super) fn endpoints(old: &Description, new: &Description, config: Option<&Config<'_>>, found: &mut ChangeList) {
    for it in old.endpoints.iter().filter(|it| !new.endpoints.iter().any(|other| other.name == it.name)) {
        found.add("endpoint", false, format!("- {}", it.name));
    }
    let nothing = Endpoint::default();
    for after in &new.endpoints {
        let configured = config.and_then(|config| config.endpoints.iter().find(|it| it.name == after.name)).copied();
        let before = old.endpoints.iter().find(|it| it.name == after.name);
        if before.is_none() {
            found.add("endpoint", configured.is_none(), format!("+ {} ({})", after.name, after.example_base_url));
        }
        let before = before.unwrap_or(&nothing);
        shape(before, after, configured, found);
        requests(before, after, configured, found);
    }
}

/// Differences in the parts that all requests of an endpoint have in common.
fn shape(before: &Endpoint, after: &Endpoint, configured: Option<&egress::Endpoint>, found: &mut ChangeList) {
    let at = |text: &str| format!("endpoint {}: {text}", after.name);
    if before.operation != after.operation && before.name == after.name {
        let shown = |it: &Option<OperationPlace>| it.as_ref().map_or("none".to_owned(), operation_yaml);
        let is_configured = match (configured, &after.operation) {
            (Some(endpoint), Some(place)) => is_operation(endpoint, place),
            (Some(endpoint), None) => endpoint.operation.is_none(),
            (None, _) => false,
        };
        let text = format!("its operation was {}, and is {}", shown(&before.operation), shown(&after.operation));
        found.add("request", !is_configured, at(&text));
    }
    for (name, value) in after.parameters.iter().filter(|it| !before.parameters.contains(it)) {
        let is_configured =
            configured.is_some_and(|it| it.parameters.iter().any(|it| *it == (name.clone(), value.clone())));
        found.add("request", !is_configured, at(&format!("+ parameter {name}={value}")));
    }
    for header in after.headers.iter().filter(|it| !has_header(&before.headers, it)) {
        let is_configured = configured.is_some_and(|it| has_header(&it.headers, header));
        found.add("request", !is_configured, at(&format!("+ header {header}")));
    }
}

fn requests(before: &Endpoint, after: &Endpoint, configured: Option<&egress::Endpoint>, found: &mut ChangeList) {
    let (old, new) = (asked(before), asked(after));
    let name = &after.name;
    let is_same = |one: &RequestKind, other: &RequestKind| {
        (&one.method, &one.path, &one.operation) == (&other.method, &other.path, &other.operation)
    };
    for kind in old.difference(&new).filter(|kind| !new.iter().any(|it| is_same(it, kind))) {
        found.add("request", false, line("-", name, kind));
    }
    for kind in new.difference(&old) {
        let is_known = old.iter().any(|it| it.covers(kind));
        let matters = !is_known && !configured.is_some_and(|it| kind.is_allowed_by(it));
        match old.difference(&new).find(|it| is_same(it, kind)) {
            Some(former) => changed(name, former, kind, matters, found),
            None => found.add("request", matters, line("+", name, kind)),
        }
    }
}

/// The same requests, with another effect or with other content.
fn changed(endpoint: &str, old: &RequestKind, new: &RequestKind, matters: bool, found: &mut ChangeList) {
    let request = printable(&new.to_string(), SHOWN);
    if let (Some(before), Some(after)) = (old.most(), new.most())
        && before != after
    {
        let text = format!("endpoint {endpoint}: {request}: {before} becomes {after}");
        found.add("effect", matters && after > before, text);
    }
    if old.content != new.content {
        let text = format!("endpoint {endpoint}: {request}: it carried {}, and carries {}", carried(old), carried(new));
        let covers = RequestKind { content: old.content.clone(), ..new.clone() }.covers(new);
        found.add("request", matters && !covers, text);
    }
}

fn line(sign: &str, endpoint: &str, kind: &RequestKind) -> String {
    let effect = kind.most().map_or_else(String::new, |it| format!(", {it}"));
    let content = kind.carried();
    let content = if content.is_empty() { content } else { format!(", {content}") };
    printable(&format!("{sign} endpoint {endpoint}: {kind}{effect}{content}"), SHOWN)
}

fn carried(kind: &RequestKind) -> String {
    match kind.carried() {
        it if it.is_empty() => "anything".to_owned(),
        it => printable(&it, SHOWN),
    }
}
