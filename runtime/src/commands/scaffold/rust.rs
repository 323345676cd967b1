//! The template for Rust: a crate in `templates/rust`, what a plan changes in it, and the SDK beside it.

use super::plan::{LONG_MARK, PageEnding, ProviderPlan, SdkSource};
use super::rust_sdk;
use super::template::{NewFile, TemplateFile};
use crate::flags::IdOrigin;

macro_rules! template {
    ($($path:literal: $file:literal),+ $(,)?) => {
        [$(TemplateFile { path: $path, text: include_str!(concat!("../../../templates/rust/", $file)) }),+]
    };
}

/// The files of every provider.
const FILES: [TemplateFile; 14] = template! {
    ".cargo/config.toml": "cargo-config.toml",
    ".github/workflows/provider.yaml": "ci.yaml",
    ".gitignore": "gitignore",
    "Cargo.toml": "Cargo.toml",
    "README.md": "README.md",
    "ci.sh": "ci.sh",
    "cloud.yaml": "cloud.yaml",
    "examples/cloud.rs": "examples/cloud.rs",
    "rust-toolchain.toml": "rust-toolchain.toml",
    "src/api.rs": "src/api.rs",
    "src/lib.rs": "src/lib.rs",
    "src/machines.rs": "src/machines.rs",
    "tests/cloud.rs": "tests/cloud.rs",
    "tests/provider.rs": "tests/provider.rs",
};

/// Load balancers, by the origin of their ids.
const BY_CLOUD: [TemplateFile; 1] = template! { "src/balancers.rs": "src/balancers_by_cloud.rs" };
const BY_NAME: [TemplateFile; 1] = template! { "src/balancers.rs": "src/balancers_by_name.rs" };

/// All files of the provider that a plan stands for. Without another folder, the SDK is among them.
pub(super) fn files(plan: &ProviderPlan) -> Vec<NewFile> {
    let words = [
        ("https://api.newcloud.example/v1", plan.url.clone()),
        ("newcloud.wasm", format!("{}.wasm", plan.ident())),
        ("newcloud::", format!("{}::", plan.ident())),
        ("NewCloud", plan.type_name()),
        ("newcloud", plan.name.clone()),
    ];
    let balancers = match plan.ids {
        IdOrigin::Cloud => &BY_CLOUD,
        IdOrigin::Name => &BY_NAME,
    };
    let mut files: Vec<_> = FILES.iter().chain(balancers).map(|it| it.filled(|key| line(plan, key), &words)).collect();
    if matches!(plan.sdk, SdkSource::Copied) {
        files.push(NewFile::of_sdk("Cargo.toml", rust_sdk::manifest().as_bytes()));
        files.extend(rust_sdk::FILES.iter().map(|(path, bytes)| NewFile::of_sdk(path, bytes)));
    }
    files
}

/// The line of the template that has this key; `None` where it goes.
fn line(plan: &ProviderPlan, key: &str) -> Option<String> {
    let ProviderPlan { base_path, ids, tag, pages, errors, sdk, .. } = plan;
    let (end, value) = match &pages.end {
        PageEnding::Next(_) => ("Next", "(page * size < count).then_some(page + 1)"),
        PageEnding::Pages(_) => ("Pages", "count.div_ceil(size).max(1)"),
        PageEnding::Items(_) => ("Items", "count"),
        PageEnding::NotFull => ("NotFull", ""),
    };
    let field = pages.end.field();
    let by_cloud = *ids == IdOrigin::Cloud;
    Some(match key {
        "sdk" => match sdk {
            SdkSource::Copied => "aerostat-sdk = { path = \"sdk\" }".to_owned(),
            SdkSource::Folder(path) => format!("aerostat-sdk = {{ path = \"{path}\" }}"),
        },
        "words" => format!("pub(crate) const API: Client<'_> = Client::new(\"api\").words({});", errors.list()),
        "refused" => format!("reply(status, json!({{ {} }}))", errors.member("why")),
        "items" => format!("pub(crate) const ITEMS: &str = {:?};", pages.items),
        "smallest" => format!("smallest: {},", pages.smallest),
        "largest" => format!("largest: {},", pages.largest),
        "number" => format!("number: {:?},", pages.number),
        "size" => format!("size: {:?},", pages.size),
        "next" => format!("next: {},", field.map_or_else(|| "&[]".to_owned(), |it| it.list())),
        "end" => format!("end: PageEnd::{end},"),
        "page-end" => field.map(|_| format!("let end = {value};"))?,
        "page" => {
            let field = field.map(|it| format!(", {}", it.member("end"))).unwrap_or_default();
            format!("let answer = json!({{ {:?}: items{field} }});", pages.items)
        }
        "count" => field.map(|_| "let count = all.len();".to_owned())?,
        "mark" if *tag >= LONG_MARK => "let mark = service.owner.mark()?.to_string();".to_owned(),
        "mark" => "let mark = service.owner.mark()?.short()?.to_string();".to_owned(),
        "fake-smallest" => format!("const SMALLEST_PAGE: usize = {};", pages.smallest),
        "fake-number" => format!("let page: usize = number({:?}, 1);", pages.number),
        "fake-size" => format!("let size: usize = number({:?}, {});", pages.size, pages.largest),
        "tag" => format!("const LONGEST_TAG: usize = {tag};"),
        "base" => format!("const BASE_PATH: &'static str = {base_path:?};"),
        "baseUrl" => format!("baseUrl: http://127.0.0.1:8080{base_path}"),
        "fast" if by_cloud => "vec![(\"pollInterval\", \"1s\"), (\"createAgainAfter\", \"5s\")]".to_owned(),
        "fast" => "Vec::new()".to_owned(),
        "read" if by_cloud => "- { methods: [GET], paths: [/balancers, /balancers/*] }".to_owned(),
        "read" => "- { methods: [GET], paths: [/balancers/*] }".to_owned(),
        "create" if by_cloud => "- { methods: [POST], paths: [/balancers] }".to_owned(),
        "create" => "- { methods: [PUT], paths: [/balancers/*] }".to_owned(),
        other => unreachable!("templates/rust has the key {other}, and this function does not"),
    })
}
