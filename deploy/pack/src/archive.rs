//! Files in one file (tar), sorted, with neither times nor users.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// A file, or a program.
pub(crate) struct ArchivedFile {
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

/// A tar file with these files by their paths, and with the folders that they are in if `with_folders`.
pub(crate) fn tar(files: &BTreeMap<String, ArchivedFile>, with_folders: bool) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let mut folders = BTreeSet::new();
    for (path, file) in files {
        for (end, _) in path.match_indices('/').filter(|_| with_folders) {
            let folder = &path[..=end];
            if folders.insert(folder) {
                append(&mut builder, folder, EntryType::Directory, 0o755, &[])?;
            }
        }
        append(&mut builder, path, EntryType::Regular, file.mode, &file.bytes)?;
    }
    builder.into_inner().context("a tar file has no end")
}

fn append(builder: &mut Builder<Vec<u8>>, path: &str, kind: EntryType, mode: u32, bytes: &[u8]) -> Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    builder.append_data(&mut header, path, bytes).with_context(|| format!("{path} has no place in a tar file"))
}

/// Smaller, with neither a name nor a time in the head, and with one compressor whatever the machine has.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    const UNKNOWN: u8 = 255;
    let mut encoder = GzBuilder::new().mtime(0).operating_system(UNKNOWN).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
