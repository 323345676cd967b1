//! Values of annotations as requests carry them, whatever their forms are: a table of rows is read by one loop, of which a module has one.

use aerostat_sdk::Result;
use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::form::Form;
use aerostat_sdk::key::Key;

/// A row whose value is a parameter of a request.
pub(crate) trait ParameterRow {
    /// The value as a request carries it; `None` where it is not set.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, its value and the allowed values.
    fn word(&self, annotations: Annotations<'_>) -> Result<Option<String>>;
}

impl<F: Form> ParameterRow for Key<F>
where
    for<'b> F::Value<'b>: ToString,
{
    fn word(&self, annotations: Annotations<'_>) -> Result<Option<String>> {
        Ok(annotations.read(self)?.map(|it| it.to_string()))
    }
}

/// The parameters of one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestWords(Vec<(&'static str, String)>);

impl RequestWords {
    /// All that annotations say of these parameters.
    ///
    /// # Errors
    ///
    /// Those of [`ParameterRow::word`].
    pub(crate) fn read(annotations: Annotations<'_>, table: &[(&dyn ParameterRow, &'static str)]) -> Result<Self> {
        let mut words = Self::default();
        for (row, name) in table {
            words.0.extend(row.word(annotations)?.map(|it| (*name, it)));
        }
        Ok(words)
    }

    /// Whether a parameter has this value.
    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(it, own)| *it == name && own == value)
    }

    /// Adds a parameter that is not there.
    pub(crate) fn usual(&mut self, name: &'static str, value: &str) {
        if self.0.iter().all(|(it, _)| *it != name) {
            self.0.push((name, value.to_owned()));
        }
    }

    /// Takes these parameters away.
    pub(crate) fn without(&mut self, names: &[&str]) {
        self.0.retain(|(it, _)| !names.contains(it));
    }

    /// As pairs of a request.
    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }
}
