//! The project's pages: where links lead, what blocks of code hold, which chapters the book has, and that events, codes and metrics are
//! described.

mod book;
mod described;
mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use self::markdown::{Page, slug};

/// The project's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All files below a folder of the project whose names end so, by their path from the root; without what builds leave behind.
fn files(folder: &str, end: &str) -> Vec<String> {
    let (root, mut found, mut folders) = (root(), Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            match entry.file_type().unwrap() {
                it if it.is_dir() && !name.starts_with('.') && name != "target" => folders.push(path),
                it if it.is_file() && name.ends_with(end) => found.push(path.to_str().unwrap().to_owned()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// All pages, by their path from the root.
fn pages() -> BTreeMap<String, Page> {
    let read = |path: String| {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        (path, Page::parse(&text))
    };
    files("", ".md").into_iter().map(read).collect()
}

/// The path from the root of what a link on a page names.
fn target(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The pages that are chapters of the book.
fn chapters(pages: &BTreeMap<String, Page>) -> BTreeSet<String> {
    pages["docs/SUMMARY.md"].links.iter().map(|it| target("docs/SUMMARY.md", it)).collect()
}

/// The sentence about a link that is dead.
fn fault(pages: &BTreeMap<String, Page>, chapters: &BTreeSet<String>, page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = if path.is_empty() { page.to_owned() } else { target(page, path) };
    if !root().join(&path).exists() {
        return Some(format!("{page}: {link} leads to {path}, which is not there"));
    }
    if chapters.contains(page) && path.ends_with(".md") && !chapters.contains(&path) {
        return Some(format!("{page}: {link} is dead in the book, because docs/SUMMARY.md has no chapter {path}"));
    }
    let heads = &pages.get(&path)?.heads;
    let is_there = anchor.is_empty() || heads.iter().any(|it| slug(it) == anchor);
    (!is_there).then(|| format!("{page}: {link} leads to a head that {path} does not have"))
}

#[test]
fn links_lead_to_files_heads_and_chapters() {
    let pages = pages();
    let chapters = chapters(&pages);
    let links = pages.iter().flat_map(|(page, it)| it.links.iter().map(move |link| (page, link)));
    let faults: Vec<_> = links.filter_map(|(page, link)| fault(&pages, &chapters, page, link)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_dead_link_is_found() {
    let page = "# A head\n\n[a](b.md) [b](#a-head) [c](#none) [d](x.md) [e](https://example.com)";
    let pages =
        BTreeMap::from([("README.md".to_owned(), Page::parse(page)), ("CONTRIBUTING.md".to_owned(), Page::parse(""))]);
    let chapters = BTreeSet::from(["README.md".to_owned()]);
    let find = |link: &str| fault(&pages, &chapters, "README.md", link).is_some();
    assert_eq!(["b.md", "#a-head", "#none", "https://example.com"].map(find), [true, false, true, false]);
    assert!(find("CONTRIBUTING.md") && find("docs/../none.md") && !find("./README.md#a-head"));
}

#[test]
fn every_page_of_docs_is_a_chapter() {
    let chapters = chapters(&pages());
    let missing: Vec<_> =
        files("docs", ".md").into_iter().filter(|it| it != "docs/SUMMARY.md" && !chapters.contains(it)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not name {missing:?}");
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 100, "README.md has {lines} lines: at most 100; move something into docs/");
}

/// As the README says in its table.
#[test]
fn each_cloud_has_a_way_from_its_vendors_manager_and_back() {
    let read = |page: &str| fs::read_to_string(root().join(page)).unwrap();
    let (readme, ways) = (read("README.md"), read("docs/migrate.md"));
    let rows = readme.lines().filter_map(|it| it.strip_prefix("| [")?.split_once(']'));
    let named: Vec<&str> = rows.filter(|(_, rest)| rest.ends_with("| yes |")).map(|(cloud, _)| cloud).collect();
    let missing: Vec<_> = named.iter().filter(|it| !ways.contains(&format!("\n| {it} |"))).collect();
    assert!(named.len() >= 8 && missing.is_empty(), "docs/migrate.md has no row for {missing:?} of {named:?}");
}

#[test]
fn blocks_of_yaml_and_json_are_read_and_commands_are_shell() {
    let schema = fs::read_to_string(root().join("docs/cloud-config.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let (mut faults, mut checked) = (Vec::new(), 0);
    for (page, Page { blocks, .. }) in pages() {
        for (language, text) in blocks {
            // Behind it stands what a test plays.
            let fault = match language.split(' ').next().unwrap_or_default() {
                "yaml" => yaml(&schema, &text).err(),
                "json" => serde_json::from_str::<Value>(&text).err().map(|it| it.to_string()),
                "sh" | "console" => shell(&text).err(),
                _ => continue,
            };
            checked += 1;
            faults.extend(fault.map(|it| format!("{page}: {it}:\n{text}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 100, "{checked} blocks");
}

/// A block of YAML is read, and one that is a whole config has no unknown keys.
fn yaml(config: &jsonschema::Validator, text: &str) -> Result<(), String> {
    let value: Value = serde_saphyr::from_str(text).map_err(|it| it.to_string())?;
    if value["kind"] == "CloudConfig" {
        config.validate(&value).map_err(|it| format!("{}: {it}", it.instance_path()))?;
    }
    Ok(())
}

/// A shell can parse the commands; where some begin with `$ `, the other lines are their output.
fn shell(text: &str) -> Result<(), String> {
    let typed: Vec<_> = text.lines().filter_map(|it| it.strip_prefix("$ ")).collect();
    let script = if typed.is_empty() { text.to_owned() } else { typed.join("\n") };
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = bash.wait_with_output().unwrap();
    output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn faults_of_blocks_are_found() {
    let schema = serde_json::json!({ "additionalProperties": false, "properties": { "kind": {} } });
    let schema = jsonschema::validator_for(&schema).unwrap();
    assert!(yaml(&schema, "kind: CloudConfig").is_ok() && yaml(&schema, "{ kind: CloudConfig, a: 1 }").is_err());
    assert!(yaml(&schema, "a: [").is_err());
    assert!(shell("if true; then").is_err() && shell("$ ls\nif true; then\n").is_ok());
}
