//! The annotations and the settings that a provider reads, as tables: each row has a key, the allowed values, a default
//! and a description. Values are read by the row, errors name the values that it allows, and the provider's description
//! and README show it.
//!
//! ```
//! use aerostat_sdk::annotations::Annotations;
//! use aerostat_sdk::form::{Integer, OneOf, Span};
//! use aerostat_sdk::key::Key;
//! use aerostat_sdk::{Description, LoadBalancer, Result, settings};
//! # use std::time::Duration;
//! # const MINUTE: Duration = Duration::from_secs(60);
//! # const HOUR: Duration = Duration::from_secs(3_600);
//!
//! aerostat_sdk::table! {
//!     /// The annotations.
//!     const ANNOTATIONS;
//!     SIZE: Integer = ("acme.example/size", Integer::between(1, 100), "How many machines it has.").default("1");
//!     LAYER: OneOf<u8> = ("acme.example/layer", OneOf(&[("tcp", 4), ("http", 7)]), "What it understands.");
//! }
//! aerostat_sdk::table! {
//!     /// The settings.
//!     const SETTINGS;
//!     POLL: Span = ("pollInterval", Span::between(MINUTE, HOUR), "How often to list.").default("5m");
//! }
//!
//! fn describe() -> Description {
//!     Description::new("acme", "1.0.0").annotations(ANNOTATIONS).settings(SETTINGS)
//! }
//!
//! fn size(desired: &LoadBalancer) -> Result<u32> {
//!     Annotations::of(desired).get(&SIZE)
//! }
//!
//! let plain = LoadBalancer::of("default", "web", "uid");
//! assert_eq!(size(&plain), Ok(1));
//! let error = aerostat_sdk::Error::invalid("annotation acme.example/size: \"many\" is not a whole number from 1 to 100");
//! assert_eq!(size(&plain.with_annotation(SIZE.name, "many")), Err(error));
//! ```

use std::fmt;

use crate::form::Form;
use crate::{Annotation, ClassParameter, Description, Error, Result, Setting};

/// The most characters of a value that a message shows.
const SHOWN: usize = 120;

/// A row of a table: one annotation or setting.
#[derive(Clone, Copy, Debug)]
pub struct Key<F> {
    /// The annotation's key, or the setting's name.
    pub name: &'static str,
    /// Which values are allowed.
    pub form: F,
    default: Default,
    doc: &'static str,
    hint: &'static str,
    only_at_creation: bool,
    is_required: bool,
    selects_nodes: bool,
}

/// The value where nothing is written.
#[derive(Clone, Copy, Debug)]
enum Default {
    None,
    /// This value, as a user would write it.
    Value(&'static str),
    /// A sentence: the provider applies it itself.
    Words(&'static str),
}

/// Where a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyPlace {
    Annotation,
    Setting,
    /// A parameter of a StorageClass.
    Parameter,
}

/// A row of any form, for a table of all of them.
pub trait Row {
    /// The annotation's key, or the setting's name.
    fn name(&self) -> &'static str;

    /// All that it says.
    #[doc(hidden)]
    fn said(&self) -> RowContent;
}

/// All that a row says.
#[doc(hidden)]
#[derive(Debug)]
pub struct RowContent {
    values: String,
    default: Option<&'static str>,
    doc: &'static str,
    only_at_creation: bool,
    is_required: bool,
    selects_nodes: bool,
}

/// Apart from the forms, so that a module has each of them once.
impl dyn Row + '_ {
    /// Its row in the provider's description, as an annotation.
    #[must_use]
    pub fn annotation(&self) -> Annotation {
        let said = self.said();
        let mut doc = said.doc.to_owned();
        if said.only_at_creation {
            doc.push_str(" Counts only when the load balancer is created.");
        }
        Annotation {
            key: self.name().to_owned(),
            values: said.values,
            default: said.default.map(str::to_owned),
            doc,
            selects_nodes: said.selects_nodes,
        }
    }

    /// Its row in the provider's description, as a setting.
    #[must_use]
    pub fn setting(&self) -> Setting {
        let said = self.said();
        Setting {
            name: self.name().to_owned(),
            required: said.is_required,
            default: said.default.map(str::to_owned),
            doc: format!("{} Values: {}.", said.doc, said.values),
            selects_nodes: said.selects_nodes,
        }
    }

    /// Its row in the description of volumes, as a parameter of a StorageClass or an annotation of a claim.
    #[must_use]
    pub fn parameter(&self) -> ClassParameter {
        let said = self.said();
        ClassParameter {
            key: self.name().to_owned(),
            values: said.values,
            required: said.is_required,
            default: said.default.map(str::to_owned),
            doc: said.doc.to_owned(),
        }
    }
}

impl<F: Copy> Key<F> {
    /// An annotation or setting by its name, the allowed values, and what it does in a sentence or two.
    #[must_use]
    pub const fn new(name: &'static str, form: F, doc: &'static str) -> Self {
        let default = Default::None;
        Self { name, form, default, doc, hint: "", only_at_creation: false, is_required: false, selects_nodes: false }
    }

