//! Lists files of one crate that import each other in a circle: `rustc` compiles it alone, `make lint` runs it.
//!
//! An import is a path to another file of the crate, in a `use` or in the code. A name that a module re-exports counts
//! as an import of the file that defines it. Tests do not count.
//!
//! Usage: import_circles FOLDER...   FOLDER is the `src` of a crate. With circles it ends with 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

type Words = Vec<String>;

/// A file of a crate.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// Full paths from the crate's root.
    imports: BTreeSet<Words>,
    /// Names that are re-exported here, and where they come from.
    exports: BTreeMap<String, Words>,
}

fn main() -> ExitCode {
    let mut fails = false;
    for folder in std::env::args().skip(1).map(PathBuf::from) {
        let modules = read(&folder);
        let edges = edges(&modules);
        for circle in circles(&edges) {
            fails = true;
            println!("{} files of {} import each other in a circle:", circle.len(), folder.display());
            for (from, to) in circle.iter().flat_map(|from| edges[from].iter().map(move |it| (from, it))) {
                if let (true, names) = (circle.contains(to.0), to.1) {
                    let names: Vec<_> = names.iter().map(String::as_str).collect();
                    println!("  {} -> {}: {}", file(&modules, from), file(&modules, to.0), names.join(", "));
                }
            }
        }
    }
    if fails {
        println!("Move what both sides need into a file of its own, or pass it in.");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn file(modules: &BTreeMap<Words, Module>, module: &Words) -> String {
    modules[module].file.display().to_string()
}

/// All files below `folder` but tests, by their path from the crate's root.
fn read(folder: &Path) -> BTreeMap<Words, Module> {
    let mut modules = BTreeMap::new();
    let root = if folder.join("lib.rs").exists() { "lib.rs" } else { "main.rs" };
    read_module(folder, &folder.join(root), Vec::new(), &mut modules);
    modules
}

fn read_module(folder: &Path, file: &Path, path: Words, modules: &mut BTreeMap<Words, Module>) {
    let Ok(text) = fs::read_to_string(file) else { return };
    let tokens = without_tests(tokens(&text));
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
                    if is_exported {
                        module.exports.insert(name, target.clone());
                    }
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
        if let Some(file) = files.iter().find(|it| it.exists()) {
            read_module(folder, file, words, modules);
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

/// Which file imports which other one, and what of it.
fn edges(modules: &BTreeMap<Words, Module>) -> BTreeMap<Words, BTreeMap<Words, BTreeSet<String>>> {
    let edge = |from: &Words, module: &Module| {
        let mut to = BTreeMap::<Words, BTreeSet<String>>::new();
        for import in &module.imports {
            let (found, name) = origin(modules, import, 0);
            if found != *from {
                to.entry(found).or_default().insert(name);
            }
        }
        (from.clone(), to)
    };
    modules.iter().map(|(from, module)| edge(from, module)).collect()
}

/// The file that defines what a path names, and its name there.
fn origin(modules: &BTreeMap<Words, Module>, path: &Words, depth: usize) -> (Words, String) {
    let length = (0..=path.len()).rev().find(|it| modules.contains_key(&path[..*it])).unwrap_or(0);
    let (module, rest) = (path[..length].to_vec(), &path[length..]);
    match rest.first() {
        None => (module, "self".to_owned()),
        Some(name) => match modules[&module].exports.get(name) {
            Some(target) if depth < 8 => {
                let target: Words = target.iter().chain(&rest[1..]).cloned().collect();
                origin(modules, &target, depth + 1)
            }
            _ => (module, name.clone()),
        },
    }
}

/// Files that can be reached from each other: the sets with more than one file.
fn circles<T>(edges: &BTreeMap<Words, BTreeMap<Words, T>>) -> Vec<BTreeSet<Words>> {
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

/// Words, `::` and single signs; without comments, texts and characters.
fn tokens(text: &str) -> Words {
    let letters: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    let is = |at: usize, sign: char| letters.get(at) == Some(&sign);
    while at < letters.len() {
        let letter = letters[at];
        if letter == '/' && is(at + 1, '/') {
            while at < letters.len() && !is(at, '\n') {
                at += 1;
            }
        } else if let Some(end) = text_end(&letters, at) {
            at = end;
        } else if letter == ':' && is(at + 1, ':') {
            tokens.push("::".to_owned());
            at += 2;
        } else if letter.is_alphanumeric() || letter == '_' {
            let end = letters[at..].iter().position(|it| !it.is_alphanumeric() && *it != '_');
            let end = end.map_or(letters.len(), |it| at + it);
            tokens.push(letters[at..end].iter().collect());
            at = end;
        } else {
            if !letter.is_whitespace() {
                tokens.push(letter.to_string());
            }
            at += 1;
        }
    }
    tokens
}

/// Where a text or a character ends that begins here.
fn text_end(letters: &[char], at: usize) -> Option<usize> {
    let is = |at: usize, sign: char| letters.get(at) == Some(&sign);
    let before = at.checked_sub(1).map(|it| letters[it]);
    let begins_word = before.is_none_or(|it| !it.is_alphanumeric() && it != '_');
    if letters[at] == 'r' && begins_word && (is(at + 1, '"') || is(at + 1, '#')) {
        let hashes = letters[at + 1..].iter().take_while(|it| **it == '#').count();
        let open = at + 1 + hashes;
        if is(open, '"') {
            let closes = |it: &usize| is(*it, '"') && (1..=hashes).all(|n| is(it + n, '#'));
            return Some((open + 1..letters.len()).find(closes).map_or(letters.len(), |it| it + 1 + hashes));
        }
        return None;
    }
    let close = letters[at];
    // A quote that no other one follows within a character is a lifetime.
    let is_character = close == '\'' && (is(at + 2, '\'') || is(at + 1, '\\'));
    if close != '"' && !is_character {
        return None;
    }
    let mut end = at + 1;
    while end < letters.len() && letters[end] != close {
        end += if letters[end] == '\\' { 2 } else { 1 };
    }
    Some(end + 1)
}

/// Leaves out each item behind `#[cfg(test)]`.
fn without_tests(tokens: Words) -> Words {
    let marker = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if !tokens[at..].iter().take(marker.len()).eq(marker.iter()) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += marker.len();
        let mut depth = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(token.as_str(), ";" | "}") {
                break;
            }
        }
    }
    kept
}
