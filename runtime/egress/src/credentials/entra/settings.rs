//! A login at Microsoft Entra as an operator writes it: references to files, never a secret itself.

use std::fmt;
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::addresses::AllowedAddresses;
use crate::base_url::BaseUrl;
use crate::key_service::KeyServiceUrl;
use crate::proxy::Proxy;

/// The longest word of a config: a tenant, an id, a scope.
const WORD_BYTES: usize = 512;

/// How tokens for Azure are asked for.
#[derive(Clone, Debug)]
pub struct EntraSettings {
    /// The proof of who asks.
    pub login: EntraLogin,
    /// The scope of tokens: `https://management.azure.com/.default`.
    pub scope: EntraWord,
    /// The credential whose token goes along as `x-ms-authorization-auxiliary`, for another tenant.
    pub auxiliary: Option<String>,
    /// Which addresses the authority's host may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy through which the authority is reached.
    pub proxy: Option<Proxy>,
}

impl EntraSettings {
    /// The authority that is asked for tokens; `None` where the machine's identity needs none.
    #[must_use]
    pub fn authority(&self) -> Option<&BaseUrl> {
        match &self.login {
            EntraLogin::Client { client, .. } => Some(&client.authority),
            EntraLogin::ManagedIdentity { .. } => None,
        }
    }
}

/// The proof of who asks.
#[derive(Clone, Debug)]
pub enum EntraLogin {
    /// An application (its service principal), or a managed identity that trusts another issuer's tokens.
    Client {
        /// Which one.
        client: EntraClientName,
        /// Its proof.
        proof: EntraProof,
    },
    /// The identity of the machine.
    ManagedIdentity {
        /// Which one, where there are several.
        identity: ManagedIdentity,
        /// Where it is asked.
        service: IdentityService,
    },
}

/// An application in a tenant.
#[derive(Clone, Debug)]
pub struct EntraClientName {
    /// The authority: `https://login.microsoftonline.com`.
    pub authority: BaseUrl,
    /// The tenant, by its id or by a domain.
    pub tenant: EntraTenant,
    /// The application's id.
    pub client_id: EntraWord,
}

/// The proof of an application.
#[derive(Clone, Debug)]
pub enum EntraProof {
    /// A secret.
    Secret {
        /// The file with it.
        file: PathBuf,
    },
    /// A certificate that the application is registered with.
    Certificate {
        /// A PEM file with the certificate and its key, and perhaps a chain.
        file: PathBuf,
        /// The chain goes along, for applications that trust a subject and an issuer.
        sends_chain: bool,
    },
    /// A token of another issuer, such as the cluster's own for a service account.
    FederatedToken {
        /// The file with it, which the kubelet replaces.
        file: PathBuf,
    },
}

/// An identity of a machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ManagedIdentity {
    /// The machine's own, or the only one that is assigned to it.
    System,
    /// One that a user has assigned, by its client id.
    ClientId(EntraWord),
    /// One that a user has assigned, by its resource id.
    ResourceId(EntraWord),
}

/// Where the identity of a machine is asked.
#[derive(Clone, Debug)]
pub enum IdentityService {
    /// The instance metadata service.
    Imds(KeyServiceUrl),
    /// Another one beside the process, which the environment names (`IDENTITY_ENDPOINT`).
    Endpoint {
        /// Where it is.
        url: KeyServiceUrl,
        /// The word that it asks for (`IDENTITY_HEADER`).
        header: IdentityHeader,
    },
}

/// The word by which a service for identities knows its own process. It appears in no debug output.
#[derive(Clone)]
pub struct IdentityHeader(Zeroizing<String>);

