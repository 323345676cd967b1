//! Reads small files whose content is secret.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use zeroize::Zeroizing;

/// The longest file.
const BYTES: u64 = 16 << 10;

/// The bytes of a file; `None` if they are too many.
pub(super) fn read(file: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    // With all its capacity from the start: a buffer that grows leaves copies of the secret behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(BYTES as usize + 1));
    File::open(file)?.take(BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= BYTES).then_some(bytes))
}

/// The bytes of a file without the end of its line; `None` if they are too many.
pub(super) fn read_line(file: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    Ok(read(file)?.map(|mut text| {
        for end in [b'\n', b'\r'] {
            if text.last() == Some(&end) {
                text.pop();
            }
        }
        text
    }))
}
