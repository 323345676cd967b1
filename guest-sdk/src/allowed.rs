//! Settings by which the operator lets authors of Services name certificates, addresses and the like that are not their own.

use crate::form::{Custom, List};
use crate::key::Key;
use crate::{Error, Result, settings};

/// Stands for an empty list.
pub const NONE: &str = "none";

/// The form of a setting that lists what authors of Services may name: names, or what they begin with and `*`. `none` stands for
/// an empty list.
#[must_use]
pub const fn names(what: &'static str, example: &'static str) -> List<Custom<String>> {
    List { of: Custom { allowed: "none, *, or what it begins with and *", parse: pattern }, what, example }
}

/// The names that a setting lets authors of Services write into annotations.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allowed {
    setting: &'static str,
    patterns: Vec<String>,
}

impl Allowed {
    /// Reads the setting.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub fn read(setting: &Key<List<Custom<String>>>) -> Result<Self> {
        Ok(Self { setting: setting.name, patterns: settings::get(setting)? })
    }

    /// Refuses a value of an annotation that they may not name.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, the value and the setting.
    pub fn check(&self, annotation: &str, value: &str) -> Result<()> {
        if self.has(value) {
            return Ok(());
        }
        Err(Error::invalid(format_args!(
            "annotation {annotation}: {value:?} is not for authors of Services to name: take it off, or let the operator of the \
             cluster add it to setting {}",
            self.setting
        )))
    }

    /// Whether they may name this.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let is = |pattern: &String| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => pattern != NONE && pattern == name,
        };
        self.patterns.iter().any(is)
    }
}

/// A value, with `*` at its end for any other end.
fn pattern(text: &str) -> Option<String> {
    let beginning = text.strip_suffix('*').unwrap_or(text);
    (!text.is_empty() && !beginning.contains('*')).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these names a setting allows.
    fn allowed<'a>(setting: &[&str], names: &[&'a str]) -> Vec<&'a str> {
        let patterns = setting.iter().map(|it| pattern(it).unwrap()).collect();
        let allowed = Allowed { setting: "allowed", patterns };
        names.iter().copied().filter(|it| allowed.has(it)).collect()
    }

    #[test]
    fn adv_170_only_what_a_setting_names_is_allowed() {
        let names = ["www", "www-2", "shop", "none", ""];
        assert!(allowed(&["none"], &names).is_empty());
        assert_eq!(allowed(&["www"], &names), ["www"]);
        assert_eq!(allowed(&["www*", "none"], &names), ["www", "www-2"]);
        assert_eq!(allowed(&["*"], &names), names);
        assert_eq!(["", "a*b", "**"].map(pattern), [const { None }; 3]);
    }
}
