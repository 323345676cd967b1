//! A login at Keystone as an operator writes it: references to files, never a secret itself.

use std::path::PathBuf;

use crate::addresses::AllowedAddresses;
use crate::base_url::BaseUrl;
use crate::client_certificate::ClientCertificate;
use crate::proxy::Proxy;

/// How tokens are asked for at OpenStack's identity service.
#[derive(Clone, Debug)]
pub struct KeystoneSettings {
    /// Where it is, with or without `/v3` at the end.
    pub base_url: BaseUrl,
    /// The proof of who asks.
    pub login: KeystoneLogin,
    /// The project that tokens are for. An application credential and a trust have their own.
    pub project: Option<KeystoneName>,
    /// Which addresses its host may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The certificate that is shown to it.
    pub client_certificate: Option<ClientCertificate>,
    /// The proxy through which it is reached.
    pub proxy: Option<Proxy>,
}

/// The proof of who asks.
#[derive(Clone, Debug)]
pub enum KeystoneLogin {
    /// A user's password.
    Password {
        /// The user.
        user: KeystoneName,
        /// The file with the password.
        password_file: PathBuf,
    },
    /// An application credential, which is for one project and may be for some requests alone.
    ApplicationCredential {
        /// Which one.
        name: ApplicationCredentialName,
        /// The file with its secret.
        secret_file: PathBuf,
    },
    /// A user's password, for a project in which another user has trusted this one.
    Trust {
        /// The trust's id.
        id: String,
        /// The trustee.
        user: KeystoneName,
        /// The file with the trustee's password.
        password_file: PathBuf,
    },
    /// A token that somebody else replaces before its end.
    Token {
        /// The file with the token.
        file: PathBuf,
    },
}

/// An application credential.
#[derive(Clone, Debug)]
pub enum ApplicationCredentialName {
    /// By its id.
    Id(String),
    /// By its id, which a file has.
    IdFile(PathBuf),
    /// By its name among those of a user.
    Name {
        /// Its name.
        name: String,
        /// The user to whom it belongs.
        user: KeystoneName,
    },
}

/// A user or a project.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeystoneName {
    /// By its id.
    Id(String),
    /// By its name in a domain.
    Name {
        /// The name.
        name: String,
        /// The domain.
        domain: KeystoneDomain,
    },
}

/// A domain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeystoneDomain {
    /// By its id.
    Id(String),
    /// By its name.
    Name(String),
}
