//! `make release` and `make publish`: which files there will be, and that pages name no others.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;
use tests::aerostat::binary;
use tests::folder::Folder;
use tests::guests;
use tests::registry::{Access, RealRegistry};

use crate::chart::PRESETS;
use crate::packed::{AMD64, ARM64, Compiled, VERSION, elf};
use crate::setup::{deploy, text};
use crate::sources::Sources;

/// Runs a script of `deploy/`, which builds nothing.
fn run(script: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(deploy().join(script));
    command.args(arguments).env_remove("CYCLONEDX").env_remove("ZIG").env_remove("ARCHITECTURES").output().unwrap()
}

/// The most bytes of a module: a ConfigMap ends at 1 MiB, and every start compiles all of a module.
const MODULE: u64 = 600 << 10;

/// The names of all providers.
fn providers() -> Vec<String> {
    let folders = std::fs::read_dir(deploy().join("../providers")).unwrap();
    folders.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
}

/// The files of a release.
fn names() -> BTreeSet<String> {
    let output = run("release.sh", &["names"]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_release_has_programs_modules_sboms_and_an_image() {
    let mut wanted: BTreeSet<_> = [
        "aerostat-linux-amd64",
        "aerostat-linux-amd64.cdx.json",
        "aerostat-linux-arm64",
        "aerostat-linux-arm64.cdx.json",
        "provenance.json",
        "BUILT-WITH.txt",
        "SHA256SUMS",
    ]
    .map(str::to_owned)
    .into();
    let version = env!("CARGO_PKG_VERSION");
    wanted.extend(["image", "bundle", "roles"].map(|it| format!("aerostat-{it}-{version}.tar")));
    // A provider that the chart has no preset for is not finished.
    let presets = PRESETS.map(str::to_owned);
    let finished = providers().into_iter().filter(|it| presets.contains(it));
    wanted
        .extend(finished.flat_map(|it| [format!("{it}.wasm"), format!("{it}.cdx.json"), format!("install-{it}.yaml")]));
    if deploy().join("chart/Chart.yaml").exists() {
        wanted.insert(format!("aerostat-{version}.tgz"));
    }
    assert_eq!(names(), wanted);
}

#[test]
fn modules_stay_small() {
    for provider in providers() {
        // With the flags of a release, they lie beside one another.
        let module = Path::new(guests::AWS).with_file_name(format!("{provider}.wasm"));
        let bytes = std::fs::metadata(&module).unwrap().len();
        assert!(bytes <= MODULE, "{provider}.wasm has {bytes} bytes: more than {MODULE}");
    }
}

/// The page for installing names files of `deploy/` in its commands: who has a release, and no clone, unpacks them.
#[test]
fn the_roles_of_a_release_are_those_of_the_commands() {
    let packed = || {
        let folder = Folder::new();
        let mut command = Command::new(deploy().join("release.sh"));
        let output = command.arg("roles").env("OUT", folder.path("out")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        std::fs::read(String::from_utf8(output.stdout).unwrap().trim()).unwrap()
    };
    let archive = packed();
    assert_eq!(archive, packed(), "the same files make the same bytes");
    let mut held = BTreeMap::new();
    for entry in tar::Archive::new(&*archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = String::new();
        entry.read_to_string(&mut content).unwrap();
        held.insert(entry.path().unwrap().display().to_string(), content);
    }
    for (path, content) in &held {
        assert_eq!(*content, text(path.strip_prefix("deploy/").unwrap()), "{path}");
    }
    let page = text("../docs/install.md");
    let commands = page.split("```").skip(1).step_by(2);
    let words = commands.flat_map(|it| it.split(|it: char| it.is_whitespace() || "\"'=)".contains(it)));
    let named: BTreeSet<_> = words.filter(|it| it.starts_with("deploy/")).collect();
    assert!(named.len() > 4, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|it| !held.contains_key(**it)).collect();
    assert!(missing.is_empty(), "{missing:?} of {:?}", held.keys());
}

#[test]
fn pages_name_files_that_a_release_has() {
    let names = names();
    let mut named = BTreeSet::new();
    for page in
        ["../SECURITY.md", "../README.md", "../docs/install.md", "README.md", "hetzner/README.md", "registry/README.md"]
    {
        let text = text(page);
        let words = text.split(|it: char| !(it.is_ascii_alphanumeric() || "-_.".contains(it)));
        let words = words.map(|it| it.trim_end_matches('.')).filter(|word| {
            [".cdx.json", "BUILT-WITH.txt", "SHA256SUMS", "provenance.json"].iter().any(|end| word.ends_with(end))
                || ["aerostat-linux-", "aerostat-image-", "aerostat-bundle-", "aerostat-roles-"]
                    .iter()
                    .any(|start| word.starts_with(start))
        });
        named.extend(words.map(str::to_owned));
    }
    assert!(named.contains("SHA256SUMS") && named.contains("aerostat-linux-amd64"), "{named:?}");
    let invented: Vec<_> = named.difference(&names).collect();
    assert!(invented.is_empty(), "pages name {invented:?}, and a release has {names:?}");
}

#[test]
fn the_scripts_end_with_a_cause_and_the_next_step() {
    let none: &[&str] = &[];
    for (script, arguments, parts) in [
        ("release.sh", &["nonsense"] as &[&str], ["there is no nonsense to build", "Next step: deploy/release.sh"]),
        ("release.sh", &["program", "riscv64"], ["there is no architecture \"riscv64\"", "Next step: amd64 or arm64"]),
        ("release.sh", none, ["ZIG names no program", "Next step: make release"]),
        ("publish.sh", none, ["no registry is named", "Next step: make publish REGISTRY="]),
    ] {
        let output = run(script, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(parts.iter().all(|it| said.contains(it)), "{script} {arguments:?}: {said}");
    }
}

#[tokio::test]
async fn artifacts_published_twice_have_the_same_digests() {
    let sources = Sources::new(VERSION);
    sources.release(&Compiled::new().packed());
    let Sources { folder, release, .. } = &sources;
    let registry = RealRegistry::distribution(Access::Password).await;
    let address = registry.address().to_owned();
    let login = json!({ "auths": { address.as_str(): { "username": "alice", "password": "correct-horse" } } });
    let (login, ca) = (folder.write("login.json", login.to_string()), registry.ca_file());
    let publish = || sources.run("publish.sh", &[&address], &[("LOGIN", login.as_path()), ("CA", ca.as_path())]);
    let said = || {
        let output = publish();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let first = said();
    let published: BTreeMap<&str, &str> = first.lines().take(4).map(|it| it.split_once("  ").unwrap()).collect();
    let artifacts = [
        ("aerostat/acme", VERSION),
        ("aerostat/charts/aerostat", VERSION),
        ("aerostat/cloud", "0.1.0"),
        ("aerostat", VERSION),
    ];
    let places = artifacts.map(|(repository, version)| format!("{address}/{repository}:{version}"));
    assert_eq!(published.keys().collect::<Vec<_>>(), places.iter().collect::<Vec<_>>());
    let [module, _, _, image] = &places;
    for (place, (repository, _)) in places.iter().zip(artifacts) {
        let digest = published[place.as_str()];
        assert!(
            first.contains(&format!("  cosign sign --key cosign.key {address}/{repository}@{digest}\n")),
            "{first}"
        );
        // Provenance, and for what was compiled an SBOM, where registries without a list of referrers have them.
        let tag = format!("{repository}:sha256-{}", digest.strip_prefix("sha256:").unwrap());
        let kinds = registry.kinds(&tag).await;
        assert!(kinds.contains(&"application/vnd.in-toto+json".to_owned()), "{tag}: {kinds:?}");
        assert_eq!(
            kinds.contains(&"application/vnd.cyclonedx+json".to_owned()),
            repository == "aerostat/acme",
            "{kinds:?}"
        );
    }
    let index = image.strip_prefix(&format!("{address}/")).unwrap();
    assert_eq!(registry.kinds(index).await, ["amd64", "arm64"]);
    for program in registry.manifest(index).await["manifests"].as_array().unwrap() {
        let tag = program["digest"].as_str().unwrap().replace(':', "-");
        let kinds = registry.kinds(&format!("aerostat:{tag}")).await;
        assert_eq!(kinds, ["application/vnd.cyclonedx+json"], "{program}");
    }
    assert_eq!(said(), first);

    let out = folder.path("pulled.wasm");
    let flags = [("--login", &login), ("--ca", &ca), ("--out", &out)];
    let mut pull = Command::new(binary().unwrap());
    pull.args(["module", "pull", module, "--digest", published[module.as_str()]]);
    let pulled = pull.args(flags.iter().flat_map(|(name, path)| [Path::new(name), path.as_path()])).output().unwrap();
    assert!(pulled.status.success(), "{pulled:?}");
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(guests::ACME).unwrap());

    let bundle = release.join(format!("aerostat-bundle-{VERSION}.tar"));
    let mut flipped = std::fs::read(&bundle).unwrap();
    *flipped.last_mut().unwrap() ^= 1;
    std::fs::write(&bundle, flipped).unwrap();
    let output = publish();
    let [said, error] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    assert!(!output.status.success() && !said.contains("sha256:"), "nothing is pushed: {said}");
    assert!(error.contains("release-artifacts/1.2.3 is not what was built\nNext step: make release"), "{error}");
}

const LOAD: u32 = 1;
const INTERP: u32 = 3;

#[test]
fn a_program_that_is_not_static_is_no_release() {
    let sources = Sources::new(VERSION);
    let Sources { folder, release, .. } = &sources;
    let (built, tools) = (folder.path("built"), folder.path("tools"));
    std::fs::create_dir_all(folder.path("sysroot/lib/rustlib")).unwrap();
    std::fs::create_dir(&tools).unwrap();
    for machine in ["x86_64", "aarch64"] {
        let target = format!("{machine}-unknown-linux-musl");
        std::fs::create_dir(folder.path("sysroot/lib/rustlib").join(&target)).unwrap();
        std::fs::create_dir_all(folder.path("target").join(target).join("release")).unwrap();
    }
    // What stands in the place of Rust: it builds in no time.
    let script = |name: &str, text: &str| {
        let path = tools.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    script("rustc", &format!("echo {}", folder.path("sysroot").display()));
    let copy = format!("for it in target/*/release; do cp {} $it/aerostat; done", built.display());
    let (cargo, zig) = (script("cargo", &copy), script("zig", "exit 1"));
    let path = [tools.clone()].into_iter().chain(std::env::split_paths("/usr/local/bin:/usr/bin:/bin"));
    let path = PathBuf::from(std::env::join_paths(path).unwrap());
    let variables = [("PATH", path.as_path()), ("CARGO", cargo.as_path()), ("ZIG", zig.as_path())];

    for (architecture, machine) in [("amd64", AMD64), ("arm64", ARM64)] {
        let build = || sources.run("release.sh", &["program", architecture], &variables);
        let program = format!("aerostat-linux-{architecture}");
        std::fs::write(&built, elf(machine, INTERP)).unwrap();
        let output = build();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{error}");
        assert!(error.contains(&format!("{program} is not static: it asks for a loader\nNext step: ")), "{error}");
        assert!(!release.join(&program).exists(), "nobody takes it for a release");
        std::fs::write(&built, elf(machine, LOAD)).unwrap();
        let output = build();
        assert!(output.status.success(), "{output:?}");
        assert!(release.join(program).exists());
    }
}

#[test]
fn a_program_that_does_not_start_is_no_release() {
    let folder = Folder::new();
    let starts = |program: &Path, version: &str| {
        let output =
            Command::new(deploy().join("starts.sh")).arg(program).arg(version).env("PATH", "/usr/bin:/bin").output();
        let output = output.unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let version = env!("CARGO_PKG_VERSION");
    let (good, said) = starts(&binary().unwrap(), version);
    assert!(good && said.contains(&format!("starts: aerostat {version} for ")), "{said}");
    let (good, said) = starts(&binary().unwrap(), "9.9.9");
    assert!(!good && said.contains("and not aerostat 9.9.9"), "{said}");
    // Neither this machine nor its emulator can start these: silence is no success.
    for machine in [AMD64, ARM64] {
        let (good, said) = starts(&folder.write("empty", elf(machine, LOAD)), version);
        assert!(!good && said.contains("Next step: ") && !said.contains("starts: aerostat"), "{said}");
    }
}
