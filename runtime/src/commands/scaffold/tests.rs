use clap::Parser;

use super::*;
use crate::flags::NewProviderFlags;

/// The flags alone.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    flags: NewProviderFlags,
}

fn flags(arguments: &[&str]) -> NewProviderFlags {
    Line::try_parse_from(["new"].iter().chain(arguments)).unwrap().flags
}

fn plan(arguments: &[&str]) -> Result<ProviderPlan> {
    ProviderPlan::of(&flags(arguments), SdkSource::Copied)
}

/// The text of a file of the provider that these flags ask for.
fn file(arguments: &[&str], path: &str) -> String {
    let files = rust::files(&plan(arguments).unwrap());
    text(files.iter().find(|it| it.path == path).unwrap()).to_owned()
}

fn text(file: &NewFile) -> &str {
    std::str::from_utf8(&file.bytes).unwrap()
}

/// The files without the copy of the SDK.
fn own(files: &[NewFile]) -> Vec<&NewFile> {
    files.iter().filter(|it| !it.path.starts_with("sdk/")).collect()
}

#[test]
fn no_word_of_the_template_is_left() {
    for origin in ["--ids=cloud", "--ids=name"] {
        let files = rust::files(&plan(&["acme-two", origin]).unwrap());
        let own = own(&files);
        assert_eq!(own.len(), 15);
        for file in own {
            let (path, text) = (&file.path, text(file).to_lowercase());
            assert!(!text.contains("newcloud") && !text.contains("new: "), "{path}: {text}");
            assert_eq!(file.is_program, path == "ci.sh", "{path}");
        }
    }
}

#[test]
fn names_become_those_of_a_crate_and_of_a_type() {
    let text = file(&["acme-two"], "tests/provider.rs");
    assert!(text.contains("use acme_two::AcmeTwoCloud;"), "{text}");
    assert!(file(&["open-cloud"], "src/lib.rs").contains("pub struct OpenCloud;"));
    assert!(file(&["acme-two"], "src/lib.rs").contains("\"acme-two://\""));
    assert!(file(&["acme-two"], "ci.sh").contains("module=acme_two.wasm"));
}

#[test]
fn answers_become_what_both_sides_speak() {
    let given = [
        "acme",
        "--url=https://api.acme.example/v2/",
        "--tags=50",
        "--pages=pages:meta.pages",
        "--page-items=data",
        "--page-query=page,page_size",
        "--smallest-page=25",
        "--errors=errors.0.reason",
    ];
    let api = file(&given, "src/api.rs");
    for words in [
        "Client::new(\"api\").words(&[\"errors\", \"0\", \"reason\"]);",
        "ITEMS: &str = \"data\";",
        "    smallest: 25,",
        "    size: \"page_size\",",
        "    next: &[\"meta\", \"pages\"],",
        "    end: PageEnd::Pages,",
    ] {
        assert!(api.contains(words), "{words}: {api}");
    }
    let cloud = file(&given, "tests/cloud.rs");
    for words in [
        "LONGEST_TAG: usize = 50;",
        "SMALLEST_PAGE: usize = 25;",
        "BASE_PATH: &'static str = \"/v2\";",
        "\"data\": items, \"meta\": { \"pages\": end } }",
        "json!({ \"errors\": [{ \"reason\": why }] })",
    ] {
        assert!(cloud.contains(words), "{words}: {cloud}");
    }
    assert!(file(&given, "src/balancers.rs").contains(".mark()?.short()?"));
    assert!(!file(&["acme", "--tags=82"], "src/balancers.rs").contains("short"));
    assert!(file(&given, "Cargo.toml").contains("aerostat-sdk = { path = \"sdk\" }\n"));
    assert!(file(&given, "sdk/Cargo.toml").contains("name = \"aerostat-sdk\"\n"));
}

