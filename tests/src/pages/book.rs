//! The book, as mdBook reads it: its own parsers of `book.toml` and of the table of contents, in the version of `make docs`.
//!
//! `make docs` alone makes HTML of it.

use std::path::Path;
use std::process::Command;

use mdbook_core::config::Config;
use mdbook_summary::{Link, SummaryItem, parse_summary};

use super::root;
use crate::folder::Folder;

/// All chapters, at whatever depth.
fn links(items: Vec<SummaryItem>) -> Vec<Link> {
    let links = items.into_iter().filter_map(|it| if let SummaryItem::Link(link) = it { Some(link) } else { None });
    links.flat_map(|link| [link.clone()].into_iter().chain(links_of(&link))).collect()
}

fn links_of(link: &Link) -> Vec<Link> {
    links(link.nested_items.clone())
}

#[test]
fn mdbook_reads_the_book_and_finds_each_chapter() {
    let folder = Folder::new();
    let book = folder.path("book");
    let made = Command::new(root().join("docs/build.sh")).arg("--pages").arg(&book).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let config = Config::from_disk(book.join("book.toml")).unwrap();
    let source = book.join(&config.book.src);
    assert!(!config.build.create_missing, "a page that is missing is an error");
    let summary = parse_summary(&std::fs::read_to_string(source.join("SUMMARY.md")).unwrap()).unwrap();
    let parts = [summary.prefix_chapters, summary.numbered_chapters, summary.suffix_chapters];
    let chapters: Vec<_> = parts.into_iter().flat_map(links).collect();
    assert!(chapters.len() > 25, "{chapters:#?}");
    let is_there = |it: &Link| it.location.as_deref().is_some_and(|it: &Path| source.join(it).is_file());
    let missing: Vec<_> = chapters.iter().filter(|it| !is_there(it)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_book_is_read_by_the_version_that_makes_it() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (makefile, cargo) = (read("Makefile"), read("Cargo.toml"));
    let line = makefile.lines().find_map(|it| it.strip_prefix("MDBOOK_VERSION := ")).unwrap();
    for name in ["mdbook-core", "mdbook-summary"] {
        assert!(cargo.contains(&format!("{name} = \"={line}\"")), "{name} {line}");
    }
}
