//! How requests to Alibaba Cloud are signed, as an operator writes it.

use std::path::PathBuf;

use super::super::sts::Sts;
use crate::base_url::BaseUrl;
use crate::endpoint::RegionName;
use crate::key_service::KeyServiceUrl;

/// How requests to Alibaba Cloud are signed.
#[derive(Clone, Debug)]
pub struct Acs3Settings {
    /// The only region whose endpoints it signs for, and where STS is asked.
    pub region: RegionName,
    /// Where keys come from.
    pub keys: Acs3Keys,
    /// The role to take with these keys.
    pub assume_role: Option<RamRoleTaken>,
    /// The Security Token Service.
    pub sts: Sts,
}

impl Acs3Settings {
    /// Where sessions come from, if any are asked for.
    #[must_use]
    pub fn sts_url(&self) -> Option<String> {
        self.asks_sts().then(|| self.sts_base_url().to_string())
    }

    pub(crate) fn asks_sts(&self) -> bool {
        self.assume_role.is_some() || matches!(self.keys, Acs3Keys::Oidc { .. })
    }

    /// The region's own service, if no other is written.
    pub(crate) fn sts_base_url(&self) -> BaseUrl {
        let own = || {
            let region = self.region.as_str().trim_matches('-');
            BaseUrl::parse(&format!("https://sts.{region}.aliyuncs.com")).expect("a region is a label of a name")
        };
        self.sts.base_url.clone().unwrap_or_else(own)
    }
}

/// Where keys come from.
#[derive(Clone, Debug)]
pub enum Acs3Keys {
    /// Files, which are read again when they change.
    Files {
        /// The file with the key's id.
        id_file: PathBuf,
        /// The file with the key's secret.
        secret_file: PathBuf,
        /// The file with the token of a session that the key belongs to.
        token_file: Option<PathBuf>,
        /// The file with the time at which that session ends.
        expiration_file: Option<PathBuf>,
    },
    /// A projected token of a service account that STS changes into a session (RRSA).
    Oidc {
        /// The role.
        role_arn: RamArn,
        /// The identity provider that the role trusts.
        provider_arn: RamArn,
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
pub struct RamRoleTaken {
    /// The role.
    pub role_arn: RamArn,
    /// The external id that the role's owner demands.
    pub external_id: Option<String>,
}

/// The name of a role or of an identity provider.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RamArn(String);

impl RamArn {
    /// Reads `acs:ram::123456789012:role/name`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse_role(text: &str) -> Result<Self, String> {
        Self::parse(text, "role/")
            .ok_or_else(|| format!("{text:?} is no role; write its ARN, as in acs:ram::123456789012:role/name"))
    }

    /// Reads `acs:ram::123456789012:oidc-provider/name`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn parse_provider(text: &str) -> Result<Self, String> {
        Self::parse(text, "oidc-provider/").ok_or_else(|| {
            format!("{text:?} is no identity provider; write its ARN, as in acs:ram::123456789012:oidc-provider/name")
        })
    }

    fn parse(text: &str, kind: &str) -> Option<Self> {
        let rest = text.strip_prefix("acs:ram::")?;
        let (account, name) = rest.split_once(':')?;
        let is_account = (1..=32).contains(&account.len()) && account.bytes().all(|it| it.is_ascii_digit());
        let name = name.strip_prefix(kind)?;
        let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_graphic());
        (is_account && is_name && text.len() <= 2048).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_providers_are_written_as_their_arns() {
        for arn in ["acs:ram::1234567890123456:role/ccm", "acs:ram::1:role/a/path"] {
            assert_eq!(RamArn::parse_role(arn).map(|it| it.as_str().to_owned()).as_deref(), Ok(arn));
            assert!(RamArn::parse_provider(arn).is_err(), "{arn}");
        }
        assert!(RamArn::parse_provider("acs:ram::1234567890123456:oidc-provider/ack-rrsa-c1").is_ok());
        for arn in [
            "",
            "ccm",
            "acs:ram::12a:role/ccm",
            "acs:ram::1:user/ccm",
            "acs:ram::1:role/",
            "acs:ram::role/ccm",
            "acs:ram:cn-hangzhou:1:role/ccm",
            "arn:aws:iam::123456789012:role/ccm",
            "acs:ram::1:role/c m",
        ] {
            assert!(RamArn::parse_role(arn).is_err(), "{arn}");
        }
    }
}