#[test]
fn bad_answers_are_one_sentence_with_a_next_step() {
    for (arguments, words) in [
        (&["Acme"][..], "such as acme"),
        (&["1acme"], "beginning with a letter"),
        (&["acme--two"], "is no name"),
        (&["serde"], "such as serde-cloud"),
        (&["acme", "--url=http://api.acme.example"], "such as https://"),
        (&["acme", "--url=https:///v1"], "such as https://"),
        (&["acme", "--tags=49"], "--ids=name"),
        (&["acme", "--pages=cursor"], "next:FIELD"),
        (&["acme", "--pages=next:a b"], "names no field"),
        (&["acme", "--pages=next:items.next"], "--page-items"),
        (&["acme", "--page-items=a.b"], "write one name"),
        (&["acme", "--page-query=page"], "page,per_page"),
        (&["acme", "--smallest-page=200"], "--largest-page"),
        (&["acme", "--errors=a..b"], "names no field"),
    ] {
        let error = plan(arguments).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{arguments:?}: {error}");
    }
    assert!(plan(&["acme", "--tags=0", "--ids=name"]).is_ok(), "names are marks");
}

#[test]
fn a_value_without_a_flag_is_asked_for() {
    let mut given = flags(&["acme", "--errors=error.text"]);
    let mut shown = Vec::new();
    question::ask(&mut given, &mut &b"\nname\nnot-full\ndata\n"[..], &mut shown).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.matches('?').count(), 4, "{shown}");
    assert_eq!(given.url.as_deref(), Some("https://api.acme.example/v1"));
    assert_eq!((given.pages.as_deref(), given.page_items.as_deref()), (Some("not-full"), Some("data")));
    let cut = question::ask(&mut flags(&["acme"]), &mut &b"\n"[..], &mut Vec::new()).unwrap_err();
    assert!(cut.to_string().contains("nothing was made"), "{cut}");
    let neither = question::ask(&mut flags(&["acme"]), &mut &b"\nmine\n"[..], &mut Vec::new()).unwrap_err();
    assert_eq!(neither.to_string(), "\"mine\" is neither cloud nor name");
}

#[test]
fn a_folder_of_go_speaks_as_the_answers_say() {
    let given = ["acme-two", "--tags=50", "--pages=pages:meta.pages", "--errors=errors.0.reason", "--page-items=data"];
    for origin in ["--ids=cloud", "--ids=name"] {
        let files = go::files(&plan(&[&given[..], &[origin]].concat()).unwrap());
        for file in own(&files) {
            let (path, text) = (&file.path, text(file).to_lowercase());
            assert!(!text.contains("newcloud") && !text.contains("new: "), "{path}: {text}");
            assert_eq!(file.is_program, path == "ci.sh", "{path}");
        }
        let file = |path: &str| text(files.iter().find(|it| it.path == path).unwrap());
        assert!(file("go.mod").contains("replace aerostat.dev/sdk => ./sdk\n"));
        assert!(file("sdk/go.mod").contains("module aerostat.dev/sdk\n"));
        assert!(file("main.go").contains("type acmeTwoCloud struct{}"));
        assert!(file("api.go").contains("Words: []string{\"errors\", \"0\", \"reason\"}"));
        assert!(file("api.go").contains("Next:     []string{\"meta\", \"pages\"},\n"));
        let cloud = file("cloud/cloud.go");
        for words in [
            "\"data\": shown, \"meta\": map[string]any{\"pages\": cloudtest.Pages(size, count)}})",
            "map[string]any{\"errors\": []any{map[string]any{\"reason\": why}}})",
            "longestTag   = 50\n",
        ] {
            assert!(cloud.contains(words), "{words}: {cloud}");
        }
        assert_eq!(file("balancers.go").contains("types.ShortMark"), origin == "--ids=cloud");
    }
}

#[test]
fn every_default_that_help_prints_is_the_plans() {
    let plan = |arguments: &[&str]| format!("{:?}", plan(arguments).unwrap());
    let (bare, mut printed) = (plan(&["acme"]), 0);
    for argument in <Line as clap::CommandFactory>::command().get_arguments() {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let said = help.split_once("Without it: ").map(|(_, it)| it.trim_matches('`').replace("NAME", "acme"));
        let default = argument.get_default_values().first().map(|it| it.to_string_lossy().into_owned());
        let (Some(name), Some(value)) = (argument.get_long(), said.or(default)) else { continue };
        printed += 1;
        if name == "folder" {
            assert_eq!(value, "acme, here");
            continue;
        }
        assert_eq!(plan(&["acme", &format!("--{name}={value}")]), bare, "--{name}={value}");
    }
    assert_eq!(printed, 12, "each but the name and the folder of the SDK");
}
