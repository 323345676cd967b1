//! Ports for servers that take theirs from a flag.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

/// Ports that the kernel does not assign by itself: no outgoing connection of another test can take one between our
/// check and the start of the server.
const RANGE: std::ops::Range<u16> = 12_000..30_000;

/// So many ports of loopback that are free now, all different.
///
/// # Errors
///
/// Fails if there are not so many.
pub fn free<const N: usize>() -> Result<[u16; N]> {
    let (start, _) = uuid::Uuid::new_v4().as_u64_pair();
    let length = u64::from(RANGE.end - RANGE.start);
    let mut ports = (0..length)
        .map(|offset| (start.wrapping_add(offset)) % length)
        .filter_map(|offset| u16::try_from(offset).ok())
        .map(|offset| RANGE.start + offset)
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
