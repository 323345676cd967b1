//! `credentials[].ibmIam`: tokens of IBM Cloud's IAM.

use egress::{AllowedAddresses, BaseUrl, IbmIamSettings, IbmProfile, IbmTokens, KeyServiceUrl};

use super::file;

/// IAM for everybody ("IAM Identity Services" of IBM Cloud's API reference).
const IAM: &str = "https://iam.cloud.ibm.com";
/// The address of the metadata service of each machine ("Instance metadata" of the VPC's documentation).
const METADATA: &str = "http://169.254.169.254";

const SOURCES: &str =
    "apiKey: { file: … }, computeResource: { tokenFile: …, profile: { id: … } } or instanceIdentity: {}";

/// The settings of a source of tokens. The error is a sentence that says what to write.
pub(super) fn settings(section: file::IbmIamSection) -> Result<IbmIamSettings, String> {
    let file::IbmIamSection { api_key, compute_resource, instance_identity, base_url, addresses, tls, proxy } = section;
    let written = [api_key.is_some(), compute_resource.is_some(), instance_identity.is_some()];
    if written.into_iter().filter(|it| *it).count() > 1 {
        return Err(format!("`ibmIam` has several sources of tokens; write one of {SOURCES}"));
    }
    let is_at_iam = base_url.is_some() || proxy.is_some();
    let iam = base_url.map_or_else(|| BaseUrl::parse(IAM), |it| Ok(it.0))?;
    let tokens = if let Some(file::IbmApiKey { file }) = api_key {
        IbmTokens::ApiKey { iam, file }
    } else if let Some(file::IbmComputeResource { token_file, profile }) = compute_resource {
        let profile = self::profile(profile)?;
        if matches!(profile, IbmProfile::Crn(_)) {
            return Err("`ibmIam.computeResource.profile` is a CRN; IAM takes the profile's id or its name".to_owned());
        }
        IbmTokens::ComputeResource { iam, token_file, profile }
    } else if let Some(file::IbmInstanceIdentity { url, profile }) = instance_identity {
        if is_at_iam {
            return Err(
                "`ibmIam.instanceIdentity` asks the machine's metadata service alone; take `baseUrl` and `proxy` out"
                    .to_owned(),
            );
        }
        let url = url.map_or_else(|| KeyServiceUrl::parse(METADATA), |it| Ok(it.0))?;
        IbmTokens::InstanceIdentity { url, profile: profile.map(self::profile).transpose()? }
    } else {
        return Err(format!("`ibmIam` says not where tokens come from; write {SOURCES}"));
    };
    Ok(IbmIamSettings {
        tokens,
        addresses: addresses.map_or(AllowedAddresses::Public, |it| it.0),
        ca_file: tls.map(|it| it.ca_file),
        proxy: proxy.map(file::ProxySection::proxy),
    })
}

fn profile(section: file::IbmProfileSection) -> Result<IbmProfile, String> {
    let file::IbmProfileSection { id, name, crn } = section;
    match (id, name, crn) {
        (Some(id), None, None) => Ok(IbmProfile::Id(id.0)),
        (None, Some(name), None) => Ok(IbmProfile::Name(name.0)),
        (None, None, Some(crn)) => Ok(IbmProfile::Crn(crn.0)),
        _ => Err("the trusted profile has to have one of id, name and crn".to_owned()),
    }
}
