use std::path::{Path, PathBuf};

use crate::writes::WriteLimits;

/// A credential as the operator wrote it: a reference, never the secret itself.
#[derive(Clone, Debug)]
pub struct CredentialSettings {
    /// What endpoints call it.
    pub name: String,
    /// What it is.
    pub kind: CredentialKind,
    /// What may be written with it in any case.
    pub limits: WriteLimits,
}

/// The kinds of credentials.
///
/// A file `<file>.origins` beside the file with the secret, when present, lists the only origins that the credential is
/// sent to, one in a line.
#[derive(Clone, Debug)]
pub enum CredentialKind {
    /// `authorization: Bearer …`.
    Bearer {
        /// The file with the token.
        file: PathBuf,
    },
    /// `authorization: Basic …`, by RFC 7617.
    Basic {
        /// The file with the user's name.
        user_file: PathBuf,
        /// The file with the password.
        password_file: PathBuf,
    },
}

impl CredentialKind {
    /// The file with the secret.
    pub(super) fn secret_file(&self) -> &Path {
        match self {
            Self::Bearer { file } => file,
            Self::Basic { password_file, .. } => password_file,
        }
    }

    /// The key of the config that names a file.
    pub(super) fn key_of(&self, file: &Path) -> &'static str {
        match self {
            Self::Bearer { .. } => "bearer.file",
            Self::Basic { user_file, .. } if user_file == file => "basic.userFile",
            Self::Basic { .. } => "basic.passwordFile",
        }
    }
}
