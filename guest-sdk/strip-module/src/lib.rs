//! Sections of a component that nothing reads: names, and who compiled it. A section has a number, its length and its bytes;
//! those of a core module inside, and of a component inside, are sections too. `aerostat provider build`, releases and tests strip
//! alike: the same component becomes the same bytes.

#![forbid(unsafe_code)]

use anyhow::{Context as _, Result, bail, ensure};

/// Sections by their numbers: one with a name, and in a component a core module and a component.
const CUSTOM: u8 = 0;
const CORE_MODULE: u8 = 1;
const COMPONENT: u8 = 4;

/// The beginning of a component; the four bytes before are those of a core module, too.
const COMPONENT_VERSION: [u8; 4] = [0x0d, 0, 1, 0];
const HEADER: usize = 8;

/// Names of sections without which it does the same. A core module's `name` shows functions in a crash's trace, and
/// stays in what another tool builds.
const UNREAD: [&str; 3] = ["component-name", "name", "producers"];

/// The same component without them.
///
/// # Errors
///
/// If the bytes are no sections.
pub fn stripped(bytes: &[u8]) -> Result<Vec<u8>> {
    ensure!(bytes.len() >= HEADER && bytes.starts_with(b"\0asm"), "it is no WebAssembly");
    let is_component = bytes[4..HEADER] == COMPONENT_VERSION;
    let mut kept = bytes[..HEADER].to_vec();
    let mut rest = &bytes[HEADER..];
    while let Some((number, after)) = rest.split_first() {
        let (body, next) = sized(after).context("a section is cut off")?;
        rest = next;
        let inner = match *number {
            CUSTOM if is_unread(body) => continue,
            CORE_MODULE | COMPONENT if is_component => Some(stripped(body)?),
            _ => None,
        };
        let body = inner.as_deref().unwrap_or(body);
        kept.push(*number);
        push_length(&mut kept, body.len());
        kept.extend(body);
    }
    Ok(kept)
}

fn is_unread(body: &[u8]) -> bool {
    sized(body).is_ok_and(|(name, _)| UNREAD.iter().any(|it| it.as_bytes() == name))
}

/// The bytes whose length stands before them, and what follows them.
fn sized(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let mut length = 0_usize;
    for (place, byte) in bytes.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return bytes[place + 1..].split_at_checked(length).context("it is shorter than it says");
        }
    }
    bail!("a length does not end")
}

fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length > 0x7f {
        bytes.push(0x80 | u8::try_from(length & 0x7f).unwrap_or_default());
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section of these bytes.
    fn section(number: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number];
        push_length(&mut bytes, body.len());
        bytes.extend(body);
        bytes
    }

    fn named(name: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![u8::try_from(name.len()).unwrap()];
        bytes.extend(name.as_bytes());
        bytes.extend(body);
        section(CUSTOM, &bytes)
    }

    fn whole(version: [u8; 4], sections: &[Vec<u8>]) -> Vec<u8> {
        [b"\0asm".to_vec(), version.to_vec(), sections.concat()].concat()
    }

    #[test]
    fn names_go_at_every_depth_and_all_else_stays() {
        let code = section(10, &[7; 300]);
        let core = |names: &[Vec<u8>]| whole([1, 0, 0, 0], &[names.concat(), code.clone()]);
        let component = |names: &[Vec<u8>]| {
            let inner = whole(COMPONENT_VERSION, &[named("docs", b"of the contract"), names.concat()]);
            let parts = [section(CORE_MODULE, &core(names)), section(COMPONENT, &inner), section(7, b"type")];
            whole(COMPONENT_VERSION, &[parts.concat(), names.concat()])
        };
        let names = [named("name", &[1; 200]), named("component-name", b"x"), named("producers", b"rustc")];
        assert_eq!(stripped(&component(&names)).unwrap(), component(&[]));
        // The number of a component's core module is that of a core module's types.
        let types = whole([1, 0, 0, 0], &[section(CORE_MODULE, b"types")]);
        assert_eq!(stripped(&types).unwrap(), types);
    }

    #[test]
    fn a_module_that_is_cut_off_is_an_error() {
        let good = whole(COMPONENT_VERSION, &[section(7, &[0; 200])]);
        for bytes in [&good[..7], &good[..9], &good[..good.len() - 1], b"\x7fELF\0\0\0\0"] {
            assert!(stripped(bytes).is_err(), "{bytes:?}");
        }
        let endless = whole(COMPONENT_VERSION, &[vec![7, 0x80, 0x80, 0x80, 0x80, 0x80, 0]]);
        assert!(stripped(&endless).is_err());
    }
}
