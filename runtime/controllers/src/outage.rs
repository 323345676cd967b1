//! Parts of the cloud that are not reached, as whoever sends requests knows them.

use std::fmt;
use std::sync::Arc;

/// A question for what of the cloud is not reached now. Clones ask the same.
#[derive(Clone)]
pub struct Outage(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl Outage {
    /// `sentence` answers with the place, the cause and the next step, or with nothing while all is reached. It must be quick.
    pub fn new(sentence: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(sentence))
    }

    /// The sentence about all that is not reached now.
    pub(crate) fn now(&self) -> Option<String> {
        (self.0)()
    }
}

impl Default for Outage {
    /// All is reached, as far as is known.
    fn default() -> Self {
        Self::new(|| None)
    }
}

impl fmt::Debug for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outage").field(&self.now()).finish()
    }
}
