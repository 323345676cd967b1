//! The files of a login.

use std::path::PathBuf;

use zeroize::Zeroizing;

use super::super::error::CredentialError;
use super::super::origins;
use super::super::secret_file::SecretFile;
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
        if first == second { Ok(first) } else { Err(self.secret_file().changes()) }
    }

    /// The only origins that the secret and its tokens may go to, if they are limited.
    pub(super) fn read_origins(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        self.secret_file().origins()
    }

    fn read_once(&self) -> Result<LoginWords, CredentialError> {
        let secret = line(self.secret_file())?;
        let id = match &self.id {
            Some(file) => {
                let file =
                    SecretFile { credential: &self.credential, file, key: "keystone.applicationCredential.idFile" };
                let id = line(file)?;
                if id.len() > ID_BYTES || !id.bytes().all(|it| it.is_ascii_graphic()) {
                    return Err(file.unusable("holds no id: it is too long, or not visible ASCII"));
                }
                Some(id.to_string())
            }
            None => None,
        };
        Ok(LoginWords { secret, id })
    }

    fn secret_file(&self) -> SecretFile<'_> {
        SecretFile { credential: &self.credential, file: &self.secret, key: self.secret_key }
    }
}

/// The one word in a file.
fn line(file: SecretFile<'_>) -> Result<Zeroizing<String>, CredentialError> {
    let text = file.read_line("; put one word there alone")?;
    let text = std::str::from_utf8(&text).map_err(|_| file.unusable("is not UTF-8"))?;
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(file.unusable("is empty, or has a control character or a second line; put one word there alone"));
    }
    Ok(Zeroizing::new(text.to_owned()))
}
