//! `credentials[].entra`: tokens of Microsoft Entra.

use egress::{
    AllowedAddresses, AzureCloud, BaseUrl, EntraClientName, EntraLogin, EntraProof, EntraSettings, EntraWord,
    IdentityHeader, IdentityService, KeyServiceUrl, ManagedIdentity,
};

use super::file;
use crate::flags::IdentityVariables;

/// The address of the instance metadata service ("Azure Instance Metadata Service").
const METADATA: &str = "http://169.254.169.254";

const PROOFS: &str =
    "clientSecret: { file: … }, clientCertificate: { file: … }, federatedToken: { file: … } or managedIdentity: {}";

/// The settings of a source of tokens. The error is a sentence that says what to write.
pub(super) fn settings(section: file::EntraSection, variables: &IdentityVariables) -> Result<EntraSettings, String> {
    let file::EntraSection {
        tenant,
        client_id,
        client_secret,
        client_certificate,
        federated_token,
        managed_identity,
        cloud,
        authority,
        scope,
        auxiliary,
        addresses,
        tls,
        proxy,
    } = section;
    let cloud = cloud.map_or(AzureCloud::Public, |it| it.0);
    let proofs = [client_secret.is_some(), client_certificate.is_some(), federated_token.is_some()];
    let written = proofs.into_iter().filter(|it| *it).count() + usize::from(managed_identity.is_some());
    if written > 1 {
        return Err(format!("`entra` has several proofs; write one of {PROOFS}"));
    }
    let proof = client_secret
        .map(|it| EntraProof::Secret { file: it.file })
        .or(client_certificate.map(|it| EntraProof::Certificate { file: it.file, sends_chain: it.send_chain }))
        .or(federated_token.map(|it| EntraProof::FederatedToken { file: it.file }));
    let login = match (proof, managed_identity) {
        (Some(proof), _) => {
            let missing = |key: &str| format!("`entra.{key}` is missing; write it beside the proof");
            EntraLogin::Client {
                client: EntraClientName {
                    authority: authority.map_or_else(|| BaseUrl::parse(cloud.authority()), |it| Ok(it.0))?,
                    tenant: tenant.ok_or_else(|| missing("tenant"))?.0,
                    client_id: client_id.ok_or_else(|| missing("clientId"))?.0,
                },
                proof,
            }
        }
        (None, Some(section)) => {
            for (key, is_written) in [
                ("tenant", tenant.is_some()),
                ("clientId", client_id.is_some()),
                ("authority", authority.is_some()),
                ("proxy", proxy.is_some()),
            ] {
                if is_written {
                    return Err(format!(
                        "`entra.{key}` is not for `managedIdentity`; take it out (an identity of a user's is named in \
                         `managedIdentity.clientId`)"
                    ));
                }
            }
            managed(section, variables)?
        }
        (None, None) => return Err(format!("`entra` has no proof of who asks; write {PROOFS}")),
    };
    Ok(EntraSettings {
        login,
        scope: scope.map_or_else(|| EntraWord::parse(cloud.scope()), |it| Ok(it.0))?,
        auxiliary,
        addresses: addresses.map_or(AllowedAddresses::Public, |it| it.0),
        ca_file: tls.map(|it| it.ca_file),
        proxy: proxy.map(file::ProxySection::proxy),
    })
}

fn managed(section: file::ManagedIdentitySection, variables: &IdentityVariables) -> Result<EntraLogin, String> {
    let file::ManagedIdentitySection { client_id, resource_id, url, environment: is_in_environment } = section;
    let identity = match (client_id, resource_id) {
        (None, None) => ManagedIdentity::System,
        (Some(id), None) => ManagedIdentity::ClientId(id.0),
        (None, Some(id)) => ManagedIdentity::ResourceId(id.0),
        (Some(_), Some(_)) => return Err("`managedIdentity` has two ids; write clientId or resourceId".to_owned()),
    };
    if !is_in_environment {
        let url = url.map_or_else(|| KeyServiceUrl::parse(METADATA), |it| Ok(it.0))?;
        return Ok(EntraLogin::ManagedIdentity { identity, service: IdentityService::Imds(url) });
    }
    if url.is_some() {
        return Err("`managedIdentity` has `url` and `environment`; write one of them".to_owned());
    }
    let missing = |name: &str| format!("{name} is not in the environment, as `managedIdentity.environment` says");
    // The service is beside the process; its name would have to be resolved, and may be anything.
    let endpoint = variables.endpoint.as_ref().ok_or_else(|| missing("IDENTITY_ENDPOINT"))?;
    let endpoint = endpoint.replacen("://localhost", "://127.0.0.1", 1);
    let url = KeyServiceUrl::parse(&endpoint).map_err(|because| format!("IDENTITY_ENDPOINT: {because}"))?;
    let header = IdentityHeader::parse(variables.header.as_ref().ok_or_else(|| missing("IDENTITY_HEADER"))?)?;
    Ok(EntraLogin::ManagedIdentity { identity, service: IdentityService::Endpoint { url, header } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_environment(endpoint: Option<&str>, header: Option<&str>) -> Result<EntraSettings, String> {
        let section =
            serde_json::from_value(serde_json::json!({ "managedIdentity": { "environment": true } })).unwrap();
        let value = |it: Option<&str>| it.map(str::to_owned);
        settings(section, &IdentityVariables { endpoint: value(endpoint), header: value(header) })
    }

    #[test]
    fn the_environment_names_a_service_for_identities() {
        for endpoint in ["http://localhost:42356/msi/token", "http://127.0.0.1:41741/MSI/token/"] {
            let settings = in_environment(Some(endpoint), Some("0123")).expect(endpoint);
            let EntraLogin::ManagedIdentity { service, .. } = settings.login else { panic!("another login") };
            assert!(matches!(service, IdentityService::Endpoint { .. }));
        }
        for (endpoint, header, part) in [
            (None, Some("0123"), "IDENTITY_ENDPOINT is not in the environment"),
            (Some("http://localhost:1"), None, "IDENTITY_HEADER is not in the environment"),
            (Some("http://10.0.0.1/msi"), Some("0123"), "IDENTITY_ENDPOINT: the host is none"),
            (Some("http://localhost:1"), Some("of somebody"), "not visible ASCII"),
        ] {
            let error = in_environment(endpoint, header).unwrap_err();
            assert!(error.contains(part) && !error.contains("of somebody"), "{error}");
        }
    }
}
