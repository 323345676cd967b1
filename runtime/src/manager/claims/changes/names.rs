//! Differences in what has a name: provider ids, annotations, labels, settings, and where load balancers are reached.

use cloud_provider::{Annotation, ConfigMapKey, Description, Setting, printable};

use super::list::ChangeList;
use crate::manager::claims::config::Config;
use crate::manager::claims::prefixes::is_pinned;

/// The longest part of a description in a line.
const SHOWN: usize = 320;

pub(super) fn named(old: &Description, new: &Description, config: Option<&Config<'_>>, found: &mut ChangeList) {
    prefixes(old, new, config, found);
    annotations(&old.annotations, &new.annotations, found);
    let allowed = config.map(|it| it.writes_annotations);
    allowable(&old.writes_annotations, &new.writes_annotations, allowed, &mut |is_odd, sign, it| {
        found.add("annotation", is_odd, format!("{sign} writes {it}"));
    });
    // A version that is told more needs a restart, whatever the config allows.
    let allowed = config.map(|it| it.finalizers);
    allowable(&old.finalizers, &new.finalizers, allowed, &mut |is_odd, sign, it| {
        found.add("finalizer", is_odd || sign == "+", format!("{sign} {it}"));
    });
    let values = |it: &Description| it.config_maps.iter().map(ToString::to_string).collect::<Vec<_>>();
    let names = |it: &&ConfigMapKey| config.is_some_and(|config| config.config_maps.contains(&it.config_map));
    let named: Vec<_> = old.config_maps.iter().filter(names).map(ToString::to_string).collect();
    allowable(&values(old), &values(new), Some(&named), &mut |is_odd, sign, it| {
        found.add("ConfigMap", is_odd, format!("{sign} {it}"));
    });
    let made = |it: &Description| it.cluster_ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let names = |it: &&ConfigMapKey| config.is_some_and(|config| config.creates_config_maps.contains(&it.config_map));
    let named: Vec<_> = old.cluster_ids.iter().filter(names).map(ToString::to_string).collect();
    allowable(&made(old), &made(new), Some(&named), &mut |is_odd, sign, it| {
        found.add("ConfigMap", is_odd, format!("{sign} makes {it}"));
    });
    labels(old, new, config, found);
    settings(old, new, config, found);
    for (before, after, what) in [
        (old.ingress.vip, new.ingress.vip, "answers ipMode VIP"),
        (old.ingress.shared, new.ingress.shared, "shares addresses among Services"),
    ] {
        if before != after {
            found.add("ingress", after, format!("{} {what}", if after { "+" } else { "-" }));
        }
    }
}

fn prefixes(old: &Description, new: &Description, config: Option<&Config<'_>>, found: &mut ChangeList) {
    let shown = |it: &String| if it.is_empty() { "(without ://)".to_owned() } else { printable(it, SHOWN) };
    let (before, after) = (&old.provider_id_prefixes, &new.provider_id_prefixes);
    for it in before.iter().filter(|it| !after.contains(it)) {
        found.add("provider id", true, format!("- {}", shown(it)));
    }
    for it in after.iter().filter(|it| !before.contains(it)) {
        let is_known = before.iter().any(|known| is_pinned(it, known));
        let is_allowed = config.is_some_and(|config| config.prefixes.iter().any(|pin| is_pinned(it, pin)));
        found.add("provider id", !is_known && !is_allowed, format!("+ {}", shown(it)));
    }
}

fn annotations(old: &[Annotation], new: &[Annotation], found: &mut ChangeList) {
    for it in old.iter().filter(|it| !new.iter().any(|other| other.key == it.key)) {
        let is_covered = new.iter().any(|other| other.matches(&it.key));
        found.add("annotation", !is_covered, format!("- {}", printable(&it.key, SHOWN)));
    }
    for it in new {
        let key = printable(&it.key, SHOWN);
        let Some(before) = old.iter().find(|other| other.key == it.key) else {
            let is_covered = old.iter().any(|other| other.matches(&it.key));
            found.add("annotation", !is_covered, format!("+ {key}"));
            continue;
        };
        if before.values != it.values {
            let (before, after) = (printable(&before.values, SHOWN), printable(&it.values, SHOWN));
            found.add("annotation", true, format!("{key}: its values were {before:?}, and are {after:?}"));
        }
        if before.default != it.default {
            let text = defaults(&before.default, &it.default);
            found.add("annotation", true, format!("{key}: {text}"));
        }
        if before.selects_nodes != it.selects_nodes {
            found.add("annotation", true, format!("{key}: it {}", selection(it.selects_nodes)));
        }
    }
}

fn selection(selects_nodes: bool) -> &'static str {
    if selects_nodes { "selects nodes now" } else { "selects no nodes any more" }
}

fn defaults(before: &Option<String>, after: &Option<String>) -> String {
    let shown = |it: &Option<String>| it.as_ref().map_or("none".to_owned(), |it| format!("{:?}", printable(it, SHOWN)));
    format!("its default was {}, and is {}", shown(before), shown(after))
}

/// Differences in what a module describes and the config may allow: `add` is told whether a person should look, the sign, and
/// the word.
fn allowable(before: &[String], after: &[String], allowed: Option<&[String]>, add: &mut dyn FnMut(bool, &str, String)) {
    let is_allowed = |it: &String| allowed.is_some_and(|allowed| allowed.contains(it));
    for it in before.iter().filter(|it| !after.contains(it)) {
        // The config refuses to allow what a module does not describe.
        add(is_allowed(it), "-", printable(it, SHOWN));
    }
    for it in after.iter().filter(|it| !before.contains(it)) {
        add(!is_allowed(it), "+", printable(it, SHOWN));
    }
}

fn labels(old: &Description, new: &Description, config: Option<&Config<'_>>, found: &mut ChangeList) {
    let (before, after) = (&old.node_labels, &new.node_labels);
    for it in before.iter().filter(|it| !after.contains(it)) {
        found.add("node label", false, format!("- {}", printable(it, SHOWN)));
    }
    for it in after.iter().filter(|it| !before.contains(it)) {
        let is_allowed = config.is_some_and(|config| config.node_labels.contains(it));
        found.add("node label", !is_allowed, format!("+ {}", printable(it, SHOWN)));
    }
}

fn settings(old: &Description, new: &Description, config: Option<&Config<'_>>, found: &mut ChangeList) {
    let is_given = |it: &Setting| config.map(|config| config.settings.iter().any(|(name, _)| it.matches(name)));
    for it in old.settings.iter().filter(|it| !new.settings.iter().any(|other| other.name == it.name)) {
        found.add("setting", is_given(it) != Some(false), format!("- {}", printable(&it.name, SHOWN)));
    }
    for it in &new.settings {
        let name = printable(&it.name, SHOWN);
        let Some(before) = old.settings.iter().find(|other| other.name == it.name) else {
            let required = if it.required { " (required)" } else { "" };
            found.add("setting", it.required && is_given(it) != Some(true), format!("+ {name}{required}"));
            continue;
        };
        if it.required && !before.required {
            found.add("setting", is_given(it) != Some(true), format!("{name}: it is required now"));
        }
        if before.default != it.default {
            let text = defaults(&before.default, &it.default);
            found.add("setting", is_given(it) != Some(true), format!("{name}: {text}"));
        }
        if before.selects_nodes != it.selects_nodes {
            found.add("setting", is_given(it) != Some(false), format!("{name}: it {}", selection(it.selects_nodes)));
        }
    }
}
