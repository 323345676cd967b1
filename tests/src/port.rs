//! Ports for servers that take theirs from a flag.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};

/// Ports that the kernel does not assign by itself: no outgoing connection of another test can take one between our
/// check and the start of the server.
const RANGE: std::ops::Range<u64> = 12_000..30_000;

const LENGTH: u64 = RANGE.end - RANGE.start;

/// The port that is looked at next, from a place by chance on. Each is given once in a round, so that two tests that start their servers
/// at the same time have different ones, and programs beside each other stand at different places.
static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(uuid::Uuid::new_v4().as_u64_pair().0 % LENGTH));

/// So many ports of loopback that are free now, all different.
///
/// # Errors
///
/// Fails if there are not so many.
pub fn free<const N: usize>() -> Result<[u16; N]> {
    let mut ports = (0..LENGTH)
        .map(|_| RANGE.start + NEXT.fetch_add(1, Ordering::Relaxed) % LENGTH)
        .filter_map(|port| u16::try_from(port).ok())
        .filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    let mut free = [0; N];
    for slot in &mut free {
        match ports.next() {
            Some(port) => *slot = port,
            None => bail!("no port of 127.0.0.1 is free"),
        }
    }
    Ok(free)
}

/// One port of loopback that is free now.
///
/// # Panics
///
/// Panics if there is none.
#[must_use]
pub fn free_port() -> u16 {
    let [port] = free().expect("a port of loopback is free");
    port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_different() {
        let ports: [u16; 4] = free().unwrap();
        // All at once: a port that came twice could not be bound twice.
        let bound: Vec<_> = ports.iter().map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).unwrap()).collect();
        assert_eq!(bound.len(), 4);
    }
}
