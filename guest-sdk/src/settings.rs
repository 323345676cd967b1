//! The provider's settings, as the operator wrote them. Never a secret.

use std::fmt::Display;
use std::str::FromStr;

use crate::form::Form;
use crate::key::{self, Key, KeyPlace};
use crate::sorted::sort_by;
use crate::{Error, Result, host};

/// The setting of a row of a table; `None` where the operator left it out. See [`key`].
///
/// # Errors
///
/// [`Error::Invalid`], naming the setting, its value, and the allowed values.
pub fn read<T, F: for<'a> Form<Value<'a> = T>>(key: &Key<F>) -> Result<Option<T>> {
    text(key.name).map(|it| key.parse(KeyPlace::Setting, &it)).transpose()
}

/// The setting of a row of a table, or its default where the operator left it out.
///
/// # Errors
///
/// As [`read`], and [`Error::Invalid`] where it is left out and has no default.
pub fn get<T, F: for<'a> Form<Value<'a> = T>>(key: &Key<F>) -> Result<T> {
    read(key)?.map_or_else(|| key.missing(KeyPlace::Setting), Ok)
}

/// All settings of a row whose name has one `*`, each with what stands in its place, in the order of their names: of
/// "classes.*.network" those of all classes.
///
/// # Errors
///
/// [`Error::Invalid`], naming the first setting whose value is not allowed, its value, and the allowed values.
pub fn read_each<T, F: for<'a> Form<Value<'a> = T>>(key: &Key<F>) -> Result<Vec<(String, T)>> {
    let Some((before, after)) = key.name.split_once('*') else { return Ok(Vec::new()) };
    let mut values = Vec::new();
    for (name, text) in host::settings() {
        let part = name.strip_prefix(before).and_then(|it| it.strip_suffix(after)).filter(|it| !it.is_empty());
        if let Some(part) = part {
            values.push((part.to_owned(), key.parse_named(KeyPlace::Setting, &name, &text)?));
        }
    }
    sort_by(&mut values, |(one, _), (other, _)| one.cmp(other));
    Ok(values)
}

/// All settings as the operator wrote them: names and values.
#[must_use]
pub fn all() -> Vec<(String, String)> {
    host::settings()
}

/// The setting `name`, parsed; `None` where the operator left it out.
///
/// # Errors
///
/// [`Error::Invalid`], naming the setting and its value, if the value does not parse.
pub fn find<T: FromStr<Err: Display>>(name: &str) -> Result<Option<T>> {
    let Some(value) = text(name) else { return Ok(None) };
    match value.parse() {
        Ok(parsed) => Ok(Some(parsed)),
        Err(error) => Err(Error::invalid(format_args!("setting {name}: {value:?} is not valid: {error}"))),
    }
}

/// The setting `name`, parsed.
///
/// # Errors
///
/// [`Error::Invalid`], naming the setting, if it is missing or does not parse.
pub fn require<T: FromStr<Err: Display>>(name: &str) -> Result<T> {
    find(name)?.ok_or_else(|| key::missing(KeyPlace::Setting, name))
}

fn text(name: &str) -> Option<String> {
    host::settings().into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Integer;
    use crate::testing::Host;

    #[test]
    fn settings_of_names_that_operators_choose_are_all_read() {
        let key: Key<Integer> = Key::new("class.*.size", Integer::between(1, 9), "");
        let host = Host::new().setting("class.gold.size", "7").setting("class.base.size", "1");
        assert_eq!(host.run(|| read_each(&key)), Ok(vec![("base".to_owned(), 1), ("gold".to_owned(), 7)]));
        let refused = Host::new().setting("class.gold.size", "many").run(|| read_each(&key));
        let why = "setting class.gold.size: \"many\" is not a whole number from 1 to 9";
        assert_eq!(refused, Err(Error::invalid(why)));
    }

    #[test]
    fn a_setting_is_parsed_into_the_type_that_is_asked_for() {
        Host::new().setting("pool.size", "7").run(|| {
            assert_eq!(find::<u8>("pool.size"), Ok(Some(7)));
            assert_eq!(find::<u8>("pool"), Ok(None));
        });
    }

    #[test]
    fn a_setting_that_does_not_parse_is_named() {
        Host::new().setting("size", "many").run(|| {
            let error = find::<u8>("size").unwrap_err();
            assert_eq!(error, Error::invalid("setting size: \"many\" is not valid: invalid digit found in string"));
        });
    }

    #[test]
    fn a_missing_setting_is_named_with_the_place_to_write_it() {
        Host::new().run(|| {
            let error = require::<String>("region").unwrap_err();
            assert_eq!(error, Error::invalid("setting region is missing: write it under provider.settings"));
        });
    }
}
