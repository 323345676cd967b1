//! How many calls of the provider fit into the memory that this process may use.

use std::fs;
use std::path::Path;

use egress::Endpoint;

/// Memory outside of calls, in bytes: the process itself, the cluster as it knows it, answers that serve several calls; and two
/// lists of machines at their limit of 80 MiB each, the last one and the one that is being read.
const HOST: u64 = 224 << 20;

/// Memory of a call beside its guest's and an answer, in bytes: 8 MiB that guest and host hand to each other in
/// one piece, its stack of 2 MiB, and 4 MiB in which an answer is searched for credentials, piece by piece
/// (`egress/src/credentials/decoded.rs`).
const BESIDE: u64 = 14 << 20;

/// The most that calls can take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct CallNumbers {
    /// How many run at once, whichever capability they belong to: all places together.
    pub(super) concurrency: usize,
    /// Bytes of all linear memories of one guest.
    pub(super) guest: u64,
    /// Bytes of the largest answer of the cloud. A call waits for one request at a time.
    pub(super) answer: u64,
}

impl CallNumbers {
    pub(super) fn new(concurrency: usize, guest: usize, endpoints: &[Endpoint]) -> Self {
        let answer = endpoints.iter().map(|it| it.limits.response_bytes).max().unwrap_or(0);
        Self { concurrency, guest: guest as u64, answer: answer as u64 }
    }

    /// Bytes of one call.
    pub(super) fn one(self) -> u64 {
        self.guest.saturating_add(self.answer).saturating_add(BESIDE)
    }

    /// Bytes of all calls.
    pub(super) fn all(self) -> u64 {
        self.one().saturating_mul(self.concurrency as u64)
    }

    /// As many of these calls as fit into `limit` bytes beside the rest of the process.
    ///
    /// # Errors
    ///
    /// If none does: what is missing, and what to change.
    pub(super) fn within(self, limit: Option<u64>) -> Result<Self, String> {
        let Some(limit) = limit else { return Ok(self) };
        let fits = limit.saturating_sub(HOST) / self.one();
        if fits == 0 {
            return Err(format!(
                "the memory limit of this container is {} MiB, and a call of the provider can take {} MiB beside {} MiB \
                 for aerostat itself; raise the limit to {} MiB at least, or lower provider.limits.memory or \
                 endpoints[].limits.responseBytes",
                limit >> 20,
                mebibytes(self.one()),
                mebibytes(HOST),
                mebibytes(self.one().saturating_add(HOST)),
            ));
        }
        let concurrency = self.concurrency.min(usize::try_from(fits).unwrap_or(usize::MAX));
        Ok(Self { concurrency, ..self })
    }
}

/// Mebibytes, rounded up.
pub(super) fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// How many bytes of memory the kernel lets this process use, if less than the machine has: the least limit of its
/// control group and of those around it. `root` is where `proc` and `sys` lie: `/`.
///
/// See cgroups(7), and `memory.max` (version 2) and `memory.limit_in_bytes` (version 1) in the kernel's documentation.
pub(super) fn limit(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let files = groups.lines().filter_map(|line| {
        let (hierarchy, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let version_1 = controllers.split(',').any(|it| it == "memory");
        match (hierarchy, version_1) {
            ("0", _) => Some(("sys/fs/cgroup", path, "memory.max")),
            (_, true) => Some(("sys/fs/cgroup/memory", path, "memory.limit_in_bytes")),
            (_, false) => None,
        }
    });
    files.filter_map(|(mount, path, file)| least(&root.join(mount), path, file)).min()
}

/// The least limit of a control group and of those around it. In a container, only the outermost may be there.
fn least(mount: &Path, path: &str, file: &str) -> Option<u64> {
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    groups.filter_map(|it| read(&mount.join(it).join(file))).min()
}

/// `None` if there is no such file, or no limit, which is the word `max`.
fn read(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// The defaults: 8 calls of 64 MiB, with answers of 16 MiB.
    fn calls(concurrency: usize) -> CallNumbers {
        CallNumbers { concurrency, guest: 64 * MIB, answer: 16 * MIB }
    }

    #[test]
    fn adv_122_as_many_calls_run_as_fit_into_the_memory() {
        for (concurrency, limit, expected) in [
            (8, None, 8),
            (8, Some(u64::MAX), 8),
            // What deploy/ gives.
            (8, Some(1024 * MIB), 8),
            (100, Some(1024 * MIB), 8),
            (8, Some(512 * MIB), 3),
            (8, Some((224 + 2 * 94) * MIB), 2),
            (8, Some((224 + 2 * 94) * MIB - 1), 1),
            (1, Some((224 + 94) * MIB), 1),
        ] {
            let found = calls(concurrency).within(limit).unwrap();
            assert_eq!(found, calls(expected), "{concurrency} within {limit:?}");
            assert!(limit.is_none_or(|it| found.all() + HOST <= it), "{concurrency} within {limit:?}");
        }
    }

    #[test]
    fn adv_122_memory_for_not_even_one_call_is_refused() {
        for limit in [0, 64 * MIB, 224 * MIB, (224 + 94) * MIB - 1] {
            let refusal = calls(8).within(Some(limit)).unwrap_err();
            for part in
                [&*format!("is {} MiB", limit / MIB), "94 MiB", "raise the limit to 318 MiB", "provider.limits.memory"]
            {
                assert!(refusal.contains(part), "{refusal}");
            }
        }
        let huge = CallNumbers { concurrency: usize::MAX, guest: u64::MAX, answer: u64::MAX };
        assert!(huge.within(Some(u64::MAX)).is_err());
        assert_eq!(huge.all(), u64::MAX);
    }

    /// A machine whose files are these.
    fn check(files: &[(&str, &str)], expected: Option<u64>) {
        let root = std::env::temp_dir().join(format!("aerostat-{}", uuid::Uuid::new_v4()));
        for (name, text) in files {
            let file = root.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let found = limit(&root);
        let _ = fs::remove_dir_all(&root);
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn adv_122_the_limit_of_the_control_group_is_read() {
        // Version 2, in a container that sees its own group as the root.
        check(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "1073741824\n")], Some(1024 * MIB));
        check(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")], None);
        // Version 2, where the groups around it are there too: the least counts.
        let nested = [
            ("proc/self/cgroup", "0::/kubepods/pod1/aerostat\n"),
            ("sys/fs/cgroup/kubepods/memory.max", "max\n"),
            ("sys/fs/cgroup/kubepods/pod1/memory.max", "536870912\n"),
            ("sys/fs/cgroup/kubepods/pod1/aerostat/memory.max", "1073741824\n"),
        ];
        check(&nested, Some(512 * MIB));
        // The name of the group is the host's, the files are the container's.
        check(
            &[("proc/self/cgroup", "0::/kubepods/pod1\n"), ("sys/fs/cgroup/memory.max", "268435456\n")],
            Some(256 * MIB),
        );
        // Version 1, also beside an empty version 2.
        let old = "12:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/docker/1\n";
        let file = "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes";
        check(&[("proc/self/cgroup", old), (file, "268435456\n")], Some(256 * MIB));
        check(&[("proc/self/cgroup", old), (file, "9223372036854771712\n")], Some(9_223_372_036_854_771_712));
        // A machine without control groups.
        check(&[], None);
        check(&[("proc/self/cgroup", "nonsense\n0::\n")], None);
    }
}
