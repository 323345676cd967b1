//! The process that compiles a provider: what it may use, and what it may do.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tests::control_plane::cluster;
use tests::operator::PATIENCE;
use tests::registry::{Access, Artifact, RealRegistry};
use tests::{component, costly, guests, wait};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::setup::{Setup, says};

/// The most that a process was seen to use.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// Physical memory, in MiB.
    memory: u64,
    cpu: Duration,
}

impl Used {
    /// Adds what the process uses now. `None`: it has ended.
    fn look(&mut self, pid: u32) -> Option<()> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let peak = field(&status, "VmHWM:")?.split(' ').next()?.parse::<u64>().ok()?;
        self.memory = self.memory.max(peak >> 10);
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name in brackets, user and system time are the twelfth and thirteenth field.
        let ticks: u64 =
            stat.rsplit(')').next()?.split(' ').skip(12).take(2).filter_map(|it| it.parse::<u64>().ok()).sum();
        self.cpu = self.cpu.max(Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second()));
        Some(())
    }
}

/// The value of a name in `/proc/…/status`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|it| it.strip_prefix(name)).map(str::trim)
}

/// The processes that this one has started.
fn children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        field(&status, "PPid:") == Some(&parent.to_string())
    };
    all.filter(is_child).collect()
}

/// Starts aerostat with a module and these limits of its compiler. It must give up. Returns what it says last, and what
/// it and its compiler used.
async fn refused(module: &[u8], limits: Value) -> (String, Used, Used) {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::ACME).edit(|it| it["provider"]["limits"]["compile"] = limits);
    let path = setup.folder.write("module.wasm", module);
    let refused = refused_start(&setup.module(&path)).await;
    says(&refused.0, &["module.wasm cannot be compiled"]);
    refused
}

/// As [`refused`], for a module that a registry has.
async fn refused_from_registry(module: &[u8], limits: Value) -> (String, Used, Used) {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let module = Artifact::new(module);
    registry.push(&module, None).await;
    let setup = Setup::guest(&cluster, guests::ACME).edit(|config| {
        config["provider"]["limits"]["compile"] = limits;
        config["provider"]["module"] = registry.module(&module.digest());
    });
    let refused = refused_start(&setup).await;
    says(&refused.0, &[&format!("@sha256:{} cannot be compiled", module.digest())]);
    refused
}

/// Starts aerostat, which must give up. Returns what it says last, and what it and its compiler used.
async fn refused_start(setup: &Setup) -> (String, Used, Used) {
    let process = setup.start();
    let pid = process.aerostat.pid();
    let (mut host, mut compiler) = (Used::default(), Used::default());
    let watch = wait::until("aerostat's end", async || {
        for child in children(pid) {
            compiler.look(child);
        }
        host.look(pid).is_none().then_some(())
    });
    let (message, ()) = tokio::join!(process.fails(), watch);
    (message, host, compiler)
}

#[tokio::test]
async fn adv_106_a_module_over_a_limit_ends_the_start_with_its_name() {
    let (message, host, compiler) = refused(&costly::nested_components(118_000), json!({})).await;
    says(&message, &["17 components", "provider.limits.compile.nesting allows 16", "raise that in --cloud-config"]);
    assert!(compiler.memory < 100 && host.memory < 200, "{host:?} {compiler:?}");
}

#[tokio::test]
async fn adv_106_the_compilers_memory_is_limited() {
    let limits = json!({ "memory": "384Mi", "nesting": 1_000_000, "modules": 1_000_000 });
    let (message, host, compiler) = refused(&costly::nested_components(118_000), limits).await;
    says(&message, &["more than 384 MiB of memory", "provider.limits.compile.memory", "raise that in --cloud-config"]);
    assert!(compiler.memory > 10, "the compiler was not seen: {compiler:?}");
    assert!(compiler.memory <= 384 && host.memory < 200, "{host:?} {compiler:?}");
}

#[tokio::test]
async fn adv_106_the_compilers_cpu_time_is_limited() {
    let limits = json!({ "cpu": "1s", "memory": "2Gi", "functionBytes": "4Mi", "blocks": 1_000_000 });
    let (message, host, compiler) = refused(&costly::nested_loops(200_000), limits).await;
    says(&message, &["more than 1 s of CPU time", "provider.limits.compile.cpu", "raise that in --cloud-config"]);
    assert!(compiler.cpu <= Duration::from_secs(2), "{host:?} {compiler:?}");
    assert!(host.memory < 200, "{host:?} {compiler:?}");
}

#[tokio::test]
async fn adv_106_types_that_exhaust_the_stack_are_reported() {
    let limits = json!({ "nesting": 1_000_000, "types": 1_000_000 });
    let (message, host, _) = refused(&costly::nested_types(200_000), limits).await;
    says(&message, &["more stack than the compiler has", "nested too deep"]);
    assert!(host.memory < 200, "{host:?}");
}

