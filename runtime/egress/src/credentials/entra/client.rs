//! The way to Entra, or to the service for machines' identities: one URL that is asked for tokens.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::super::form::form;
use super::super::token_client::TokenClient;
use super::super::transport::Connect;
use super::answers::ANSWER_BYTES;
use super::settings::{EntraClientName, EntraSettings, IdentityService, ManagedIdentity};
use crate::base_url::{BaseUrl, Origin};
use crate::canonical::{FORM, PathPattern};
use crate::endpoint::{Endpoint, EndpointLimits, Rule};
use crate::error::EgressError;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::policy::OwnRequest;
use crate::request::Method;

/// Where the instance metadata service has tokens ("How to use managed identities on an Azure VM to acquire an access token").
const IMDS_TOKEN: [&str; 4] = ["metadata", "identity", "oauth2", "token"];
/// The versions of both services for machines' identities.
const IMDS_VERSION: &str = "2018-02-01";
const ENDPOINT_VERSION: &str = "2019-08-01";
/// The header that a request to the metadata service has, and no request that was tricked into going there.
const METADATA: HeaderName = HeaderName::from_static("metadata");
/// The header with the word of the environment.
const IDENTITY_HEADER: HeaderName = HeaderName::from_static("x-identity-header");

/// The way to one giver of tokens.
pub(super) struct EntraGiver {
    client: TokenClient,
    origin: Origin,
}

impl EntraGiver {
    /// The token endpoint of a tenant: `POST` alone.
    pub(super) fn of_tenant(
        credential: &str,
        client: &EntraClientName,
        settings: &EntraSettings,
        outside: &dyn Connect,
    ) -> Result<Self, EgressError> {
        let url = token_url(client);
        let origin = url.origin();
        let endpoint = Endpoint {
            addresses: settings.addresses.clone(),
            ca_file: settings.ca_file.clone(),
            proxy: settings.proxy.clone(),
            ..endpoint(&format!("tokens of credential {credential}"), url, Method::Post)
        };
        Ok(Self { client: TokenClient::new(endpoint, outside)?, origin })
    }

    /// The service for machines' identities: `GET` alone.
    pub(super) fn of_machine(
        credential: &str,
        service: &IdentityService,
        outside: &dyn Connect,
    ) -> Result<Self, EgressError> {
        let url = match service {
            IdentityService::Imds(url) => url.base_url().clone().with_path(IMDS_TOKEN.map(str::to_owned).to_vec()),
            IdentityService::Endpoint { url, .. } => url.base_url().clone(),
        };
        let origin = url.origin();
        let endpoint = endpoint(&format!("machine's identity of credential {credential}"), url, Method::Get);
        Ok(Self { client: TokenClient::to_key_service(endpoint, outside)?, origin })
    }

    /// Its name in sentences.
    pub(super) fn place(&self) -> String {
        self.origin.to_string()
    }

    pub(super) async fn post_form(&self, pairs: &[(&str, &str)]) -> Result<CompleteAnswer, String> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(FORM))]);
        self.send(Method::Post, String::new(), headers, Bytes::copy_from_slice(form(pairs).as_bytes())).await
    }

    /// Asks the service for machines' identities.
    pub(super) async fn get(
        &self,
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
        self.send(Method::Get, form(&pairs).to_string(), headers, Bytes::new()).await
    }

    /// The error is a sentence without its full stop.
    async fn send(
        &self,
        method: Method,
        query: String,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<CompleteAnswer, String> {
        let request = OwnRequest { method, path: Vec::new(), is_folder: false, query, headers, body };
        self.client.send(request).await.map_err(|failure| match failure {
            AnswerFailure::Denied(denied) => denied.to_string(),
            AnswerFailure::Paused(after) => format!("{} wants to be left alone for {after:?}", self.origin),
            AnswerFailure::Unreachable(because) | AnswerFailure::Interrupted(because) => because,
        })
    }
}

/// The token endpoint of a tenant.
pub(super) fn token_url(client: &EntraClientName) -> BaseUrl {
    let mut path = client.authority.path().to_vec();
    path.extend([client.tenant.as_str(), "oauth2", "v2.0", "token"].map(str::to_owned));
    client.authority.clone().with_path(path)
}

fn endpoint(name: &str, url: BaseUrl, method: Method) -> Endpoint {
    let all = PathPattern::parse("/**").expect("it is a pattern");
    Endpoint {
        allow: vec![Rule::new([method], [all])],
        limits: EndpointLimits { response_bytes: ANSWER_BYTES, ..EndpointLimits::default() },
        ..Endpoint::new(name, url)
    }
}

/// Whether a person has to do something about an answer of Entra's with this status.
pub(super) fn is_for_a_person(status: StatusCode) -> bool {
    status.is_client_error() && ![StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status)
}

/// The same of the machine's service, which answers 404 and 410 while it is being updated.
pub(super) fn is_for_a_person_at_machine(status: StatusCode) -> bool {
    is_for_a_person(status) && ![StatusCode::NOT_FOUND, StatusCode::GONE].contains(&status)
}
