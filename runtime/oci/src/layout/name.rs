//! The name of an artifact in a file: `repository[:tag]`. It gets a registry when it is pushed.

use std::fmt;

use crate::image::{Image, is_repository, is_tag};

/// `repository[:tag]`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct LayoutName {
    repository: String,
    tag: Option<String>,
}

impl LayoutName {
    /// Reads `repository[:tag]`.
    ///
    /// # Errors
    ///
    /// A clause.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (repository, tag) = match text.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (text, None),
        };
        if !is_repository(repository) || tag.is_some_and(|it| !is_tag(it)) {
            return Err(format!("has the name {:?}, which is no repository with a tag", crate::error::foreign(text)));
        }
        Ok(Self { repository: repository.to_owned(), tag: tag.map(str::to_owned) })
    }

    /// The name of what is in a registry.
    #[must_use]
    pub fn of(image: &Image) -> Self {
        Self { repository: image.repository().to_owned(), tag: image.tag().map(str::to_owned) }
    }

    /// With another tag.
    #[must_use]
    pub fn tagged(&self, tag: &str) -> Self {
        Self { tag: Some(tag.to_owned()), ..self.clone() }
    }
}

impl fmt::Display for LayoutName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        self.tag.as_ref().map_or(Ok(()), |tag| write!(f, ":{tag}"))
    }
}
