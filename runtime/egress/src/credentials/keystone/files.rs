//! The files of a login.

use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::super::error::CredentialError;
use super::super::{origins, text_file};
use super::login::LoginWords;
use super::settings::{ApplicationCredentialName, KeystoneLogin};
use crate::base_url::Origin;

/// The longest id.
const ID_BYTES: usize = 256;

/// The files of one credential's login.
pub(super) struct LoginFiles {
    credential: String,
    secret: PathBuf,
    secret_key: &'static str,
    id: Option<PathBuf>,
}

impl LoginFiles {
    pub(super) fn new(credential: &str, login: &KeystoneLogin) -> Self {
        let (secret, secret_key) = match login {
            KeystoneLogin::Password { password_file, .. } => (password_file, "keystone.password.passwordFile"),
            KeystoneLogin::Trust { password_file, .. } => (password_file, "keystone.trust.passwordFile"),
            KeystoneLogin::ApplicationCredential { secret_file, .. } => {
                (secret_file, "keystone.applicationCredential.secretFile")
            }
            KeystoneLogin::Token { file } => (file, "keystone.token.file"),
        };
        let id = match login {
            KeystoneLogin::ApplicationCredential { name: ApplicationCredentialName::IdFile(file), .. } => Some(file),
            _ => None,
        };
        Self { credential: credential.to_owned(), secret: secret.clone(), secret_key, id: id.cloned() }
    }

    /// The file that lists origins, if it is there.
    pub(super) fn origins_file(&self) -> PathBuf {
        origins::beside(&self.secret)
    }

    /// The words of the files, as they are now. They may be replaced one after the other, and parts of two versions are none.
    pub(super) fn read(&self) -> Result<LoginWords, CredentialError> {
        let (first, second) = (self.read_once()?, self.read_once()?);
        if first == second {
            return Ok(first);
        }
        Err(self.unusable(&self.secret, "changes while it is read; it is read again soon".to_owned()))
    }

    /// The only origins that the secret and its tokens may go to, if they are limited.
    pub(super) fn read_origins(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        let file = self.origins_file();
        origins::read(&file).map_err(|failed| match failed {
            origins::OriginsError::Unreadable(source) => self.unreadable(&file, self.secret_key, source),
            origins::OriginsError::Unusable(because) => self.unusable(&file, because),
        })
    }

    fn read_once(&self) -> Result<LoginWords, CredentialError> {
        let secret = self.line(&self.secret, self.secret_key)?;
        let id = match &self.id {
            Some(file) => {
                let id = self.line(file, "keystone.applicationCredential.idFile")?;
                if id.len() > ID_BYTES || !id.bytes().all(|it| it.is_ascii_graphic()) {
                    return Err(self.unusable(file, "holds no id: it is too long, or not visible ASCII".to_owned()));
                }
                Some(id.to_string())
            }
            None => None,
        };
        Ok(LoginWords { secret, id })
    }

    fn line(&self, file: &Path, key: &'static str) -> Result<Zeroizing<String>, CredentialError> {
        let text = text_file::read_line(file).map_err(|source| self.unreadable(file, key, source))?;
        let text =
            text.ok_or_else(|| self.unusable(file, "is larger than 16 KiB; put one word there alone".to_owned()))?;
        let text = std::str::from_utf8(&text).map_err(|_| self.unusable(file, "is not UTF-8".to_owned()))?;
        if text.is_empty() || text.chars().any(char::is_control) {
            let because = "is empty, or has a control character or a second line; put one word there alone";
            return Err(self.unusable(file, because.to_owned()));
        }
        Ok(Zeroizing::new(text.to_owned()))
    }

    fn unusable(&self, file: &Path, because: String) -> CredentialError {
        CredentialError::Unusable { credential: self.credential.clone(), file: file.to_owned(), because }
    }

    fn unreadable(&self, file: &Path, key: &'static str, source: io::Error) -> CredentialError {
        CredentialError::Unreadable { credential: self.credential.clone(), file: file.to_owned(), key, source }
    }
}
