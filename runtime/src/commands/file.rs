//! Files with modules: read with a limit, written as a whole or not at all.

use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tokio::fs;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use uuid::Uuid;

/// The largest module, in bytes: as `provider.module.file` has it.
const LIMIT: u64 = 4 << 20;

/// The bytes of a module.
pub(super) async fn read(path: &Path) -> Result<Vec<u8>> {
    read_up_to(path, LIMIT, "build it with opt-level \"s\", lto and strip").await
}

/// The bytes of a file of at most so many; `advice` is for a larger one.
pub(super) async fn read_up_to(path: &Path, limit: u64, advice: &str) -> Result<Vec<u8>> {
    let shown = path.display();
    let bytes = whole(path, limit).await.with_context(|| format!("cannot read {shown}; correct the path"))?;
    if bytes.len() as u64 > limit {
        bail!("{shown} is larger than {} MiB; {advice}", limit >> 20);
    }
    Ok(bytes)
}

async fn whole(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path).await?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path).await?.take(limit + 1).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// Refuses to go on where a file would be replaced.
pub(super) async fn check_free(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path).await {
        Ok(_) => bail!("{}", taken(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot look for {}; correct the path", path.display())),
    }
}

/// Writes a file beside its place, and puts it there when it is complete. What is there is only replaced if `replaces`.
pub(super) async fn write(path: &Path, bytes: &[u8], replaces: bool) -> Result<()> {
    let name = path.file_name().with_context(|| format!("{} names no file; correct the path", path.display()))?;
    let unfinished = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), Uuid::new_v4()));
    let written = place(path, &unfinished, bytes, replaces).await;
    // Where it was moved, there is none.
    let _ = fs::remove_file(&unfinished).await;
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !replaces => bail!("{}", taken(path)),
        other => other
            .with_context(|| format!("cannot write {}; name a file in a folder that you may write to", path.display())),
    }
}

async fn place(path: &Path, unfinished: &Path, bytes: &[u8], replaces: bool) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(unfinished).await?;
    file.write_all(bytes).await?;
    file.sync_all().await?;
    match replaces {
        true => fs::rename(unfinished, path).await,
        // Unlike a new name, a second one never replaces anything.
        false => fs::hard_link(unfinished, path).await,
    }
}

fn taken(path: &Path) -> String {
    format!("{} is there already; name another file, or replace it with --force", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new() -> Self {
            let path = std::env::temp_dir().join(format!("aerostat-module-{}", Uuid::new_v4()));
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn files(&self) -> Vec<String> {
            let names = std::fs::read_dir(&self.0).unwrap().map(|it| it.unwrap().file_name());
            names.map(|it| it.into_string().unwrap()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[tokio::test]
    async fn nothing_is_replaced_that_was_not_meant() {
        let folder = Folder::new();
        let path = folder.0.join("acme.wasm");
        check_free(&path).await.unwrap();
        write(&path, b"one", false).await.unwrap();
        for error in [check_free(&path).await.unwrap_err(), write(&path, b"two", false).await.unwrap_err()] {
            assert!(error.to_string().ends_with("replace it with --force"), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        write(&path, b"two", true).await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(folder.files(), ["acme.wasm"], "nothing unfinished stays");

        let nowhere = folder.0.join("nowhere/acme.wasm");
        let error = write(&nowhere, b"", true).await.unwrap_err();
        assert!(error.to_string().contains("cannot write") && error.to_string().contains("a folder that"), "{error}");
    }

    #[tokio::test]
    async fn a_file_over_4_mib_is_no_module() {
        let folder = Folder::new();
        let path = folder.0.join("acme.wasm");
        std::fs::write(&path, vec![0; 4 << 20]).unwrap();
        assert_eq!(read(&path).await.unwrap().len(), 4 << 20);
        std::fs::write(&path, vec![0; (4 << 20) + 1]).unwrap();
        assert!(read(&path).await.unwrap_err().to_string().contains("larger than 4 MiB; build it with"));
        let error = format!("{:#}", read(&folder.0).await.unwrap_err());
        assert!(error.contains("correct the path: not a regular file"), "{error}");
    }
}
