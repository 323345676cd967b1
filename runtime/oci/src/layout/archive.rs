//! The one file of a layout (tar), which comes from wherever people carry files: every byte of it is judged.

use std::collections::BTreeMap;
use std::io::{self, Cursor};

use bytes::Bytes;
use serde::Deserialize;
use sha256::Digest;
use tar::{Archive, Builder, Entry, EntryType, Header};

use super::{BLOB, Layout, SIZE};
use crate::descriptor::Descriptor;
use crate::error::foreign;
use crate::{manifest, pushed};

/// The most files.
const FILES: usize = 1024;
/// The file that says which form this is, and its text.
const VERSION: &str = "oci-layout";
const VERSION_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
/// The file with the entries.
const INDEX: &str = "index.json";
/// The folder of the blobs.
const BLOBS: &str = "blobs/sha256/";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutVersion {
    image_layout_version: String,
}

#[derive(Deserialize)]
struct Entries {
    manifests: Vec<Descriptor>,
}

impl Layout {
    /// All files, by their paths below one folder.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Bytes)> {
        let head = [
            (VERSION.to_owned(), Bytes::from_static(VERSION_TEXT)),
            (INDEX.to_owned(), pushed::index(&self.entries, &BTreeMap::new()).into()),
        ];
        let blobs = self.blobs.iter().map(|(digest, bytes)| (format!("{BLOBS}{digest}"), bytes.clone()));
        head.into_iter().chain(blobs).collect()
    }

    /// All files in one, with neither times nor users.
    #[must_use]
    pub fn tar(&self) -> Vec<u8> {
        let mut builder = Builder::new(Vec::with_capacity(self.size() + (1 << 20)));
        for (path, bytes) in self.files() {
            let mut header = Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            builder.append_data(&mut header, path, &*bytes).expect("memory takes short paths");
        }
        builder.into_inner().expect("memory takes everything")
    }

    /// Reads what [`Layout::tar`] has written.
    ///
    /// # Errors
    ///
    /// A clause that says what is wrong with the file.
    pub fn read(tar: &Bytes) -> Result<Self, String> {
        if tar.len() > SIZE + (FILES << 10) {
            return Err(format!("has more than {} MiB", SIZE >> 20));
        }
        let files = files(tar)?;
        let version: LayoutVersion = json(&files, VERSION)?;
        if version.image_layout_version != "1.0.0" {
            let version = foreign(&version.image_layout_version);
            return Err(format!("is in version {version:?} of its form, and 1.0.0 is known"));
        }
        let Entries { manifests: entries } = json(&files, INDEX)?;
        let mut blobs = BTreeMap::new();
        for (path, bytes) in files {
            let Some(hex) = path.strip_prefix(BLOBS) else { continue };
            let digest = Digest::of(&bytes);
            if digest.to_string() != hex {
                return Err(format!("holds {path} with other bytes: they have sha256 {digest}"));
            }
            blobs.insert(digest, bytes);
        }
        Ok(Self { entries, blobs })
    }
}

fn json<'a, T: Deserialize<'a>>(files: &'a BTreeMap<String, Bytes>, path: &str) -> Result<T, String> {
    let bytes = files.get(path).ok_or_else(|| format!("has no {path}"))?;
    if bytes.len() > manifest::LIMIT {
        return Err(format!("has an {path} of {} bytes, and {} are the most", bytes.len(), manifest::LIMIT));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("has an {path} that cannot be read: {error}"))
}

/// The files by their paths, of which there are three kinds; everything else that such a file can hold is refused.
fn files(tar: &Bytes) -> Result<BTreeMap<String, Bytes>, String> {
    let broken = |error: io::Error| format!("is cut off or damaged: {error}");
    let mut files = BTreeMap::new();
    // Raw: names and lengths that lie in entries of their own are no part of this form.
    for entry in Archive::new(Cursor::new(&**tar)).entries().map_err(broken)?.raw(true) {
        let entry = entry.map_err(broken)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let shown = foreign(&path);
        if entry.header().entry_type() != EntryType::Regular {
            return Err(format!("holds {shown:?}, which is no file but a link, a folder or the like"));
        }
        if ![VERSION, INDEX].contains(&&*path) && !path.strip_prefix(BLOBS).is_some_and(is_digest) {
            return Err(format!("holds {shown:?}, which has no place in it"));
        }
        let bytes = content(tar, &entry).map_err(|because| format!("holds {shown}, which {because}"))?;
        if files.insert(path, bytes).is_some() {
            return Err(format!("holds {shown} twice"));
        }
        if files.len() > FILES {
            return Err(format!("holds more than {FILES} files"));
        }
    }
    Ok(files)
}

/// The bytes of a file, where they lie.
fn content(tar: &Bytes, entry: &Entry<'_, Cursor<&[u8]>>) -> Result<Bytes, String> {
    let size = usize::try_from(entry.size()).ok().filter(|it| *it <= BLOB);
    let size = size.ok_or_else(|| format!("has {} bytes, and {BLOB} are the most", entry.size()))?;
    let start = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
    let end = start.saturating_add(size);
    if end > tar.len() {
        return Err("is cut off".to_owned());
    }
    Ok(tar.slice(start..end))
}

fn is_digest(hex: &str) -> bool {
    hex.len() == 64 && hex.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it))
}