    /// The default, as a user would write it. It is read where the value is missing.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        Self { default: Default::Value(default), ..self }
    }

    /// The default in a sentence: the provider applies it itself.
    #[must_use]
    pub const fn otherwise(self, default: &'static str) -> Self {
        Self { default: Default::Words(default), ..self }
    }

    /// A hint that errors add in brackets: which other key to use, say.
    #[must_use]
    pub const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// It is read when a load balancer is created, and has no effect later. The description says so.
    #[must_use]
    pub const fn only_at_creation(self) -> Self {
        Self { only_at_creation: true, ..self }
    }

    /// A setting that the operator has to write, or a parameter that a StorageClass has to have.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// An annotation or setting that is a label selector for nodes. The host evaluates it: a load balancer's nodes are those
    /// that match. The setting holds where a Service has no such annotation; there is at most one.
    #[must_use]
    pub const fn selects_nodes(self) -> Self {
        Self { selects_nodes: true, ..self }
    }
}

impl<F: Form> Key<F> {
    /// Whether it has an effect only when a load balancer is created.
    #[must_use]
    pub const fn is_only_at_creation(&self) -> bool {
        self.only_at_creation
    }

    /// The allowed values, for an error that says "is not" before them.
    #[must_use]
    pub fn allowed(&self) -> String {
        self.form.allowed()
    }

    /// The default, if it is a value.
    #[must_use]
    pub fn fallback(&self) -> Option<F::Value<'static>> {
        match self.default {
            Default::Value(text) => self.form.parse(text),
            Default::Words(_) | Default::None => None,
        }
    }

    /// Reads `text`, or says which values are allowed at `place`.
    pub(crate) fn parse<'a>(&self, place: KeyPlace, text: &'a str) -> Result<F::Value<'a>> {
        self.parse_named(place, self.name, text)
    }

    /// As [`Self::parse`], where the key has a `*` and `name` is what was written.
    pub(crate) fn parse_named<'a>(&self, place: KeyPlace, name: &str, text: &'a str) -> Result<F::Value<'a>> {
        self.form.parse(text).ok_or_else(|| refused_with_hint(place, name, text, &self.form.allowed(), self.hint))
    }

    /// The default, or the error that nothing is written at `place`.
    pub(crate) fn missing(&self, place: KeyPlace) -> Result<F::Value<'static>> {
        self.fallback().ok_or_else(|| missing(place, self.name))
    }

    fn default_for_people(&self) -> Option<&'static str> {
        // A default that is not allowed is a mistake of the provider: its tests call `describe` and find it.
        debug_assert!(
            !matches!(self.default, Default::Value(text) if self.form.parse(text).is_none()),
            "the default of {} is not an allowed value",
            self.name
        );
        match self.default {
            Default::None => None,
            Default::Value(text) | Default::Words(text) => Some(text),
        }
    }
}

impl<F: Form> Row for Key<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn said(&self) -> RowContent {
        RowContent {
            values: self.form.allowed(),
            default: self.default_for_people(),
            doc: self.doc,
            only_at_creation: self.only_at_creation,
            is_required: self.is_required,
            selects_nodes: self.selects_nodes,
        }
    }
}

impl Description {
    /// Adds all rows of a table of annotations. The host passes no others.
    #[must_use]
    pub fn annotations<'a>(self, table: impl IntoIterator<Item = &'a dyn Row>) -> Self {
        table.into_iter().map(<dyn Row>::annotation).fold(self, Self::annotation)
    }

    /// Adds all rows of a table of settings. What is not described is an error in the operator's file.
    #[must_use]
    pub fn settings<'a>(self, table: impl IntoIterator<Item = &'a dyn Row>) -> Self {
        table.into_iter().map(<dyn Row>::setting).fold(self, Self::setting)
    }
}

/// Makes one [`Key`] of each line, and a table of all of them, so that none can be forgotten in the description.
///
/// Each line is `NAME: Form = (name, form, doc)`, and what else [`Key`] can say of it. See [the module](crate::key).
#[macro_export]
macro_rules! table {
    (
        $(#[$doc:meta])* $visibility:vis const $table:ident;
        $( $row:ident: $form:ty = ($($new:expr),+ $(,)?) $(.$more:ident($($argument:expr)?))* ; )+
    ) => {
        $( $visibility const $row: $crate::key::Key<$form> =
            $crate::key::Key::<$form>::new($($new),+)$(.$more($($argument)?))*; )+

        $(#[$doc])*
        $visibility const $table: [&dyn $crate::key::Row; [$(stringify!($row)),+].len()] = [$(&$row),+];
    };
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Annotation => "annotation",
            Self::Setting => "setting",
            Self::Parameter => "parameter",
        })
    }
}

/// The error for a value that is not allowed at `place`. `allowed` follows "is not".
pub(crate) fn refused(place: KeyPlace, name: &str, value: &str, allowed: &str) -> Error {
    Error::invalid(format_args!("{place} {name}: {} is not {allowed}", shown(value)))
}

/// The same with the hint of the key. Apart from its form, so that a module has it once.
#[cold]
fn refused_with_hint(place: KeyPlace, name: &str, value: &str, allowed: &str, hint: &str) -> Error {
    if hint.is_empty() {
        return refused(place, name, value, allowed);
    }
    refused(place, name, value, &format!("{allowed} ({hint})"))
}

/// The error for a required value that is not written at `place`.
pub(crate) fn missing(place: KeyPlace, name: &str) -> Error {
    let next = match place {
        KeyPlace::Annotation => "",
        KeyPlace::Setting => ": write it under provider.settings",
        KeyPlace::Parameter => ": write it under parameters of the StorageClass",
    };
    Error::invalid(format_args!("{place} {name} is missing{next}"))
}

/// A value for a message: in quotes, and cut after 120 characters.
#[must_use]
pub fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests;
