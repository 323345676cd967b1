//! The interpreter that has moto and the official SDK.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The Python of the virtual environment.
pub(super) fn python() -> PathBuf {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/moto/bin/python");
    assert!(python.is_file(), "there is no {}. Next step: make moto", python.display());
    python
}

/// The variables that keep whatever is configured on this machine away from the server and from the SDK.
pub(super) fn environment() -> [(&'static str, &'static OsStr); 6] {
    let none = OsStr::new("/dev/null");
    [
        ("AWS_CONFIG_FILE", none),
        ("AWS_SHARED_CREDENTIALS_FILE", none),
        ("AWS_EC2_METADATA_DISABLED", OsStr::new("true")),
        ("NO_PROXY", OsStr::new("127.0.0.1")),
        ("no_proxy", OsStr::new("127.0.0.1")),
        ("PYTHONDONTWRITEBYTECODE", OsStr::new("1")),
    ]
}
