//! The list of origins beside a file with a secret: the only ones that the secret goes to.

use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::base_url::Origin;

/// Where the list is: beside the secret.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut origins = file.to_owned().into_os_string();
    origins.push(".origins");
    origins.into()
}

/// Why a file cannot be used.
pub(super) enum OriginsError {
    Unreadable(io::Error),
    /// Continues the sentence that begins with the file.
    Unusable(String),
}

/// The list, if there is one.
pub(super) fn read(file: &Path) -> Result<Option<Vec<Origin>>, OriginsError> {
    let unusable = |because: String| OriginsError::Unusable(because);
    let text = match super::text_file::read(file) {
        Ok(text) => text.ok_or_else(|| unusable("is larger than 16 KiB; remove lines".to_owned()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(OriginsError::Unreadable(source)),
    };
    parse(&text).map(Some).map_err(unusable)
}

/// A line may begin with `http://`: the config itself says where that is allowed.
fn parse(text: &Zeroizing<Vec<u8>>) -> Result<Vec<Origin>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8; write one origin in a line".to_owned())?;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let origins = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(number, line)| {
        Origin::parse_insecure(line).map_err(|because| format!("has no usable origin in line {number}: {because}"))
    });
    origins.collect()
}
