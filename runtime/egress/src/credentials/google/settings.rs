//! Google's credentials as an operator writes them: references to Google's own files, never a secret itself.

use std::path::PathBuf;

use crate::addresses::AllowedAddresses;
use crate::base_url::Origin;
use crate::key_service::KeyServiceUrl;
use crate::proxy::Proxy;

/// The scope of all tokens: what they may do is the account's roles.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

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

impl GoogleSettings {
    /// The URLs of givers of tokens, as far as this says them: Google's usual ones, and those that are listed.
    #[must_use]
    pub fn token_urls(&self) -> Vec<String> {
        let usual: &[&str] = match &self.tokens {
            GoogleTokens::ServiceAccountKey { exchange: true, .. } => &["https://oauth2.googleapis.com"],
            GoogleTokens::Federation { .. } => &["https://sts.googleapis.com", "https://iamcredentials.googleapis.com"],
            GoogleTokens::ServiceAccountKey { exchange: false, .. } | GoogleTokens::Metadata { .. } => &[],
        };
        usual.iter().map(|&it| it.to_owned()).chain(self.origins.iter().map(Origin::to_string)).collect()
    }
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
