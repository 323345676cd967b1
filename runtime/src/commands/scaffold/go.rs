//! The template for Go: a module in `templates/go`, what a plan changes in it, and the SDK beside it.

use super::plan::{LONG_MARK, PageEnding, ProviderPlan, SdkSource};
use super::template::{NewFile, TemplateFile};
use crate::flags::IdOrigin;

macro_rules! template {
    ($($path:literal: $file:literal),+ $(,)?) => {
        [$(TemplateFile { path: $path, text: include_str!(concat!("../../../templates/go/", $file)) }),+]
    };
}

/// The files of every provider.
const FILES: [TemplateFile; 12] = template! {
    ".github/workflows/provider.yaml": "ci.yaml",
    ".gitignore": "gitignore",
    "README.md": "README.md",
    "api.go": "api.go",
    "ci.sh": "ci.sh",
    "cloud.yaml": "cloud.yaml",
    "cloud/cloud.go": "cloud/cloud.go",
    "cloud/serve/main.go": "cloud/serve/main.go",
    "go.mod": "go.mod",
    "machines.go": "machines.go",
    "main.go": "main.go",
    "provider_test.go": "provider_test.go",
};

/// Load balancers, by the origin of their ids.
const BY_CLOUD: [TemplateFile; 1] = template! { "balancers.go": "balancers.go" };
const BY_NAME: [TemplateFile; 1] = template! { "balancers.go": "by_name/balancers.go" };

/// All files of the provider that a plan stands for. Without another folder, the SDK is among them.
pub(super) fn files(plan: &ProviderPlan) -> Vec<NewFile> {
    let words = [
        ("https://api.newcloud.example/v1", plan.url.clone()),
        ("newCloud", plan.value_name()),
        ("newcloud", plan.name.clone()),
    ];
    let balancers = match plan.ids {
        IdOrigin::Cloud => &BY_CLOUD,
        IdOrigin::Name => &BY_NAME,
    };
    let mut files: Vec<_> = FILES.iter().chain(balancers).map(|it| it.filled(|key| line(plan, key), &words)).collect();
    if matches!(plan.sdk, SdkSource::Copied) {
        files.extend(go_component::sdk::FILES.iter().map(|(path, text)| NewFile::of_sdk(path, text.as_bytes())));
    }
    files
}

/// The line of the template that has this key; `None` where it goes.
fn line(plan: &ProviderPlan, key: &str) -> Option<String> {
    let ProviderPlan { base_path, ids, tag, pages, errors, sdk, .. } = plan;
    let (end, value) = match &pages.end {
        PageEnding::Next(_) => ("Next", "cloudtest.NextPage(page, size, count)"),
        PageEnding::Pages(_) => ("Pages", "cloudtest.Pages(size, count)"),
        PageEnding::Items(_) => ("Items", "count"),
        PageEnding::NotFull => ("NotFull", ""),
    };
    let field = pages.end.field();
    let by_cloud = *ids == IdOrigin::Cloud;
    Some(match key {
        "sdk" => match sdk {
            SdkSource::Copied => "replace aerostat.dev/sdk => ./sdk".to_owned(),
            SdkSource::Folder(path) => format!("replace aerostat.dev/sdk => {path:?}"),
        },
        "words" => format!("var api = http.Client{{Endpoint: \"api\", Words: []string{{{}}}}}", errors.names()),
        "refused" => format!("return cloudtest.Reply(status, map[string]any{{{}}})", errors.go_member("why")),
        "items" => format!("const items = {:?}", pages.items),
        "smallest" => format!("Smallest: {},", pages.smallest),
        "largest" => format!("Largest:  {},", pages.largest),
        "number" => format!("Number:   {:?},", pages.number),
        "size" => format!("Size:     {:?},", pages.size),
        "next" => format!("Next:     []string{{{}}},", field.map(|it| it.names()).unwrap_or_default()),
        "end" => format!("End:      http.PageEnd{end},"),
        "page" => {
            let field = field.map(|it| format!(", {}", it.go_member(value))).unwrap_or_default();
            format!("return cloudtest.Reply(200, map[string]any{{{:?}: shown{field}}})", pages.items)
        }
        "mark" if *tag >= LONG_MARK => "it.mark = types.Mark(cluster, service.Owner.UID)".to_owned(),
        "mark" => "it.mark, err = types.ShortMark(cluster, service.Owner.UID)".to_owned(),
        "fake-smallest" => format!("smallestPage = {}", pages.smallest),
        "fake-number" => format!("page := number({:?}, 1)", pages.number),
        "fake-size" => format!("size := number({:?}, {})", pages.size, pages.largest),
        "tag" => format!("longestTag   = {tag}"),
        "base" => format!("return {base_path:?}"),
        "baseUrl" => format!("baseUrl: http://127.0.0.1:8080{base_path}"),
        "fast" if by_cloud => {
            "return map[string]string{\"pollInterval\": \"1s\", \"createAgainAfter\": \"5s\"}".to_owned()
        }
        "fast" => "return map[string]string{}".to_owned(),
        "read" if by_cloud => "- { methods: [GET], paths: [/balancers, /balancers/*] }".to_owned(),
        "read" => "- { methods: [GET], paths: [/balancers/*] }".to_owned(),
        "create" if by_cloud => "- { methods: [POST], paths: [/balancers] }".to_owned(),
        "create" => "- { methods: [PUT], paths: [/balancers/*] }".to_owned(),
        other => unreachable!("templates/go has the key {other}, and this function does not"),
    })
}
