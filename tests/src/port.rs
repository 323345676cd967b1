//! Ports for servers that take theirs from a flag.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};

/// Ports that the kernel does not assign by itself: no outgoing connection of another test can take one between our
/// check and the start of the server.
const RANGE: std::ops::Range<u16> = 12_000..30_000;
/// Ports that a program claims together.
const BLOCK: u16 = 50;
const BLOCKS: u16 = (RANGE.end - RANGE.start) / BLOCK;

/// The ports of this program. No other has one of them, so that none takes a port between our check and the start of the server.
struct Claimed {
    /// The blocks, with the locked files that claim them until this process ends.
    blocks: Vec<(u16, File)>,
    /// How many ports of these were given: after the last one it begins again with the first.
    given: usize,
}

static CLAIMED: Mutex<Claimed> = Mutex::new(Claimed { blocks: Vec::new(), given: 0 });

impl Claimed {
    /// Claims one more block; `false`, if there is none.
    fn grow(&mut self) -> Result<bool> {
        let folder = std::env::temp_dir().join("aerostat-test-ports");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let start = uuid::Uuid::new_v4().as_u64_pair().0;
        for step in 0..u64::from(BLOCKS) {
            let block = u16::try_from((start % u64::from(BLOCKS) + step) % u64::from(BLOCKS))?;
            let path = folder.join(block.to_string());
            let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            if file.try_lock().is_ok() {
                self.blocks.push((block, file));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next port, whether it is free or not.
    fn next(&mut self) -> Result<u16> {
        let size = usize::from(BLOCK);
        if self.given >= self.blocks.len() * size && !self.grow()? {
            self.given = 0;
        }
        let Some((block, _)) = self.blocks.get(self.given / size) else {
            bail!("other programs of tests have all ports of 127.0.0.1 from {} to {}", RANGE.start, RANGE.end);
        };
        let port = RANGE.start + block * BLOCK + u16::try_from(self.given % size)?;
        self.given += 1;
        Ok(port)
    }
}

/// So many ports of loopback that are free now, all different.
///
/// # Errors
///
/// Fails if there are not so many.
pub fn free<const N: usize>() -> Result<[u16; N]> {
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut free = [0; N];
    for slot in &mut free {
        let mut looked_at = 0;
        *slot = loop {
            let port = claimed.next()?;
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                break port;
            }
            looked_at += 1;
            if looked_at > RANGE.len() {
                bail!("no port of 127.0.0.1 is free");
            }
        };
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

    #[test]
    fn a_block_of_ports_is_one_programs() {
        let mut own = Claimed { blocks: Vec::new(), given: 0 };
        let mut other = Claimed { blocks: Vec::new(), given: 0 };
        let given = |of: &mut Claimed| (0..2 * BLOCK).map(|_| of.next().unwrap()).collect::<Vec<_>>();
        let (own_ports, other_ports) = (given(&mut own), given(&mut other));
        assert!(own_ports.iter().all(|it| !other_ports.contains(it)), "{own_ports:?} {other_ports:?}");
        let mut sorted = own_ports.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), own_ports.len(), "each is given once");
    }
}
