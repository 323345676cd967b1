//! Modules of a crate, and the paths that each one names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tokens::{Words, tokens, without_tests};

/// Modules by their path from the crate's root.
pub(crate) type Modules = BTreeMap<Words, Module>;

/// A file of a crate.
#[derive(Default)]
pub(crate) struct Module {
    /// Where it is.
    pub(crate) file: PathBuf,
    /// Full paths from the crate's root.
    pub(crate) imports: BTreeSet<Words>,
    /// Names that a `use` brings here.
    pub(crate) uses: BTreeMap<String, Use>,
}

/// A `use` of one name.
pub(crate) struct Use {
    /// The full path from the crate's root.
    pub(crate) path: Words,
    /// Whether other modules have the name from here.
    pub(crate) is_exported: bool,
}

/// The text of a file, if there is one.
type Text<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// All files below `folder` but tests.
pub(crate) fn read(folder: &Path, text: Text) -> Modules {
    let mut modules = Modules::new();
    let files = ["lib.rs", "main.rs"].map(|it| folder.join(it));
    if let Some((file, root)) = files.iter().find_map(|it| Some((it, text(it)?))) {
        read_module(folder, text, (file, &root), Vec::new(), &mut modules);
    }
    modules
}

fn read_module(folder: &Path, text: Text, (file, source): (&Path, &str), path: Words, modules: &mut Modules) {
    let tokens = without_tests(tokens(source));
    let mut module = Module { file: file.to_owned(), ..Module::default() };
    let mut children = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "mod" if tokens.get(at + 2).is_some_and(|it| it == ";") => {
                children.push(tokens[at + 1].clone());
                at += 3;
            }
            "use" => {
                let is_exported = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                let end = tokens[at..].iter().position(|it| it == ";").map_or(tokens.len(), |it| at + it);
                for (target, name) in tree(&tokens[at + 1..end]) {
                    let Some(target) = absolute(&path, &target, &children) else { continue };
                    module.uses.insert(name, Use { path: target.clone(), is_exported });
                    module.imports.insert(target);
                }
                at = end;
            }
            _ => {
                let length = path_length(&tokens[at..]);
                if length > 1 {
                    let words: Words = tokens[at..at + length * 2 - 1].iter().step_by(2).cloned().collect();
                    module.imports.extend(absolute(&path, &words, &children));
                }
                at += (length * 2).saturating_sub(1).max(1);
            }
        }
    }
    for child in &children {
        let words: Words = path.iter().chain([child]).cloned().collect();
        let below: PathBuf = folder.join(words.iter().collect::<PathBuf>());
        let files = [below.with_extension("rs"), below.join("mod.rs")];
        if let Some((file, source)) = files.iter().find_map(|it| Some((it, text(it)?))) {
            read_module(folder, text, (file, &source), words, modules);
        }
    }
    modules.insert(path, module);
}

/// How many words a path has that begins here.
fn path_length(tokens: &[String]) -> usize {
    let is_word = |it: Option<&String>| it.is_some_and(|it| it.starts_with(|it: char| it.is_alphabetic() || it == '_'));
    let mut length = 0;
    while is_word(tokens.get(length * 2)) {
        length += 1;
        if tokens.get(length * 2 - 1).is_none_or(|it| it != "::") {
            break;
        }
    }
    length
}

/// The paths of a `use`, each with the name that it brings.
fn tree(tokens: &[String]) -> Vec<(Words, String)> {
    fn walk(tokens: &[String], at: &mut usize, prefix: &Words, found: &mut Vec<(Words, String)>) {
        let mut path = prefix.clone();
        while let Some(token) = tokens.get(*at) {
            *at += 1;
            match token.as_str() {
                "::" => {}
                "{" => {
                    while tokens.get(*at).is_some_and(|it| it != "}") {
                        walk(tokens, at, &path, found);
                        if tokens.get(*at).is_some_and(|it| it == ",") {
                            *at += 1;
                        }
                    }
                    *at += 1;
                    return;
                }
                "as" => {
                    let name = tokens.get(*at).cloned().unwrap_or_default();
                    *at += 1;
                    found.push((path, name));
                    return;
                }
                "," | "}" => {
                    *at -= 1;
                    break;
                }
                "self" if !path.is_empty() => {}
                word => path.push(word.to_owned()),
            }
        }
        let name = path.last().cloned().unwrap_or_default();
        found.push((path, name));
    }
    let mut found = Vec::new();
    walk(tokens, &mut 0, &Vec::new(), &mut found);
    found
}

/// The path from the crate's root; `None` if it leads out of the crate.
fn absolute(here: &Words, path: &Words, children: &[String]) -> Option<Words> {
    let mut base = here.clone();
    let mut rest = path.iter().peekable();
    match rest.peek()?.as_str() {
        "crate" => {
            rest.next();
            base.clear();
        }
        "self" => drop(rest.next()),
        "super" => {
            while rest.next_if(|it| *it == "super").is_some() {
                base.pop();
            }
        }
        first if children.iter().any(|it| it == first) => {}
        _ => return None,
    }
    base.extend(rest.cloned());
    Some(base)
}
