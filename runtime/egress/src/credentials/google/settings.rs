//! Google's credentials as an operator writes them: references to Google's own files, never a secret itself.

use std::path::PathBuf;

use crate::addresses::AllowedAddresses;
use crate::base_url::Origin;
use crate::key_service::KeyServiceUrl;
use crate::proxy::Proxy;

/// How tokens for Google Cloud are asked for.
#[derive(Clone, Debug)]
pub struct GoogleSettings {
    /// Where they come from.
    pub tokens: GoogleTokens,
    /// The origins beside Google's own (`https://….googleapis.com`) that a file may name as givers of tokens.
    pub origins: Vec<Origin>,
    /// Which addresses the hosts of givers of tokens may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy through which givers of tokens are reached.
    pub proxy: Option<Proxy>,
}

/// Where tokens come from.
#[derive(Clone, Debug)]
pub enum GoogleTokens {
    /// The key of a service account: tokens are signed with it, and nobody is asked.
    ServiceAccountKey {
        /// Google's file, of type `service_account`.
        file: PathBuf,
        /// Tokens are asked for at the token endpoint instead, with a signed assertion. Also so where the file names an
        /// endpoint that is not Google's.
        exchange: bool,
    },
    /// A token of another identity provider that Google changes into one of its own (workload identity federation).
    Federation {
        /// Google's file, of type `external_account`.
        file: PathBuf,
    },
    /// The metadata server of the machine.
    Metadata {
        /// Where it is.
        url: KeyServiceUrl,
    },
}
