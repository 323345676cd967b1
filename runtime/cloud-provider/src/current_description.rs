use std::sync::Arc;

use tokio::sync::watch;

use crate::Description;

/// The description of the provider that serves now: its version may be replaced while the process runs. Clones follow it.
#[derive(Clone, Debug)]
pub struct CurrentDescription(watch::Receiver<Arc<Description>>);

impl CurrentDescription {
    /// The description of what serves now. Whoever decides by it keeps it for that decision alone.
    #[must_use]
    pub fn now(&self) -> Arc<Description> {
        self.0.borrow().clone()
    }
}

/// Whatever is sent is what serves from then on.
impl From<watch::Receiver<Arc<Description>>> for CurrentDescription {
    fn from(descriptions: watch::Receiver<Arc<Description>>) -> Self {
        Self(descriptions)
    }
}

/// The default describes nothing.
impl Default for CurrentDescription {
    fn default() -> Self {
        Self::from(Arc::<Description>::default())
    }
}

/// One that is never replaced.
impl From<Arc<Description>> for CurrentDescription {
    fn from(description: Arc<Description>) -> Self {
        Self(watch::channel(description).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_follows_what_serves() {
        let version = |it: &str| Arc::new(Description { version: it.to_owned(), ..Description::default() });
        let (serves, descriptions) = watch::channel(version("1.0.0"));
        let current = CurrentDescription::from(descriptions);
        let clone = current.clone();
        serves.send_replace(version("1.1.0"));
        assert_eq!((&*current.now().version, &*clone.now().version), ("1.1.0", "1.1.0"));
        assert_eq!(CurrentDescription::from(version("1.0.0")).now().version, "1.0.0");
    }
}
