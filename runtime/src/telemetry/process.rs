//! `process_*`: what the process uses of its machine, read from `/proc`. Where there is none, nothing is shown.
//!
//! They are our own because the collector of prometheus counts CPU time in whole seconds, and lacks the limit of the
//! address space and the bytes of the network that Go's collector has.

use std::fs;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge};
use rustix::process::{Resource, getrlimit};

/// The families of Go's process collector, under the same names.
pub(super) struct ProcessCollector {
    cpu: Counter,
    open_fds: Gauge,
    max_fds: Gauge,
    virtual_memory: Gauge,
    virtual_memory_max: Gauge,
    resident_memory: Gauge,
    start_time: Gauge,
    received: Counter,
    sent: Counter,
}

impl ProcessCollector {
    pub(super) fn new() -> prometheus::Result<Self> {
        Ok(Self {
            cpu: Counter::new("process_cpu_seconds_total", "CPU time, user and system.")?,
            open_fds: Gauge::new("process_open_fds", "Open file descriptors.")?,
            max_fds: Gauge::new("process_max_fds", "How many file descriptors may be open.")?,
            virtual_memory: Gauge::new("process_virtual_memory_bytes", "Address space in use.")?,
            virtual_memory_max: Gauge::new("process_virtual_memory_max_bytes", "Address space that may be used.")?,
            resident_memory: Gauge::new("process_resident_memory_bytes", "Memory in use.")?,
            start_time: Gauge::new("process_start_time_seconds", "When the process began, in seconds since 1970.")?,
            received: Counter::new("process_network_receive_bytes_total", "Bytes received in its network namespace.")?,
            sent: Counter::new("process_network_transmit_bytes_total", "Bytes sent in its network namespace.")?,
        })
    }

    fn parts(&self) -> [&dyn Collector; 9] {
        [
            &self.cpu,
            &self.open_fds,
            &self.max_fds,
            &self.virtual_memory,
            &self.virtual_memory_max,
            &self.resident_memory,
            &self.start_time,
            &self.received,
            &self.sent,
        ]
    }

    /// `None` if this machine has no `/proc` of the expected form.
    fn read(&self) -> Option<()> {
        let stat = Stat::parse(&fs::read_to_string("/proc/self/stat").ok()?)?;
        let (ticks, page) = (rustix::param::clock_ticks_per_second() as f64, rustix::param::page_size() as f64);
        set(&self.cpu, stat.cpu_ticks as f64 / ticks);
        self.virtual_memory.set(stat.virtual_bytes as f64);
        self.resident_memory.set(stat.resident_pages as f64 * page);
        self.start_time
            .set(boot_time(&fs::read_to_string("/proc/stat").ok()?)? as f64 + stat.start_ticks as f64 / ticks);
        // Without the one that lists them.
        self.open_fds.set(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64);
        self.max_fds.set(limit(Resource::Nofile));
        self.virtual_memory_max.set(limit(Resource::As));
        if let Some((received, sent)) = fs::read_to_string("/proc/self/net/netstat").ok().as_deref().and_then(octets) {
            set(&self.received, received as f64);
            set(&self.sent, sent as f64);
        }
        Some(())
    }
}

impl Collector for ProcessCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.parts().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        match self.read() {
            Some(()) => self.parts().into_iter().flat_map(Collector::collect).collect(),
            None => Vec::new(),
        }
    }
}

/// Only when the process began.
pub(super) struct StartTime(pub(super) ProcessCollector);

impl Collector for StartTime {
    fn desc(&self) -> Vec<&Desc> {
        self.0.start_time.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.read().map(|()| self.0.start_time.collect()).unwrap_or_default()
    }
}

/// Moves a counter to a value that the kernel counted.
fn set(counter: &Counter, value: f64) {
    counter.inc_by((value - counter.get()).max(0.0));
}

/// The soft limit; no limit is the largest number, as Go's collector has it.
fn limit(resource: Resource) -> f64 {
    getrlimit(resource).current.unwrap_or(u64::MAX) as f64
}

/// The figures of `/proc/self/stat`.
#[derive(Debug, Eq, PartialEq)]
struct Stat {
    cpu_ticks: u64,
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(stat: &str) -> Option<Self> {
        // The second field is the program's name in parentheses, and may hold anything; after it comes field 3.
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the machine started, in seconds since 1970.
fn boot_time(stat: &str) -> Option<u64> {
    stat.lines().find_map(|it| it.strip_prefix("btime "))?.trim().parse().ok()
}

/// `InOctets` and `OutOctets` of the `IpExt` table, which is a line of names and a line of values.
fn octets(netstat: &str) -> Option<(u64, u64)> {
    let mut table = netstat.lines().filter_map(|it| it.strip_prefix("IpExt:"));
    let (names, values) = (table.next()?, table.next()?);
    let value = |name: &str| {
        let position = names.split_ascii_whitespace().position(|it| it == name)?;
        values.split_ascii_whitespace().nth(position)?.parse().ok()
    };
    Some((value("InOctets")?, value("OutOctets")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat =
            "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 900 1048576 25 18446744073709551615 1";
        let expected = Stat { cpu_ticks: 300, start_ticks: 900, virtual_bytes: 1_048_576, resident_pages: 25 };
        assert_eq!(Stat::parse(stat), Some(expected));
        assert_eq!(Stat::parse("7 (a"), None);
    }

    #[test]
    fn tables_are_read_by_name() {
        assert_eq!(boot_time("cpu 1 2\nbtime 1700000000\nprocesses 5\n"), Some(1_700_000_000));
        let netstat = "TcpExt: A B\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 11 22\n";
        assert_eq!(octets(netstat), Some((11, 22)));
        assert_eq!(octets("TcpExt: A\nTcpExt: 1\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_all_of_them() {
        let families = ProcessCollector::new().unwrap().collect();
        assert_eq!(families.len(), 9);
        let of = |name: &str| families.iter().find(|it| it.name() == name).unwrap().get_metric()[0].clone();
        assert!(of("process_resident_memory_bytes").get_gauge().get_value() > 1e6);
        assert!(of("process_open_fds").get_gauge().get_value() >= 3.0);
        assert!(of("process_start_time_seconds").get_gauge().get_value() > 1.6e9);
    }
}
