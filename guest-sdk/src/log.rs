//! Lines in the host's log. The host adds the provider, the function and the call, and limits their number.

use crate::bindings::host::aerostat::cloud::log::Level;
use crate::host;

/// For debugging.
pub fn debug(message: &str, fields: &[(&str, &str)]) {
    write(Level::Debug, message, fields);
}

/// For information.
pub fn info(message: &str, fields: &[(&str, &str)]) {
    write(Level::Info, message, fields);
}

/// Something that an operator should read.
pub fn warn(message: &str, fields: &[(&str, &str)]) {
    write(Level::Warn, message, fields);
}

/// Something does not work.
pub fn error(message: &str, fields: &[(&str, &str)]) {
    write(Level::Error, message, fields);
}

fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields: Vec<_> = fields.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    host::write_log(level, message, &fields);
}
