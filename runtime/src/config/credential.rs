//! `credentials`: where secrets are, and how keys are asked for.

use egress::{AssumeRole, CredentialKind, CredentialSettings, KeyServiceUrl, KeySource, Sigv4Settings, WriteLimits};

use super::acs3;
use super::entra;
use super::file;
use super::google;
use super::ibm_iam;
use super::keystone;
use super::sts;
use super::text::ScalarText;
use crate::flags::IdentityVariables;

/// The address of the agent of EKS Pod Identity on each node ("How EKS Pod Identity works", Amazon EKS User Guide).
const POD_IDENTITY: &str = "http://169.254.170.23/v1/credentials";
/// The address of the metadata service of each instance (Amazon EC2 User Guide).
const INSTANCE_METADATA: &str = "http://169.254.169.254";

const FORMS: &str = "bearer: { file: … }, basic: { userFile: …, passwordFile: … }, sigv4: { region: …, … }, \
                     acs3: { region: …, … }, keystone: { baseUrl: …, … }, google: { … }, entra: { … } or ibmIam: { … }";
const SOURCES: &str = "sharedFile: { file: … }, webIdentity: { roleArn: …, tokenFile: … }, podIdentity: { tokenFile: … } or \
                       instanceMetadata: {}";

/// The settings of one credential. The error is a sentence that says what to write.
pub(super) fn credential(
    credential: file::CredentialSection,
    variables: &IdentityVariables,
) -> Result<CredentialSettings, String> {
    let file::CredentialSection { name, bearer, basic, sigv4, acs3, keystone, google, entra, ibm_iam, limits } =
        credential;
    let named = |because: String| format!("credential {name}: {because}");
    let mut kinds = Vec::new();
    kinds.extend(bearer.map(|file::Bearer { file }| ("bearer", CredentialKind::Bearer { file })));
    kinds.extend(
        basic.map(|file::Basic { user_file, password_file }| {
            ("basic", CredentialKind::Basic { user_file, password_file })
        }),
    );
    if let Some(section) = sigv4 {
        kinds.push(("sigv4", CredentialKind::Sigv4(Box::new(sigv4_settings(&name, *section)?))));
    }
    if let Some(section) = acs3 {
        let settings = acs3::settings(*section).map_err(named)?;
        kinds.push(("acs3", CredentialKind::Acs3(Box::new(settings))));
    }
    if let Some(section) = keystone {
        let settings = keystone::settings(*section).map_err(named)?;
        kinds.push(("keystone", CredentialKind::Keystone(Box::new(settings))));
    }
    if let Some(section) = google {
        let settings = google::settings(*section).map_err(named)?;
        kinds.push(("google", CredentialKind::Google(Box::new(settings))));
    }
    if let Some(section) = entra {
        let settings = entra::settings(*section, variables).map_err(named)?;
        kinds.push(("entra", CredentialKind::Entra(Box::new(settings))));
    }
    if let Some(section) = ibm_iam {
        let settings = ibm_iam::settings(*section).map_err(named)?;
        kinds.push(("ibmIam", CredentialKind::IbmIam(Box::new(settings))));
    }
    let words = kinds.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" and ");
    match (kinds.pop(), kinds.is_empty()) {
        (Some((_, kind)), true) => Ok(settings_of(name, kind, limits)),
        (None, _) => Err(format!("credential {name} names no secret; write {FORMS}")),
        (Some(_), false) => Err(format!("credential {name} is {words}; write one of them")),
    }
}

fn settings_of(name: String, kind: CredentialKind, limits: Option<file::WriteLimitsSection>) -> CredentialSettings {
    let limits = limits.unwrap_or_default();
    let default = WriteLimits::default();
    CredentialSettings {
        name,
        kind,
        limits: WriteLimits {
            window: limits.window.map_or(default.window, |it| it.0.0),
            deletions: limits.deletions.unwrap_or(default.deletions),
            creations: limits.creations.unwrap_or(default.creations),
            detachments: limits.detachments.unwrap_or(default.detachments),
            updates: limits.updates.unwrap_or(default.updates),
            deletions_per_change: limits.deletions_per_change.unwrap_or(default.deletions_per_change),
            creations_per_change: limits.creations_per_change.unwrap_or(default.creations_per_change),
            detachments_per_change: limits.detachments_per_change.unwrap_or(default.detachments_per_change),
            updates_per_change: limits.updates_per_change.unwrap_or(default.updates_per_change),
        },
    }
}

fn sigv4_settings(name: &str, settings: file::Sigv4) -> Result<Sigv4Settings, String> {
    let file::Sigv4 { region, shared_file, web_identity, pod_identity, instance_metadata, assume_role, sts } = settings;
    let url = |written: Option<ScalarText<KeyServiceUrl>>, default| match written {
        Some(url) => Ok(url.0),
        None => KeyServiceUrl::parse(default),
    };
    let mut sources: Vec<Result<KeySource, String>> = Vec::new();
    sources.extend(shared_file.map(|file::SharedFile { file, profile }| {
        Ok(KeySource::SharedFile { file, profile: profile.unwrap_or_else(|| "default".to_owned()) })
    }));
    sources.extend(web_identity.map(|file::WebIdentity { role_arn, token_file }| {
        Ok(KeySource::WebIdentity { role_arn: role_arn.0, token_file })
    }));
    sources.extend(pod_identity.map(|file::PodIdentity { url: written, token_file }| {
        Ok(KeySource::PodIdentity { url: url(written, POD_IDENTITY)?, token_file })
    }));
    sources.extend(instance_metadata.map(|file::InstanceMetadata { url: written }| {
        Ok(KeySource::InstanceMetadata { url: url(written, INSTANCE_METADATA)? })
    }));
    let keys = match (sources.pop(), sources.is_empty()) {
        (Some(keys), true) => keys.map_err(|because| format!("credential {name}: {because}"))?,
        (None, _) => return Err(format!("credential {name} says not where its keys come from; write {SOURCES}")),
        (Some(_), false) => {
            return Err(format!("credential {name} has several sources of keys; write one of {SOURCES}"));
        }
    };
    Ok(Sigv4Settings {
        region: region.0,
        keys,
        assume_role: assume_role.map(|role| AssumeRole {
            role_arn: role.role_arn.0,
            external_id: role.external_id,
            source_arn: role.source_arn.map(|it| it.0.0),
            source_account: role.source_account.map(|it| it.0.0),
        }),
        sts: sts::settings(sts),
    })
}
