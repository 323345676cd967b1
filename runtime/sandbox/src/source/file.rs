use std::io;
use std::path::Path;

use tokio::io::AsyncReadExt;

use super::error::SourceError;

const LIMIT: usize = 4 << 20;

/// The bytes of the file, read through one handle.
pub(super) async fn read(path: &Path, module: String) -> Result<Vec<u8>, SourceError> {
    let bytes = whole(path).await.map_err(|source| SourceError::File { module: module.clone(), source })?;
    if bytes.len() > LIMIT {
        return Err(SourceError::TooLarge { module, limit: LIMIT >> 20 });
    }
    Ok(bytes)
}

async fn whole(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !tokio::fs::metadata(path).await?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    tokio::fs::File::open(path).await?.take(LIMIT as u64 + 1).read_to_end(&mut bytes).await?;
    Ok(bytes)
}
