//! The use of a process so far, as Linux counts it.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Memory and CPU time of a process.
#[derive(Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Now, in bytes.
    pub(crate) resident: u64,
    /// At the most, in bytes. That of its children is not in it.
    pub(crate) peak: u64,
    /// User and system time since its start, with that of children that have ended.
    pub(crate) cpu: Duration,
}

/// The use of a process at the beginning of a measurement and at its end.
#[derive(Clone, Copy)]
pub(crate) struct Used {
    pub(crate) before: Usage,
    pub(crate) after: Usage,
}

impl Used {
    /// Seconds of CPU time in between.
    pub(crate) fn cpu(&self) -> f64 {
        self.after.cpu.saturating_sub(self.before.cpu).as_secs_f64()
    }
}

impl Usage {
    /// Reads `/proc/PID/status` and `/proc/PID/stat` (proc_pid_status(5), proc_pid_stat(5)).
    pub(crate) fn of(pid: u32) -> Result<Usage> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).context("the process has ended")?;
        let kilobytes = |key: &str| -> Result<u64> {
            let line = status.lines().find_map(|it| it.strip_prefix(key)).with_context(|| format!("no {key}"))?;
            Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The second field is the program's name in parentheses, and may hold anything.
        let fields: Vec<_> = stat.rsplit_once(')').context("no program name")?.1.split_whitespace().collect();
        let ticks = |index: usize| -> Result<u64> { Ok(fields.get(index).context("too few fields")?.parse()?) };
        let per_second = rustix::param::clock_ticks_per_second();
        Ok(Usage {
            resident: kilobytes("VmRSS:")?,
            peak: kilobytes("VmHWM:")?,
            cpu: Duration::from_millis((ticks(11)? + ticks(12)? + ticks(13)? + ticks(14)?) * 1000 / per_second),
        })
    }
}
