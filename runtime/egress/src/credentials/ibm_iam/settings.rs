//! IBM Cloud's credentials as an operator writes them: references to files, never a secret itself.

use std::path::PathBuf;

use crate::addresses::AllowedAddresses;
use crate::base_url::BaseUrl;
use crate::key_service::KeyServiceUrl;
use crate::proxy::Proxy;

/// The longest name of a profile; its CRN holds an account, too.
const PROFILE_BYTES: usize = 512;

/// How tokens of IBM Cloud's IAM are asked for.
#[derive(Clone, Debug)]
pub struct IbmIamSettings {
    /// Where they come from.
    pub tokens: IbmTokens,
    /// Which addresses IAM's host may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy through which IAM is reached.
    pub proxy: Option<Proxy>,
}

impl IbmIamSettings {
    /// Where IAM is asked for tokens; `None` where the machine's metadata service does that.
    #[must_use]
    pub fn iam(&self) -> Option<&BaseUrl> {
        match &self.tokens {
            IbmTokens::ApiKey { iam, .. } | IbmTokens::ComputeResource { iam, .. } => Some(iam),
            IbmTokens::InstanceIdentity { .. } => None,
        }
    }
}

/// Where tokens come from.
#[derive(Clone, Debug)]
pub enum IbmTokens {
    /// IAM gives them for an API key.
    ApiKey {
        /// IAM: `https://iam.cloud.ibm.com`.
        iam: BaseUrl,
        /// The file with the key.
        file: PathBuf,
    },
    /// IAM gives them for the token of a compute resource, such as a Pod's, that a trusted profile trusts.
    ComputeResource {
        /// IAM: `https://iam.cloud.ibm.com`.
        iam: BaseUrl,
        /// The file with the token, which the kubelet replaces.
        token_file: PathBuf,
        /// The profile.
        profile: IbmProfile,
    },
    /// The metadata service of the machine gives them.
    InstanceIdentity {
        /// Where it is.
        url: KeyServiceUrl,
        /// The profile; without it, the one that the machine has by default.
        profile: Option<IbmProfile>,
    },
}

/// A trusted profile.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum IbmProfile {
    /// By its id: `Profile-…`.
    Id(IbmProfileWord),
    /// By its name in the account.
    Name(IbmProfileWord),
    /// By its CRN, for the metadata service alone.
    Crn(IbmProfileWord),
}

/// An id, a name or a CRN of a trusted profile.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IbmProfileWord(String);

impl IbmProfileWord {
    /// Reads an id, a name or a CRN.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_word = !text.trim().is_empty()
            && text.trim() == text
            && text.len() <= PROFILE_BYTES
            && text.bytes().all(|it| it.is_ascii_graphic() || it == b' ');
        match is_word {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("{text:?} names no trusted profile; write 1 to {PROFILE_BYTES} characters of ASCII")),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_names_of_trusted_profiles_are_refused() {
        for text in
            ["Profile-9fd84246-7df4-4667-94e4-8ecde51d5ac5", "our cluster", "crn:v1:bluemix:public:iam::a/1::p:1"]
        {
            assert_eq!(IbmProfileWord::parse(text).map(|it| it.as_str().to_owned()).as_deref(), Ok(text));
        }
        for text in ["", " ", " a", "a\n", "ä", &"a".repeat(513)] {
            assert!(IbmProfileWord::parse(text).unwrap_err().contains("names no trusted profile"), "{text:?}");
        }
    }
}
