//! The plan of a provider: everything that its files depend on. No file, no terminal.

use anyhow::{Result, anyhow, bail};

use super::fields::FieldPath;
use crate::flags::{IdOrigin, NewProviderFlags};

/// The longest name.
const LONGEST_NAME: usize = 40;
/// Names of crates that Rust or the scaffold has already.
const TAKEN: [&str; 14] = [
    "aerostat",
    "aerostat-sdk",
    "alloc",
    "cloud",
    "core",
    "crate",
    "provider",
    "self",
    "serde",
    "serde-json",
    "std",
    "super",
    "test",
    "type",
];
/// How many characters the two forms of a mark have.
pub(super) const LONG_MARK: u16 = 82;
const SHORT_MARK: u16 = 50;

/// A provider that is about to be made.
#[derive(Clone, Debug)]
pub(super) struct ProviderPlan {
    pub(super) name: String,
    /// The URL of the cloud's API, and its path.
    pub(super) url: String,
    pub(super) base_path: String,
    pub(super) ids: IdOrigin,
    /// The longest tag, in characters.
    pub(super) tag: u16,
    pub(super) pages: PageForm,
    /// The field of an error with the cloud's words.
    pub(super) errors: FieldPath,
    pub(super) sdk: SdkSource,
}

/// How pages are asked for, and how they end.
#[derive(Clone, Debug)]
pub(super) struct PageForm {
    pub(super) end: PageEnding,
    pub(super) items: String,
    /// The query's names.
    pub(super) number: String,
    pub(super) size: String,
    pub(super) smallest: u16,
    pub(super) largest: u16,
}

/// The way in which a page says that it is the last.
#[derive(Clone, Debug)]
pub(super) enum PageEnding {
    Next(FieldPath),
    Pages(FieldPath),
    Items(FieldPath),
    NotFull,
}

/// Where the SDK comes from.
#[derive(Clone, Debug)]
pub(super) enum SdkSource {
    /// A copy in the new folder.
    Copied,
    /// This folder.
    Folder(String),
}

impl ProviderPlan {
    /// The plan that flags stand for, with the defaults of what none says.
    pub(super) fn of(flags: &NewProviderFlags, sdk: SdkSource) -> Result<Self> {
        check_name(&flags.name)?;
        let url = flags.url.clone().unwrap_or_else(|| format!("https://api.{}.example/v1", flags.name));
        let base_path = base_path(&url)?;
        let (ids, tag) = (flags.ids.unwrap_or(IdOrigin::Cloud), flags.tags.unwrap_or(255));
        if ids == IdOrigin::Cloud && tag < SHORT_MARK {
            bail!(
                "--tags {tag}: a mark of ownership has {SHORT_MARK} characters at least. If a description or a label's value can be read \
                 back, give its length; if the provider can choose a load balancer's name, write --ids=name"
            );
        }
        let errors = FieldPath::parse("--errors", flags.errors.as_deref().unwrap_or("message"))?;
        Ok(Self { name: flags.name.clone(), url, base_path, ids, tag, pages: PageForm::of(flags)?, errors, sdk })
    }

    /// The name of the crate in Rust, and of its file.
    pub(super) fn ident(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The name of the provider's type: no trait of the SDK ends like it.
    pub(super) fn type_name(&self) -> String {
        let word = |word: &str| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
        };
        let name: String = self.name.split('-').map(word).collect();
        if name.ends_with("Cloud") { name } else { name + "Cloud" }
    }

    /// The name of the provider's type in Go, where nobody else needs it.
    pub(super) fn value_name(&self) -> String {
        let name = self.type_name();
        name[..1].to_ascii_lowercase() + &name[1..]
    }
}

impl PageForm {
    fn of(flags: &NewProviderFlags) -> Result<Self> {
        let word = |flag: &str, text: &str| {
            let path = FieldPath::parse(flag, text)?;
            if text.contains('.') {
                bail!("{flag} {text:?}: write one name");
            }
            Ok(path.first().to_owned())
        };
        let items = word("--page-items", flags.page_items.as_deref().unwrap_or("items"))?;
        let form = flags.pages.as_deref().unwrap_or("next:next_page");
        let end = PageEnding::parse(form)?;
        if end.field().is_some_and(|it| it.first() == items) {
            bail!(
                "--pages {form:?} lies in the field {items:?}, which holds the items of a page: name another with --page-items"
            );
        }
        let query = flags.page_query.split_once(',').ok_or_else(|| {
            let given = &flags.page_query;
            anyhow!("--page-query {given:?}: write the names for number and size with a comma between them, such as page,per_page")
        })?;
        let (number, size) = (word("--page-query", query.0.trim())?, word("--page-query", query.1.trim())?);
        let (smallest, largest) = (flags.smallest_page, flags.largest_page);
        if smallest > largest {
            bail!(
                "--smallest-page {smallest} is more than --largest-page {largest}: write a smaller one, or raise --largest-page"
            );
        }
        Ok(Self { end, items, number, size, smallest, largest })
    }
}

impl PageEnding {
    fn parse(text: &str) -> Result<Self> {
        let field = |it| FieldPath::parse("--pages", it);
        match text.split_once(':') {
            None if text == "not-full" => Ok(Self::NotFull),
            Some(("next", it)) => field(it).map(Self::Next),
            Some(("pages", it)) => field(it).map(Self::Pages),
            Some(("items", it)) => field(it).map(Self::Items),
            _ => bail!(
                "--pages {text:?}: write next:FIELD, pages:FIELD, items:FIELD or not-full, such as next:meta.next_page"
            ),
        }
    }

    /// The field that says it.
    pub(super) fn field(&self) -> Option<&FieldPath> {
        match self {
            Self::Next(it) | Self::Pages(it) | Self::Items(it) => Some(it),
            Self::NotFull => None,
        }
    }
}

/// Whether a provider can be called so.
pub(super) fn check_name(name: &str) -> Result<()> {
    let has_its_characters = name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
    let is_name = has_its_characters
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--")
        && name.len() <= LONGEST_NAME;
    if !is_name {
        bail!(
            "{name:?} is no name of a provider: write lower-case letters, digits and single - between them, beginning with a letter, \
             {LONGEST_NAME} characters at most, such as acme"
        );
    }
    if TAKEN.contains(&name) {
        bail!("{name:?} is the name of a crate already: choose another, such as {name}-cloud");
    }
    Ok(())
}

/// The path of a URL, without a `/` at its end.
fn base_path(url: &str) -> Result<String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._~:/".contains(it);
    let rest = url.strip_prefix("https://").filter(|it| !it.is_empty() && it.chars().all(is_plain));
    let Some(rest) = rest.filter(|it| !it.starts_with('/')) else {
        bail!("--url {url:?}: write where the vendor's API is, such as https://api.acme.example/v1");
    };
    Ok(rest.find('/').map_or("", |at| rest[at..].trim_end_matches('/')).to_owned())
}
