//! `aerostat provider new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::command_output::Output;

pub(super) const HELP: &str = "Examples:
  aerostat provider new acme
  aerostat provider new acme --lang=go --output=json
  aerostat provider new acme --ids=name --url=https://api.acme.example/v2 --errors=errors.0.reason
  aerostat provider new acme --tags=50 --pages=pages:meta.pages --page-items=data --page-query=page,page_size --smallest-page=25

A folder is made that is a crate or a module of Go of its own, with aerostat's SDK in it. It builds, passes its tests and keeps every
promise of the contract at once, against a cloud in memory that comes with it; what is left is to make both speak as the vendor's cloud
does. In a terminal what no flag says is asked for.

A load balancer whose id the cloud gives is recognised by a tag: of 82 characters, or of 50 where tags end there. Where the provider
chooses the name of a load balancer and a PUT makes it (--ids=name), no tag is needed.

Exit code: 0, or 1 if nothing was made.";

/// `aerostat provider new`.
#[derive(Args, Clone, Debug)]
pub struct NewProviderFlags {
    /// The cloud's name, as in provider ids, labels and metrics: lower-case letters, digits and -
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The language: rust or go
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value = "rust", hide_possible_values = true)]
    pub lang: GuestLanguage,
    /// The folder that is made. Without it: NAME, here
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Where the cloud's API is. Without it: `https://api.NAME.example/v1`
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// The origin of a load balancer's id: cloud, where a POST creates it, or name, where a PUT does. Without it: cloud
    #[arg(long, value_name = "ORIGIN", value_enum, hide_possible_values = true)]
    pub ids: Option<IdOrigin>,
    /// How many characters a tag has at most. Without it: 255
    #[arg(long, value_name = "NUMBER")]
    pub tags: Option<u16>,
    /// How a page says whether it is the last: next:FIELD, pages:FIELD, items:FIELD (the numbers of the next page, of pages, of
    /// items), or not-full. Without it: next:next_page
    #[arg(long, value_name = "FORM")]
    pub pages: Option<String>,
    /// The field of a page that holds its items. Without it: items
    #[arg(long, value_name = "FIELD")]
    pub page_items: Option<String>,
    /// The query's names for the number of a page and for its size
    #[arg(long, value_name = "NAMES", default_value = "page,per_page")]
    pub page_query: String,
    /// The fewest items that a page can be asked for
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub smallest_page: u16,
    /// The most items that a page can be asked for
    #[arg(long, value_name = "NUMBER", default_value = "100", value_parser = clap::value_parser!(u16).range(1..))]
    pub largest_page: u16,
    /// The field of an error that people can read, with numbers for places in lists: errors.0.reason. Without it: message
    #[arg(long, value_name = "FIELD")]
    pub errors: Option<String>,
    /// A folder with aerostat-sdk, in the place of the copy that comes with the folder
    #[arg(long, value_name = "FOLDER")]
    pub sdk: Option<PathBuf>,
    /// How the result is printed: text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    pub output: Output,
}

/// A language that providers are written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum GuestLanguage {
    /// Rust, with the crate `aerostat-sdk`.
    Rust,
    /// Go, with the module `aerostat.dev/sdk`.
    Go,
}

/// The origin of a load balancer's id.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum IdOrigin {
    /// The cloud gives it.
    Cloud,
    /// It is the name that the provider chooses.
    Name,
}
