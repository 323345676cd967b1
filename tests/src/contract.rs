//! The contract against the text of it that is released: guests of then go on to load.

use std::path::Path;

use wit_component::semver_check;
use wit_parser::{PackageId, Resolve, SourceMap, WorldId};

/// The folder of the present text.
const PRESENT: &str = "../wit";
/// The folder of a released text, by its version.
const RELEASED: &str = "wit-compat/0.1.0";
/// A version in the place of the released one, so that both have a place in one table. Versions are not compared.
const ANOTHER: &str = "0.0.1";

/// Why a guest of the released text would not load, world by world; nothing if each does. `change` edits the present text.
fn broken(change: impl Fn(&str, String) -> String) -> Vec<String> {
    let mut resolve = Resolve::default();
    let released = push(&mut resolve, RELEASED, |_, text| text.replace("@0.1.0", &format!("@{ANOTHER}")));
    let present = push(&mut resolve, PRESENT, change);
    let worlds: Vec<_> = resolve.packages[released].worlds.iter().map(|(name, id)| (name.clone(), *id)).collect();
    assert!(!worlds.is_empty());
    let why = |(name, of_then): &(String, WorldId)| match resolve.packages[present].worlds.get(name) {
        None => Some(format!("{name}: there is no such world any more")),
        Some(of_now) => {
            let error = semver_check(resolve.clone(), *of_then, *of_now).err()?;
            Some(format!("{name}: {error:#}"))
        }
    };
    worlds.iter().filter_map(why).collect()
}

/// Reads a package, whose files `change` may edit by their names.
fn push(resolve: &mut Resolve, folder: &str, change: impl Fn(&str, String) -> String) -> PackageId {
    let mut files = SourceMap::default();
    for file in Path::new(folder).read_dir().unwrap().map(|it| it.unwrap().path()) {
        if file.extension().is_some_and(|it| it == "wit") {
            let name = file.file_name().unwrap().to_str().unwrap();
            files.push(&file, change(name, std::fs::read_to_string(&file).unwrap()));
        }
    }
    let group = files.parse().unwrap_or_else(|(_, error)| panic!("{folder}: {error}"));
    resolve.push_group(group).unwrap()
}

/// Edits one place of one file.
fn edited(file: &'static str, from: &'static str, to: &'static str) -> impl Fn(&str, String) -> String {
    move |name, text| match name == file {
        true => {
            assert!(text.contains(from), "{file} has no {from:?}");
            text.replacen(from, to, 1)
        }
        false => text,
    }
}

#[test]
fn guests_of_the_released_contract_load() {
    assert_eq!(broken(|_, text| text), [""; 0], "wit/README.md says how the contract grows");
}

#[test]
fn interfaces_and_imported_functions_may_come() {
    let function = "    throttle: func(endpoint: string, milliseconds: u32, reason: string);";
    let more = "    throttle: func(endpoint: string, milliseconds: u32, reason: string);\n    now: func() -> u64;";
    assert_eq!(broken(edited("http.wit", function, more)), [""; 0]);
    let more = "/// More.\ninterface more {\n    /// More.\n    ask: func() -> u64;\n}\n\n/// What the operator wrote";
    assert_eq!(broken(edited("host.wit", "/// What the operator wrote", more)), [""; 0]);
}

#[test]
fn fields_cases_and_exported_functions_may_not() {
    for (file, from, to) in [
        ("provider.wit", "        purpose: string,", "        purpose: string,\n        more: string,"),
        ("provider.wit", "        purpose: string,", "        purpose: option<string>,"),
        ("load-balancers.wit", "        not-managed,", "        not-managed,\n        never,"),
        ("types.wit", "        unavailable(string),", ""),
        ("instances.wit", "    %list: func(", "    more: func() -> u64;\n    %list: func("),
        ("http.wit", "    throttle: func(endpoint: string, milliseconds: u32,", "    throttle: func(endpoint: string,"),
    ] {
        assert_ne!(broken(edited(file, from, to)), [""; 0], "{file}: {from:?} to {to:?}");
    }
}