#[tokio::test]
async fn adv_60_branch_tables_from_a_registry_end_the_start() {
    let bomb = costly::branch_tables(20, 60_000);
    let (message, host, compiler) = refused_from_registry(&bomb, json!({})).await;
    says(&message, &["bytes in one function", "provider.limits.compile.functionBytes", "raise that in --cloud-config"]);
    assert!(compiler.memory < 100 && host.memory < 200, "{host:?} {compiler:?}");

    // Limits that let it through: it needs more than 192 MiB.
    let bomb = costly::branch_tables(60, 60_000);
    let limits = json!({ "memory": "192Mi", "functionBytes": "32Mi", "branchTargets": 100_000_000 });
    let (message, host, compiler) = refused_from_registry(&bomb, limits).await;
    says(&message, &["more than 192 MiB of memory", "provider.limits.compile.memory", "raise that in --cloud-config"]);
    assert!(compiler.memory > 10, "the compiler was not seen: {compiler:?}");
    assert!(compiler.memory <= 192 && host.memory < 200, "{host:?} {compiler:?}");
}

#[tokio::test]
async fn adv_61_loops_with_locals_from_a_registry_end_the_start() {
    // 348 KiB that keep a compiler without limits busy for 9 s, and fill more than 2 GiB within one.
    let bomb = costly::loops_with_locals(20_000, 10_000);
    let (message, host, compiler) = refused_from_registry(&bomb, json!({})).await;
    says(&message, &["provider.limits.compile.", "raise that in --cloud-config"]);
    assert!(compiler.memory < 100 && host.memory < 200, "{host:?} {compiler:?}");

    let limits = json!({
        "cpu": "1s", "memory": "16Gi", "functionBytes": "4Mi", "blocks": 1_000_000, "locals": 1_000_000,
    });
    let (message, host, compiler) = refused_from_registry(&bomb, limits).await;
    says(&message, &["more than 1 s of CPU time", "provider.limits.compile.cpu", "raise that in --cloud-config"]);
    assert!(compiler.cpu <= Duration::from_secs(2) && host.memory < 200, "{host:?} {compiler:?}");
}

/// Whether this kernel offers Landlock: an empty set of rules can be made.
fn has_landlock() -> bool {
    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    rules.handle_access(AccessFs::from_all(ABI::V1)).and_then(|it| it.create()).is_ok()
}

#[tokio::test]
async fn adv_106_the_compiler_has_no_rights_when_it_reads() {
    let mut compiler = Command::new(tests::aerostat::binary().unwrap())
        .args(["compile-provider", "67108864", "memory=400000000", "cpu=7"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let proc = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", compiler.id())).unwrap_or_default();
    // It waits for the module. A process that has a limit of no descriptors has all others.
    let limits = wait::until("the compiler's limits", async || {
        Some(proc("limits")).filter(|it| it.lines().any(|it| it.starts_with("Max open files") && it.contains(" 0 ")))
    })
    .await;
    for (name, value) in
        [("Max cpu time", "7"), ("Max address space", "400000000"), ("Max core file size", "0"), ("Max file size", "0")]
    {
        let line = limits.lines().find(|it| it.starts_with(name)).unwrap();
        assert_eq!(line[name.len()..].split_whitespace().next(), Some(value), "{line}");
    }
    let has_seccomp = fs::exists("/proc/sys/kernel/seccomp/actions_avail").unwrap();
    if has_seccomp {
        let filtered = async || (field(&proc("status"), "Seccomp:") == Some("2")).then_some(());
        wait::until("the filter of system calls", filtered).await;
        assert_eq!(field(&proc("status"), "NoNewPrivs:"), Some("1"));
    }

    compiler.stdin.take().unwrap().write_all(&component::only_provider()).unwrap();
    let (mut code, mut said) = (Vec::new(), String::new());
    compiler.stdout.take().unwrap().read_to_end(&mut code).unwrap();
    compiler.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(compiler.wait().unwrap().success() && !code.is_empty(), "{said}");
    // It has tried to open a file, a socket and a program, and says where it was not refused.
    let missing = |name: &str| said.contains(&format!("unprotected: {name} is missing"));
    assert_eq!((missing("Landlock"), missing("seccomp")), (!has_landlock(), !has_seccomp), "{said}");
    assert_eq!(said.lines().count(), usize::from(!has_landlock()) + usize::from(!has_seccomp), "{said}");
}

#[tokio::test]
async fn adv_172_the_compiler_closes_what_it_has_inherited() {
    // The ninth descriptor is the only one that leads to this pipe: as long as it is open, the pipe does not end.
    let mut compiler = tokio::process::Command::new("sh")
        .args(["-c", "exec 9>&2 2>/dev/null \"$0\" compile-provider 67108864"])
        .arg(tests::aerostat::binary().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut inherited, mut said) = (compiler.stderr.take().unwrap(), Vec::new());
    let closed = tokio::time::timeout(PATIENCE, inherited.read_to_end(&mut said)).await;
    assert!(closed.is_ok_and(|it| it.is_ok()) && said.is_empty(), "it stays open: {}", String::from_utf8_lossy(&said));
    assert_eq!(compiler.try_wait().unwrap(), None, "it waits for the module");

    compiler.stdin.take().unwrap().write_all(&component::only_provider()).await.unwrap();
    let ended = compiler.wait_with_output().await.unwrap();
    assert!(ended.status.success() && !ended.stdout.is_empty(), "it compiles all the same: {}", ended.status);
}
