//! Credentials as an operator writes them.

use std::path::PathBuf;

use super::acs3::Acs3Settings;
use super::entra::EntraSettings;
use super::google::GoogleSettings;
use super::ibm_iam::IbmIamSettings;
use super::keystone::KeystoneSettings;
use super::sts::Sts;
use crate::endpoint::RegionName;
use crate::key_service::KeyServiceUrl;
use budgets::WriteLimits;

/// A credential as the operator wrote it: a reference, never the secret itself.
#[derive(Clone, Debug)]
pub struct CredentialSettings {
    /// The name by which endpoints call it.
    pub name: String,
    /// The kind of the credential.
    pub kind: CredentialKind,
    /// The writes that may leave with it in any case.
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
    /// A signature of each request, by AWS's Signature Version 4.
    Sigv4(Box<Sigv4Settings>),
    /// A signature of each request, by Alibaba Cloud's ACS3-HMAC-SHA256.
    Acs3(Box<Acs3Settings>),
    /// `x-auth-token: …`, with tokens of OpenStack's Keystone.
    Keystone(Box<KeystoneSettings>),
    /// `authorization: Bearer …`, with tokens of Google.
    Google(Box<GoogleSettings>),
    /// `authorization: Bearer …`, with tokens of Microsoft Entra.
    Entra(Box<EntraSettings>),
    /// `authorization: Bearer …`, with tokens of IBM Cloud's IAM.
    IbmIam(Box<IbmIamSettings>),
}

/// How requests to AWS are signed.
#[derive(Clone, Debug)]
pub struct Sigv4Settings {
    /// The only region that it signs for, and where STS is asked.
    pub region: RegionName,
    /// Where keys come from.
    pub keys: KeySource,
    /// The role to take with these keys.
    pub assume_role: Option<AssumeRole>,
    /// The Security Token Service.
    pub sts: Sts,
}

/// Where keys come from.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A file in the format of the shared credentials file, read again when it changes.
    SharedFile {
        /// The file.
        file: PathBuf,
        /// The section to read.
        profile: String,
    },
    /// A projected token of a service account that STS changes into a session (IRSA).
    WebIdentity {
        /// The role.
        role_arn: RoleArn,
        /// The file with the token, which the kubelet replaces.
        token_file: PathBuf,
    },
    /// The agent of EKS Pod Identity, or what speaks like it.
    PodIdentity {
        /// Where it is asked.
        url: KeyServiceUrl,
        /// The file with the token, which the kubelet replaces.
        token_file: PathBuf,
    },
    /// The metadata service of the machine, version 2.
    InstanceMetadata {
        /// Where it is.
        url: KeyServiceUrl,
    },
}

/// A role to take.
#[derive(Clone, Debug)]
pub struct AssumeRole {
    /// The role.
    pub role_arn: RoleArn,
    /// The external id that the role's owner demands.
    pub external_id: Option<String>,
    /// On behalf of which resource, for conditions on `aws:SourceArn`.
    pub source_arn: Option<String>,
    /// On behalf of which account, for conditions on `aws:SourceAccount`.
    pub source_account: Option<String>,
}

/// The name of a role.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RoleArn(String);

impl RoleArn {
    /// Reads `arn:aws:iam::123456789012:role/name`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<_> = text.splitn(6, ':').collect();
        let is_account = |it: &str| it.len() == 12 && it.bytes().all(|it| it.is_ascii_digit());
        let is_role = |it: &str| it.strip_prefix("role/").is_some_and(|it| !it.is_empty());
        match parts[..] {
            ["arn", partition, "iam", "", account, role]
                if partition.starts_with("aws") && is_account(account) && is_role(role) => {}
            _ => return Err(format!("{text:?} is no role; write its ARN, as in arn:aws:iam::123456789012:role/name")),
        }
        if text.len() > 2048 || !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err("the role's ARN is too long, or holds a character that is not visible ASCII".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_written_as_its_arn() {
        for arn in ["arn:aws:iam::123456789012:role/ccm", "arn:aws-cn:iam::123456789012:role/a/path/ccm"] {
            assert_eq!(RoleArn::parse(arn).map(|it| it.as_str().to_owned()).as_deref(), Ok(arn));
        }
        for arn in [
            "",
            "ccm",
            "arn:aws:iam::12345678901:role/ccm",
            "arn:aws:iam::123456789012:user/ccm",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:sts::123456789012:assumed-role/ccm/x",
            "arn:aws:iam:eu-west-1:123456789012:role/ccm",
            "arn:gcp:iam::123456789012:role/ccm",
            "arn:aws:iam::123456789012:role/c m",
        ] {
            assert!(RoleArn::parse(arn).is_err(), "{arn}");
        }
    }
}
