//! The URLs of Entra and of the services for machines' identities, and the requests of the latter.

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::token_giver::{TokenGiver, is_for_a_person};
use super::settings::{EntraClientName, IdentityService, ManagedIdentity};
use crate::base_url::BaseUrl;
use crate::outcome::CompleteAnswer;

/// Where the instance metadata service has tokens ("How to use managed identities on an Azure VM to acquire an access token").
const IMDS_TOKEN: [&str; 4] = ["metadata", "identity", "oauth2", "token"];
/// The versions of both services for machines' identities.
const IMDS_VERSION: &str = "2018-02-01";
const ENDPOINT_VERSION: &str = "2019-08-01";
/// The header that a request to the metadata service has, and no request that was tricked into going there.
const METADATA: HeaderName = HeaderName::from_static("metadata");
/// The header with the word of the environment.
const IDENTITY_HEADER: HeaderName = HeaderName::from_static("x-identity-header");

/// Asks the service for machines' identities.
pub(super) async fn machine_token(
    giver: &TokenGiver,
    service: &IdentityService,
    identity: &ManagedIdentity,
    resource: &str,
) -> Result<CompleteAnswer, String> {
    let mut headers = HeaderMap::from_iter([(METADATA, HeaderValue::from_static("true"))]);
    // The two services have different words for a resource id.
    let (version, resource_id) = match service {
        IdentityService::Imds(_) => (IMDS_VERSION, "msi_res_id"),
        IdentityService::Endpoint { header, .. } => {
            let mut value = HeaderValue::from_str(header.as_str()).map_err(|_| "it is no header".to_owned())?;
            value.set_sensitive(true);
            headers.insert(IDENTITY_HEADER, value);
            (ENDPOINT_VERSION, "mi_res_id")
        }
    };
    let mut pairs = vec![("api-version", version), ("resource", resource)];
    match identity {
        ManagedIdentity::System => {}
        ManagedIdentity::ClientId(id) => pairs.push(("client_id", id.as_str())),
        ManagedIdentity::ResourceId(id) => pairs.push((resource_id, id.as_str())),
    }
    giver.get(&pairs, headers).await
}

/// The token endpoint of a tenant.
pub(super) fn token_url(client: &EntraClientName) -> BaseUrl {
    let mut path = client.authority.path().to_vec();
    path.extend([client.tenant.as_str(), "oauth2", "v2.0", "token"].map(str::to_owned));
    client.authority.clone().with_path(path)
}

/// Where a service for machines' identities gives tokens.
pub(super) fn machine_url(service: &IdentityService) -> BaseUrl {
    match service {
        IdentityService::Imds(url) => url.base_url().clone().with_path(IMDS_TOKEN.map(str::to_owned).to_vec()),
        IdentityService::Endpoint { url, .. } => url.base_url().clone(),
    }
}

/// Whether a person has to do something about an answer of the machine's service, which answers 404 and 410 while it is being
/// updated.
pub(super) fn is_for_a_person_at_machine(status: StatusCode) -> bool {
    is_for_a_person(status) && ![StatusCode::NOT_FOUND, StatusCode::GONE].contains(&status)
}
