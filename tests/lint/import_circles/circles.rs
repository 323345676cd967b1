//! Imports between modules, and the circles that they make.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::Modules;
use crate::tokens::Words;

/// Imports of each module by the module that they count for, each in words.
type Edges = BTreeMap<Words, BTreeMap<Words, BTreeSet<String>>>;

/// A chain of re-exports that is longer leads nowhere.
const DEPTH: usize = 8;

/// Each circle: a line that says what it is, and a line for each import in it.
pub(crate) fn report(modules: &Modules) -> Vec<String> {
    let mut lines = Vec::new();
    for (what, edges) in [
        ("files import each other by what they define", by_definition(modules)),
        ("modules name each other", by_name(modules)),
    ] {
        for circle in circles(&edges) {
            lines.push(format!("{} {what}, in a circle:", circle.len()));
            for (from, to) in circle.iter().flat_map(|from| edges[from].iter().map(move |it| (from, it))) {
                if circle.contains(to.0) {
                    let imports: Vec<_> = to.1.iter().map(String::as_str).collect();
                    lines.push(format!("  {} -> {}: {}", name(from), name(to.0), imports.join(", ")));
                }
            }
        }
    }
    lines
}

fn name(module: &Words) -> String {
    if module.is_empty() { "the crate's root".to_owned() } else { module.join("::") }
}

/// Imports by the file that defines the name.
fn by_definition(modules: &Modules) -> Edges {
    let mut edges = without_imports(modules);
    for (from, module) in modules {
        for import in &module.imports {
            let (to, name) = origin(modules, import, 0);
            if to != *from {
                edges.entry(from.clone()).or_default().entry(to).or_default().insert(name);
            }
        }
    }
    edges
}

/// Imports by the module that the path names, as edges between the two modules of one folder that hold both ends.
fn by_name(modules: &Modules) -> Edges {
    let mut edges = without_imports(modules);
    for (from, module) in modules {
        for import in &module.imports {
            let to = named(modules, from, import, 0);
            let common = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
            if common < from.len().min(to.len()) {
                let (holds_from, holds_to) = (from[..=common].to_vec(), to[..=common].to_vec());
                let text = format!("{} in {}", import.join("::"), module.file.display());
                edges.entry(holds_from).or_default().entry(holds_to).or_default().insert(text);
            }
        }
    }
    edges
}

fn without_imports(modules: &Modules) -> Edges {
    modules.keys().map(|it| (it.clone(), BTreeMap::new())).collect()
}

/// The file that defines what a path names, and its name there.
fn origin(modules: &Modules, path: &[String], depth: usize) -> (Words, String) {
    let (module, rest) = split(modules, path);
    match rest.first() {
        None => (module.to_vec(), "self".to_owned()),
        Some(name) => match modules[module].uses.get(name) {
            Some(found) if found.is_exported && depth < DEPTH => {
                origin(modules, &[&found.path, &rest[1..]].concat(), depth + 1)
            }
            _ => (module.to_vec(), name.clone()),
        },
    }
}

/// The module that a path in `from` names; where that one is around `from` and has the name from a `use`, the one that the `use` names.
fn named(modules: &Modules, from: &[String], path: &[String], depth: usize) -> Words {
    let (module, rest) = split(modules, path);
    let found = rest.first().and_then(|it| modules[module].uses.get(it));
    match found {
        Some(found) if from.starts_with(module) && depth < DEPTH => {
            named(modules, from, &[&found.path, &rest[1..]].concat(), depth + 1)
        }
        _ => module.to_vec(),
    }
}

/// The part of a path that is a module, and the rest.
fn split<'path>(modules: &Modules, path: &'path [String]) -> (&'path [String], &'path [String]) {
    let length = (0..=path.len()).rev().find(|it| modules.contains_key(&path[..*it])).unwrap_or(0);
    path.split_at(length)
}

/// Modules that can be reached from each other: the sets with more than one module.
fn circles(edges: &Edges) -> Vec<BTreeSet<Words>> {
    let reached = |from: &Words| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(it) = next.pop() {
            for to in edges[&it].keys() {
                if seen.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<_, _> = edges.keys().map(|it| (it.clone(), reached(it))).collect();
    let circle = |it: &Words| -> BTreeSet<Words> {
        reached[it].iter().filter(|other| reached[*other].contains(it)).cloned().collect()
    };
    let circles: BTreeSet<_> = edges.keys().map(circle).filter(|it| it.len() > 1).collect();
    circles.into_iter().collect()
}
