//! Values as Go's flag packages read them.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgAction};

/// Makes a flag of `arg` that is true without a value: `--x`, `--x=true`, `--x=false`, never `--x false`.
pub(super) fn bool_flag(arg: Arg) -> Arg {
    arg.action(ArgAction::Set)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_parser(boolean)
        .value_name("true|false")
}

/// The spellings of Go's `strconv.ParseBool`.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// A duration in Go's syntax.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    go_duration::parse(text).map_err(|it| it.to_string())
}

/// A path; empty is none. (clap's own parser of paths refuses the empty one.)
pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// An IPv4 or IPv6 address, without brackets.
pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    IpAddr::from_str(text).map_err(|_| "write an IPv4 or IPv6 address, as in 0.0.0.0 or ::1".to_owned())
}

/// The path of a flag, unless it is empty.
pub(super) fn given(path: &Path) -> Option<PathBuf> {
    (!path.as_os_str().is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_gos() {
        for (text, value) in [("true", true), ("T", true), ("1", true), ("false", false), ("F", false), ("0", false)] {
            assert_eq!(boolean(text), Ok(value), "{text}");
        }
        assert!(boolean("yes").is_err());
        assert!(boolean("tRue").is_err());
    }
}
