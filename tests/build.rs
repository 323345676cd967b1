//! Builds every guest (providers, guests of the tests, the SDK's examples) as a release has it, so that `cargo test` needs no step
//! before it. `make demo` names the few that it plays in `AEROSTAT_GUESTS`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

const TARGET: &str = "wasm32-wasip2";

/// The examples of the SDK that are guests.
const EXAMPLES: [&str; 2] = ["acme", "acme_async"];

/// The variable with the names of the guests to build, between spaces, where those are not all. The paths of the others stay, and
/// lead to what an earlier build has left, or nowhere.
const CHOSEN: &str = "AEROSTAT_GUESTS";

/// The inputs that decide how a guest comes out, from the workspace's folder.
const SOURCES: [&str; 7] = [".cargo", "Cargo.lock", "Cargo.toml", "guest-sdk", "providers", "tests/guests", "wit"];

/// The outer build's variables about its own code. They must not reach the guests' build.
const OUTER: [&str; 4] = ["CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOCFLAGS", "RUSTFLAGS"];

fn main() {
    let own = PathBuf::from(told("CARGO_MANIFEST_DIR"));
    let root = own.parent().expect("this crate lies in the workspace's folder");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    println!("cargo::rerun-if-env-changed={CHOSEN}");
    check_target();

    let mut guests = crates_in(&root.join("providers"));
    guests.extend(crates_in(&root.join("tests/guests")));
    // A folder of its own: the outer cargo holds the lock of the usual one until we are done.
    let target_dir = root.join("target/guests");
    let chosen = read(CHOSEN).map(|it| it.to_string_lossy().into_owned());
    let chosen: Option<Vec<_>> = chosen.as_ref().map(|it| it.split_whitespace().collect());
    for name in chosen.iter().flatten() {
        assert!(
            guests.iter().any(|it| it == name) || EXAMPLES.contains(name),
            "{CHOSEN} names {name}, and there is no such guest"
        );
    }
    let is_built = |guest: &str| chosen.as_ref().is_none_or(|it| it.contains(&guest));
    build(
        root,
        &target_dir,
        guests.iter().map(String::as_str).filter(|it| is_built(it)),
        EXAMPLES.into_iter().filter(|it| is_built(it)),
    );

    let built = target_dir.join(TARGET).join("guest");
    let stripped = target_dir.join("stripped");
    fs::create_dir_all(&stripped).unwrap_or_else(|error| panic!("cannot make {}: {error}", stripped.display()));
    // Cargo writes the name of a library with underscores.
    let of_crates = guests.iter().map(|it| (it.as_str(), built.join(format!("{}.wasm", it.replace('-', "_")))));
    let of_examples = EXAMPLES.map(|it| (it, built.join(format!("examples/{it}.wasm"))));
    for (guest, path) in of_crates.chain(of_examples) {
        let released = stripped.join(format!("{guest}.wasm"));
        if is_built(guest) {
            strip(&path, &released);
        }
        export(guest, &released);
    }
    println!("cargo::rustc-env=GUEST_FLAGS={}", flags(root).to_string_lossy());
}

/// Ends the build with the next step if rustc has no standard library for the guests' target.
fn check_target() {
    let output = Command::new(told("RUSTC"))
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .expect("rustc starts: it has just compiled this script");
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    assert!(
        output.status.success() && folder.is_dir(),
        "the tests run WebAssembly guests, but this toolchain cannot compile them. \
         Next step: rustup target add {TARGET}"
    );
}

/// The names of the crates in a folder: each has the name of its own folder.
fn crates_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    let mut crates: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    crates.sort();
    crates
}

fn build<'a>(
    root: &Path,
    target_dir: &Path,
    guests: impl Iterator<Item = &'a str>,
    examples: impl Iterator<Item = &'a str>,
) {
    let mut cargo = Command::new(told("CARGO"));
    cargo
        .current_dir(root)
        .args(["build", "--locked", "--profile", "guest"])
        .args(["--target", TARGET, "--lib"])
        .args(examples.flat_map(|it| ["--package", "aerostat-sdk", "--example", it]))
        .args(guests.flat_map(|it| ["--package", it]))
        .arg("--target-dir")
        .arg(target_dir)
        .stdin(Stdio::null());
    for name in OUTER {
        cargo.env_remove(name);
    }
    // Built in pieces for a next build, a guest would have other bytes.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(root)).env("CARGO_INCREMENTAL", "0");
    let status = cargo.status().expect("cargo starts: it runs this script");
    assert!(status.success(), "cannot build the guests, see above");
}

/// The flags of `deploy/release.sh`: no folder of this machine is in the bytes, so that a guest has the size that is released.
fn flags(root: &Path) -> OsString {
    let cargo_home = read("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| read("HOME").map(|it| Path::new(&it).join(".cargo"))).unwrap_or_default();
    let sources = fs::read_dir(cargo_home.join("registry/src")).into_iter().flatten().filter_map(Result::ok);
    let mut named = vec![(root.to_owned(), "/aerostat"), (cargo_home, "/cargo")];
    // Of several the last one that fits counts.
    named.extend(sources.map(|it| (it.path(), "/cargo")));
    let mut flags = OsString::from("-Clink-arg=--compress-relocations\x1f--cfg=sha2_backend_soft=\"compact\"");
    for (folder, name) in named {
        flags.push("\x1f--remap-path-prefix=");
        flags.push(folder);
        flags.push(format!("={name}"));
    }
    flags
}

/// Writes a built guest as `make release` would ship it. Bytes that are there already stay untouched, for tests that run.
fn strip(built: &Path, stripped: &Path) {
    let bytes = fs::read(built).unwrap_or_else(|error| panic!("cargo did not build {}: {error}", built.display()));
    let bytes = strip_module::stripped(&bytes).unwrap_or_else(|error| panic!("{}: {error:#}", built.display()));
    if fs::read(stripped).ok().as_ref() != Some(&bytes) {
        fs::write(stripped, bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", stripped.display()));
    }
}

/// Gives the path of a guest to `src/guests.rs`.
fn export(guest: &str, path: &Path) {
    let name = guest.replace('-', "_").to_uppercase();
    println!("cargo::rustc-env=GUEST_{name}={}", path.display());
}

fn told(name: &str) -> OsString {
    read(name).unwrap_or_else(|| panic!("cargo sets {name} for a build script"))
}

#[expect(clippy::disallowed_methods, reason = "cargo talks to a build script in the environment")]
fn read(name: &str) -> Option<OsString> {
    env::var_os(name)
}
