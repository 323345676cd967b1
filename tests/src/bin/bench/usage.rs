//! What a process has used so far, as Linux counts it.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Memory and CPU time of a process.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    /// Now, in bytes.
    pub(crate) resident: u64,
    /// At the most, in bytes.
    pub(crate) peak: u64,
    /// User and system time since its start.
    pub(crate) cpu: Duration,
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
            cpu: Duration::from_millis((ticks(11)? + ticks(12)?) * 1000 / per_second),
        })
    }
}

/// Bytes in a unit that people read.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Seconds with two digits.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
