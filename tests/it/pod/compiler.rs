//! The compiler's process in the Pod: confined, as on a machine without a container runtime.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tests::pod::Site;
use tokio::task::JoinSet;

/// How often processes are looked at: a compiler runs for seconds.
const PAUSE: Duration = Duration::from_millis(10);

/// The filters that a thread of a compiler was seen with, besides that of the container runtime.
pub(crate) struct Compilers {
    seen: Arc<Mutex<BTreeSet<String>>>,
    _watch: JoinSet<()>,
}

impl Compilers {
    /// Looks at every compiler from now on.
    pub(crate) fn watch(site: &Site) -> Self {
        let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let mut watch = JoinSet::new();
        let _ = site;
        let into = Arc::clone(&seen);
        watch.spawn(async move {
            loop {
                for status in compilers() {
                    into.lock().unwrap().insert(status);
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { seen, _watch: watch }
    }

    /// Asserts that compilers were seen with a filter of their own beside that of the container runtime, and that none has found
    /// a protection missing.
    pub(crate) async fn were_confined(self, site: &Site) {
        let seen = self.seen.lock().unwrap().clone();
        eprintln!("           compilers: {seen:?}");
        let wanted = "Uid 65532, NoNewPrivs 1, Seccomp 2 with 2 filters, open files 0";
        assert!(seen.contains(wanted), "{seen:?}");
        for machine in &site.machines {
            let logs = machine.logs("aerostat");
            assert!(logs.contains("compile"), "{logs}");
            assert!(!logs.contains("less protected"), "{logs}");
        }
    }
}

/// The kernel's words about every thread of compilers.
fn compilers() -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let path = process.path();
        let is_compiler = fs::read(path.join("cmdline"))
            .is_ok_and(|it| it.split(|&byte| byte == 0).nth(1) == Some(b"compile-provider".as_slice()));
        if !is_compiler {
            continue;
        }
        let limits = fs::read_to_string(path.join("limits")).unwrap_or_default();
        let files = limits.lines().find_map(|it| it.strip_prefix("Max open files")).unwrap_or_default();
        let files = files.split_whitespace().next().unwrap_or_default().to_owned();
        for thread in fs::read_dir(path.join("task")).into_iter().flatten().flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let field =
                |name: &str| crate::restricted::field(&status, name).split('\t').next().unwrap_or_default().to_owned();
            found.push(format!(
                "Uid {}, NoNewPrivs {}, Seccomp {} with {} filters, open files {files}",
                field("Uid"),
                field("NoNewPrivs"),
                field("Seccomp"),
                field("Seccomp_filters"),
            ));
        }
    }
    found
}
