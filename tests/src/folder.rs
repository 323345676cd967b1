//! A folder for the files of a test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

/// A folder that goes away with the test.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it.
    #[expect(clippy::new_without_default, reason = "it makes a folder, which nobody asks for by default")]
    pub fn new() -> Self {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../target/tmp/operator-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Where a file would be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in target/.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
