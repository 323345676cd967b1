//! `credentials[].acs3`: signatures for Alibaba Cloud.

use egress::{Acs3Keys, Acs3Settings, KeyServiceUrl, RamRoleTaken};

use super::file;
use super::sts;

/// The address of the metadata service of each machine ("Instance metadata" of the documentation of ECS).
const METADATA: &str = "http://100.100.100.200";

const SOURCES: &str = "accessKey: { idFile: …, secretFile: … }, oidc: { roleArn: …, providerArn: …, tokenFile: … } or \
                       instanceMetadata: {}";

/// The settings of a source of keys. The error is a sentence that says what to write.
pub(super) fn settings(section: file::Acs3Section) -> Result<Acs3Settings, String> {
    let file::Acs3Section { region, access_key, oidc, instance_metadata, assume_role, sts: section } = section;
    let mut sources = Vec::new();
    if let Some(file::AccessKeyFiles { id_file, secret_file, token_file, expiration_file }) = access_key {
        if expiration_file.is_some() && token_file.is_none() {
            return Err("`acs3.accessKey` has `expirationFile` for a session, and no `tokenFile`; write both, or none"
                .to_owned());
        }
        sources.push(Acs3Keys::Files { id_file, secret_file, token_file, expiration_file });
    }
    sources.extend(oidc.map(|file::OidcSection { role_arn, provider_arn, token_file }| Acs3Keys::Oidc {
        role_arn: role_arn.0.0,
        provider_arn: provider_arn.0.0,
        token_file,
    }));
    if let Some(file::EcsMetadata { url }) = instance_metadata {
        let url = url.map_or_else(|| KeyServiceUrl::parse(METADATA), |it| Ok(it.0))?;
        sources.push(Acs3Keys::InstanceMetadata { url });
    }
    let keys = match (sources.pop(), sources.is_empty()) {
        (Some(keys), true) => keys,
        (None, _) => return Err(format!("`acs3` says not where its keys come from; write {SOURCES}")),
        (Some(_), false) => return Err(format!("`acs3` has several sources of keys; write one of {SOURCES}")),
    };
    Ok(Acs3Settings {
        region: region.0,
        keys,
        assume_role: assume_role
            .map(|role| RamRoleTaken { role_arn: role.role_arn.0.0, external_id: role.external_id }),
        sts: sts::settings(section),
    })
}
