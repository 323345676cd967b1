//! The list of origins beside a file with a secret: the only ones that the secret goes to.

use std::path::{Path, PathBuf};

use crate::base_url::Origin;

/// Where the list is: beside the secret.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut origins = file.to_owned().into_os_string();
    origins.push(".origins");
    origins.into()
}

/// The list. A line may begin with `http://`: the config itself says where that is allowed. The error goes on with the sentence that begins
/// with the file.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Origin>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8; write one origin in a line".to_owned())?;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let origins = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(number, line)| {
        Origin::parse_insecure(line).map_err(|because| format!("has no usable origin in line {number}: {because}"))
    });
    origins.collect()
}
