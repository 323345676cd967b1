//! A folder of blobs, named by their digests, for the day on which the registry is down. Nothing in it is trusted: each file
//! is hashed when it is read, and signatures are verified again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha256::Digest;
use tokio::fs;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tracing::warn;
use uuid::Uuid;

use crate::descriptor;
use crate::manifest;
use crate::signature::FoundSignature;

/// The most bytes of all files.
const SIZE: u64 = 32 << 20;
/// The largest file that names signatures, in bytes, and the most that it names.
const SIGNATURES: usize = 64 << 10;
const NAMED: usize = 16;
/// The beginning of unfinished files' names, and the age from which nobody writes to them any more.
const UNFINISHED: &str = ".unfinished-";
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder that keeps what was pulled.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Makes the folder if it is missing, and tries whether it can be written to.
    ///
    /// # Errors
    ///
    /// A sentence that names the folder and says what to do.
    pub async fn open(folder: &Path) -> Result<Self, String> {
        let cache = Self { folder: folder.to_owned() };
        let tried = async {
            if !fs::try_exists(folder).await? {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await?;
            }
            let path = cache.unfinished();
            write(&path, b"").await?;
            fs::remove_file(&path).await
        };
        tried.await.map_err(|error| {
            format!(
                "cannot write to --module-cache {}: {error}; mount a folder there that this user may write to, or leave the flag out",
                folder.display()
            )
        })?;
        Ok(cache)
    }

    /// The bytes with this digest. A file with others is deleted.
    pub(crate) async fn get(&self, digest: Digest, limit: usize) -> Option<Vec<u8>> {
        let path = self.folder.join(digest.to_string());
        let because = match read(&path, limit).await {
            Ok(bytes) if Digest::of(&bytes) == digest => {
                touch(&path).await;
                return Some(bytes);
            }
            Ok(_) => "it has another sha256 than its name says".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => error.to_string(),
        };
        self.delete(&path, &because).await;
        None
    }

    /// Keeps bytes. What cannot be kept is asked for again at the next start.
    pub(crate) async fn put(&self, digest: Digest, bytes: &[u8]) {
        self.write(&digest.to_string(), bytes).await;
    }

    /// Where signatures of a manifest were that verified once.
    pub(crate) async fn signatures(&self, manifest: Digest) -> Vec<FoundSignature> {
        let path = self.folder.join(format!("{manifest}.signatures"));
        match read(&path, SIGNATURES).await {
            Ok(bytes) => match serde_json::from_slice::<Vec<FoundSignature>>(&bytes) {
                Ok(found) => found.into_iter().take(NAMED).collect(),
                Err(error) => {
                    self.delete(&path, &error.to_string()).await;
                    Vec::new()
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                self.delete(&path, &error.to_string()).await;
                Vec::new()
            }
        }
    }

    /// Keeps where the signature of a manifest is that verified.
    pub(crate) async fn put_signature(&self, manifest: Digest, found: &FoundSignature) {
        let text = serde_json::to_vec(&[found]).unwrap_or_default();
        self.write(&format!("{manifest}.signatures"), &text).await;
    }

    /// Deletes what was used longest ago, down to 32 MiB, but nothing that these manifests need.
    pub(crate) async fn prune(&self, manifests: &[Digest]) {
        let mut needed = BTreeSet::new();
        for manifest in manifests {
            needed.insert(manifest.to_string());
            needed.insert(format!("{manifest}.signatures"));
            let module = self.get(*manifest, manifest::LIMIT).await.and_then(|it| manifest::module(&it).ok());
            needed.extend(module.map(|it| it.digest.to_string()));
            let blobs = self.signatures(*manifest).await;
            needed.extend(blobs.iter().filter_map(|it| Some(descriptor::digest(it.digest()).ok()?.to_string())));
        }
        if let Err(error) = self.prune_to(SIZE, &needed).await {
            warn!("cannot look through --module-cache {}: {error}", self.folder.display());
        }
    }

    async fn prune_to(&self, size: u64, needed: &BTreeSet<String>) -> io::Result<()> {
        let mut files = Vec::new();
        let mut entries = fs::read_dir(&self.folder).await?;
        while let Some(entry) = entries.next_entry().await? {
            let Ok(metadata) = fs::symlink_metadata(entry.path()).await else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let is_abandoned = name.starts_with(UNFINISHED) && used.elapsed().is_ok_and(|it| it > ABANDONED);
            if is_abandoned {
                let _ = fs::remove_file(entry.path()).await;
            } else if is_ours(&name) {
                files.push((used, name, metadata.len()));
            }
        }
        files.sort();
        let mut all: u64 = files.iter().map(|it| it.2).sum();
        for (_, name, length) in files {
            if all <= size {
                break;
            }
            if !needed.contains(&name) && fs::remove_file(self.folder.join(&name)).await.is_ok() {
                all -= length;
            }
        }
        Ok(())
    }

    async fn write(&self, name: &str, bytes: &[u8]) {
        let (path, unfinished) = (self.folder.join(name), self.unfinished());
        let written = async {
            write(&unfinished, bytes).await?;
            fs::rename(&unfinished, &path).await
        };
        if let Err(error) = written.await {
            warn!("cannot keep {name} in --module-cache {}: {error}", self.folder.display());
            let _ = fs::remove_file(&unfinished).await;
        }
    }

    async fn delete(&self, path: &Path, because: &str) {
        let deleted = fs::remove_file(path).await;
        let outcome =
            deleted.map_or_else(|error| format!("and cannot be deleted: {error}"), |()| "and is deleted".to_owned());
        warn!("a file of --module-cache cannot be used {outcome}: {}: {because}", path.display());
    }

    fn unfinished(&self) -> PathBuf {
        self.folder.join(format!("{UNFINISHED}{}", Uuid::new_v4()))
    }
}

/// Whether a file has a name that only we give.
fn is_ours(name: &str) -> bool {
    let hex = name.strip_suffix(".signatures").unwrap_or(name);
    hex.len() == 64 && Digest::parse(hex).is_ok()
}

/// The bytes of a file that is one.
async fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer, and a link leads to who knows where.
    if !fs::symlink_metadata(path).await?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path).await?.take(limit as u64 + 1).read_to_end(&mut bytes).await?;
    if bytes.len() > limit { Err(io::Error::other(format!("larger than {limit} bytes"))) } else { Ok(bytes) }
}

async fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).await?;
    file.write_all(bytes).await?;
    file.sync_all().await
}

/// Says that a file was used. Where that fails it may be deleted sooner.
async fn touch(path: &Path) {
    if let Ok(file) = fs::OpenOptions::new().append(true).open(path).await {
        let _ = file.into_std().await.set_modified(SystemTime::now());
    }
}

#[cfg(test)]
mod tests;