impl IdentityHeader {
    /// Reads the value of `IDENTITY_HEADER`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong, without the value.
    pub fn parse(text: &str) -> Result<Self, String> {
        match is_word(text) {
            true => Ok(Self(Zeroizing::new(text.to_owned()))),
            false => Err("IDENTITY_HEADER is empty, too long, or not visible ASCII".to_owned()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IdentityHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityHeader")
    }
}

/// A client id, a resource id or a scope: visible ASCII.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EntraWord(String);

impl EntraWord {
    /// Reads an id or a scope.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        match is_word(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("write 1 to {WORD_BYTES} characters of visible ASCII")),
        }
    }

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The resource of a scope, as the services for machines' identities have it: without `/.default`.
    pub(super) fn resource(&self) -> &str {
        self.0.strip_suffix("/.default").unwrap_or(&self.0)
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= WORD_BYTES && text.bytes().all(|it| it.is_ascii_graphic())
}

/// A tenant: its id, or one of its domains.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EntraTenant(String);

impl EntraTenant {
    /// Reads a tenant.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_part = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'.';
        let is_name = text.bytes().all(is_part) && text.bytes().any(|it| it.is_ascii_alphanumeric());
        if !is_name || text.len() > 253 {
            return Err(format!("{text:?} is no tenant; write its id, or one of its domains"));
        }
        // Tokens of an application are those of one tenant.
        if ["common", "organizations", "consumers"].iter().any(|it| text.eq_ignore_ascii_case(it)) {
            return Err(format!("{text:?} stands for many tenants; write the id of one"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The tenant.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A cloud of Azure for everybody of a country.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AzureCloud {
    /// `AzurePublicCloud`.
    Public,
    /// `AzureUSGovernmentCloud`.
    UsGovernment,
    /// `AzureChinaCloud`.
    China,
}

impl AzureCloud {
    /// Reads the name of a cloud, as `azure.json` or the command line of Azure have it, in any letter case.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = text.to_ascii_lowercase();
        match name.strip_suffix("cloud").unwrap_or(&name) {
            "azurepublic" | "azure" => Ok(Self::Public),
            "azureusgovernment" => Ok(Self::UsGovernment),
            "azurechina" => Ok(Self::China),
            _ => Err(format!(
                "{text:?} is no cloud of Azure; write AzurePublicCloud, AzureUSGovernmentCloud or AzureChinaCloud, or \
                 `authority` and `scope` of another one"
            )),
        }
    }

    /// The authority of its tenants.
    #[must_use]
    pub fn authority(self) -> &'static str {
        match self {
            Self::Public => "https://login.microsoftonline.com",
            Self::UsGovernment => "https://login.microsoftonline.us",
            Self::China => "https://login.chinacloudapi.cn",
        }
    }

    /// The scope of its resource manager.
    #[must_use]
    pub fn scope(self) -> &'static str {
        match self {
            Self::Public => "https://management.azure.com/.default",
            Self::UsGovernment => "https://management.usgovcloudapi.net/.default",
            Self::China => "https://management.chinacloudapi.cn/.default",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clouds_have_their_names_in_azures_files_and_commands() {
        for (name, cloud) in [
            ("AzurePublicCloud", AzureCloud::Public),
            ("AzureCloud", AzureCloud::Public),
            ("AZUREUSGOVERNMENTCLOUD", AzureCloud::UsGovernment),
            ("AzureUSGovernment", AzureCloud::UsGovernment),
            ("AzureChinaCloud", AzureCloud::China),
        ] {
            assert_eq!(AzureCloud::parse(name), Ok(cloud), "{name}");
        }
        for name in ["", "AzureGermanCloud", "AzureStackCloud", "public"] {
            assert!(AzureCloud::parse(name).unwrap_err().contains("AzurePublicCloud"), "{name}");
        }
    }

    #[test]
    fn bad_tenants_and_words_are_refused() {
        for tenant in ["99999999-0000-0000-0000-000000000001", "contoso.onmicrosoft.com"] {
            assert!(EntraTenant::parse(tenant).is_ok(), "{tenant}");
        }
        for tenant in ["", "a/b", "..", "common", "Organizations", "a b", "ä", "a?b"] {
            assert!(EntraTenant::parse(tenant).is_err(), "{tenant}");
        }
        assert!(EntraWord::parse("a b").is_err() && EntraWord::parse("").is_err());
        let header = IdentityHeader::parse("of-somebody").unwrap();
        assert!(!format!("{header:?}").contains("of-somebody"));
        assert!(!IdentityHeader::parse("of somebody").unwrap_err().contains("somebody"));
        for cloud in [AzureCloud::Public, AzureCloud::UsGovernment, AzureCloud::China] {
            assert!(BaseUrl::parse(cloud.authority()).is_ok());
            let scope = EntraWord::parse(cloud.scope()).unwrap();
            assert!(scope.resource().starts_with("https://management.") && !scope.resource().ends_with("/.default"));
        }
    }
}
