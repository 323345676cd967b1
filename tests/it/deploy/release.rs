//! `make release` and `make publish`: which files there will be, and that pages name no others.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;
use tests::aerostat::binary;
use tests::component;
use tests::folder::Folder;
use tests::guests;
use tests::registry::{Access, RealRegistry};

use crate::setup::{deploy, text};

/// Runs a script of `deploy/`, which builds nothing.
fn run(script: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(deploy().join(script));
    command.args(arguments).env_remove("CYCLONEDX").output().unwrap()
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
fn a_release_has_the_program_all_modules_and_their_sboms() {
    let names = names();
    let providers = providers();
    let mut wanted: BTreeSet<_> = ["aerostat.cdx.json", "BUILT-WITH.txt", "SHA256SUMS"].map(str::to_owned).into();
    wanted.extend(providers.iter().flat_map(|it| [format!("{it}.wasm"), format!("{it}.cdx.json")]));
    let program: Vec<_> = names.difference(&wanted).cloned().collect();
    assert_eq!(names.intersection(&wanted).count(), wanted.len(), "{names:?}");
    assert!(matches!(&program[..], [it] if it.starts_with("aerostat-linux-")), "{program:?}");
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

#[test]
fn pages_name_files_that_a_release_has() {
    let names = names();
    let program = names.iter().find(|it| it.starts_with("aerostat-linux-")).unwrap().clone();
    let mut named = BTreeSet::new();
    for page in ["../SECURITY.md", "../README.md", "README.md", "hetzner/README.md", "registry/README.md"] {
        let text = text(page);
        let words = text.split(|it: char| !(it.is_ascii_alphanumeric() || "-_.".contains(it)));
        let words = words.map(|it| it.trim_end_matches('.')).filter(|it| {
            [".cdx.json", "BUILT-WITH.txt", "SHA256SUMS"].iter().any(|end| it.ends_with(end))
                || it.starts_with("aerostat-linux-")
        });
        named.extend(words.map(|it| it.replace("aerostat-linux-amd64", &program)));
    }
    assert!(named.contains("SHA256SUMS") && named.contains(&program), "{named:?}");
    let invented: Vec<_> = named.difference(&names).collect();
    assert!(invented.is_empty(), "pages name {invented:?}, and a release has {names:?}");
}

#[test]
fn what_the_scripts_cannot_do_is_said_with_the_next_step() {
    let none: &[&str] = &[];
    for (script, arguments, parts) in [
        ("release.sh", &["nonsense"] as &[&str], ["there is no nonsense to build", "Next step: deploy/release.sh"]),
        ("release.sh", none, ["CYCLONEDX names no program", "Next step: make release"]),
        ("publish.sh", none, ["no registry is named", "Next step: make publish REGISTRY="]),
    ] {
        let output = run(script, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(parts.iter().all(|it| said.contains(it)), "{script} {arguments:?}: {said}");
    }
}

/// A folder with our scripts, and with nothing built.
struct Sources {
    folder: Folder,
    /// Where a release lies.
    release: PathBuf,
    /// The name of the program in it.
    program: String,
}

impl Sources {
    fn new() -> Self {
        let folder = Folder::new();
        for path in ["deploy", "providers/minimal", "target/release-artifacts/1.2.3"] {
            std::fs::create_dir_all(folder.path(path)).unwrap();
        }
        for script in ["deploy/release.sh", "deploy/publish.sh"] {
            std::fs::copy(deploy().join("..").join(script), folder.path(script)).unwrap();
        }
        folder.write("Cargo.toml", "[workspace.package]\nversion = \"1.2.3\"\n");
        folder.write("providers/minimal/Cargo.toml", "");
        let program = names().into_iter().find(|it| it.starts_with("aerostat-linux-")).unwrap();
        Self { release: folder.path("target/release-artifacts/1.2.3"), folder, program }
    }

    fn run(&self, script: &str, argument: &str, variables: &[(&str, &Path)]) -> Output {
        let mut command = Command::new(self.folder.path("deploy").join(script));
        command.arg(argument).envs(variables.iter().copied()).output().unwrap()
    }
}

#[tokio::test]
async fn what_is_published_twice_has_the_same_digest() {
    let sources = Sources::new();
    let Sources { folder, release, program } = &sources;
    let module = component::only_provider();
    std::fs::write(release.join("minimal.wasm"), &module).unwrap();
    symlink(binary().unwrap(), release.join(program)).unwrap();
    let sums =
        Command::new("sha256sum").args([program.as_str(), "minimal.wasm"]).current_dir(release).output().unwrap();
    std::fs::write(release.join("SHA256SUMS"), sums.stdout).unwrap();

    let registry = RealRegistry::distribution(Access::Password).await;
    let address = registry.address().to_owned();
    let login = json!({ "auths": { address.as_str(): { "username": "alice", "password": "correct-horse" } } });
    let (login, ca) = (folder.write("login.json", login.to_string()), registry.ca_file());
    let place = format!("{address}/acme");
    let publish = || sources.run("publish.sh", &place, &[("LOGIN", login.as_path()), ("CA", ca.as_path())]);
    let said = || {
        let output = publish();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let first = said();
    let digest = first.strip_prefix(&format!("{place}/minimal:1.2.3  ")).unwrap().lines().next().unwrap();
    assert!(first.contains(&format!("cosign sign --key cosign.key {place}/minimal@{digest}")), "{first}");
    assert_eq!(said(), first);

    let out = folder.path("pulled.wasm");
    let flags = [("--login", &login), ("--ca", &ca), ("--out", &out)];
    let mut pull = Command::new(binary().unwrap());
    pull.args(["module", "pull", &format!("{place}/minimal"), "--digest", digest]);
    let pulled = pull.args(flags.iter().flat_map(|(name, path)| [Path::new(name), path.as_path()])).output().unwrap();
    assert!(pulled.status.success(), "{pulled:?}");
    assert_eq!(std::fs::read(&out).unwrap(), module);

    let mut flipped = module;
    *flipped.last_mut().unwrap() ^= 1;
    std::fs::write(release.join("minimal.wasm"), flipped).unwrap();
    let output = publish();
    let [said, error] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    assert!(!output.status.success() && !said.contains("sha256:"), "nothing is pushed: {said}");
    assert!(error.contains("release-artifacts/1.2.3 is not what was built\nNext step: make release"), "{error}");
}

/// A program file that holds nothing, with one segment of this type.
fn elf(segment: u32) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    // A program for x86-64, in version 1, without an entry; its segments begin behind this head of 64 bytes.
    for (number, size) in [(2, 2), (62, 2), (1, 4), (0, 8), (64, 8), (0, 8), (0, 4), (64, 2), (56, 2), (1, 2), (64, 2)]
    {
        bytes.extend(&u64::to_le_bytes(number)[..size]);
    }
    bytes.resize(64, 0);
    bytes.extend(segment.to_le_bytes());
    bytes.resize(64 + 56, 0);
    bytes
}

#[test]
fn a_program_that_is_not_static_is_no_release() {
    const LOAD: u32 = 1;
    const INTERP: u32 = 3;
    let sources = Sources::new();
    let Sources { folder, release, program } = &sources;
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
    let cargo = script("cargo", &copy);
    let path = [tools.clone()].into_iter().chain(std::env::split_paths("/usr/local/bin:/usr/bin:/bin"));
    let path = PathBuf::from(std::env::join_paths(path).unwrap());
    let build = || sources.run("release.sh", "program", &[("PATH", path.as_path()), ("CARGO", cargo.as_path())]);

    std::fs::write(&built, elf(INTERP)).unwrap();
    let output = build();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{error}");
    assert!(error.contains(&format!("{program} is not static: it asks for a loader\nNext step: ")), "{error}");
    assert!(!release.join(program).exists(), "nobody takes it for a release");
    std::fs::write(&built, elf(LOAD)).unwrap();
    let output = build();
    assert!(output.status.success(), "{output:?}");
    assert!(release.join(program).exists());
}
