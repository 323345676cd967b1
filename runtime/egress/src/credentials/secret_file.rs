//! A file of a credential: its bytes, the origins that are listed beside it, and the errors that name both.

use std::io;
use std::path::Path;

use zeroize::Zeroizing;

use super::error::CredentialError;
use super::{origins, text_file};
use crate::base_url::Origin;

/// A file of a credential, and the key of the config that names it.
#[derive(Clone, Copy)]
pub(super) struct SecretFile<'a> {
    pub(super) credential: &'a str,
    pub(super) file: &'a Path,
    pub(super) key: &'static str,
}

impl SecretFile<'_> {
    /// The bytes. `next` ends the sentence about a file that is too large.
    pub(super) fn read(&self, next: &str) -> Result<Zeroizing<Vec<u8>>, CredentialError> {
        self.is_not_too_large(text_file::read(self.file), next)
    }

    /// The bytes without the end of the line.
    pub(super) fn read_line(&self, next: &str) -> Result<Zeroizing<Vec<u8>>, CredentialError> {
        self.is_not_too_large(text_file::read_line(self.file), next)
    }

    /// The bytes, if they are the same twice: parts of two versions are none.
    pub(super) fn read_twice(&self, next: &str) -> Result<Zeroizing<Vec<u8>>, CredentialError> {
        let (first, second) = (self.read(next)?, self.read(next)?);
        if first == second { Ok(first) } else { Err(self.changes()) }
    }

    /// The only origins that the secret goes to, if there is a list beside it.
    pub(super) fn origins(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        let beside = SecretFile { file: &origins::beside(self.file), ..*self };
        match beside.read("; remove lines") {
            Ok(text) => origins::parse(&text).map(Some).map_err(|because| beside.unusable(because)),
            Err(CredentialError::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// It is replaced just now.
    pub(super) fn changes(&self) -> CredentialError {
        self.unusable("changes while it is read; it is read again soon")
    }

    /// `because` goes on with the sentence that begins with the file.
    pub(super) fn unusable(&self, because: impl Into<String>) -> CredentialError {
        let credential = self.credential.to_owned();
        CredentialError::Unusable { credential, file: self.file.to_owned(), because: because.into() }
    }

    fn is_not_too_large(
        &self,
        read: io::Result<Option<Zeroizing<Vec<u8>>>>,
        next: &str,
    ) -> Result<Zeroizing<Vec<u8>>, CredentialError> {
        let bytes = read.map_err(|source| CredentialError::Unreadable {
            credential: self.credential.to_owned(),
            file: self.file.to_owned(),
            key: self.key,
            source,
        })?;
        bytes.ok_or_else(|| self.unusable(format!("is larger than 16 KiB{next}")))
    }
}
