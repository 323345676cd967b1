//! Entra: the token endpoint for applications, and managed identities of machines.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::json;

use crate::simulator::{Answer, Recorded};

use super::applications::{Application, Jwt};
use super::reading::{header, unix};
use super::tenants::{CLIENT, IDENTITY, IDENTITY_HEADER, OTHER_TENANT, TENANT};
use super::tokens::Tokens;

/// The kind of assertion that a client makes.
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Tenants, applications and identities.
#[derive(Debug)]
pub(super) struct Entra {
    pub(super) applications: BTreeMap<String, Application>,
    /// Managed identities: resource ids by client id. The machine itself has one, too.
    pub(super) identities: BTreeMap<String, String>,
    /// Where it is: assertions are for it.
    pub(super) base: String,
}

impl Entra {
    pub(super) fn new() -> Entra {
        Entra {
            applications: BTreeMap::from([(CLIENT.to_owned(), Application::usual())]),
            identities: BTreeMap::from([(CLIENT.to_owned(), IDENTITY.to_owned())]),
            base: String::new(),
        }
    }

    /// Answers a request for a token, or for where one can be had. Nothing, if it is for something else.
    pub(super) fn answer(&self, tokens: &mut Tokens, request: &Recorded) -> Option<Answer> {
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        Some(match &path[..] {
            [tenant, "oauth2", "v2.0", "token"] => self.exchange(tokens, request, tenant).unwrap_or_else(|it| *it),
            [tenant, "v2.0", ".well-known", "openid-configuration"] => self.configuration(tenant),
            ["common", "discovery", "instance"] => self.instances(),
            ["metadata", "identity", "oauth2", "token"] => self.managed(tokens, request),
            ["msi", "token"] => self.endpoint(tokens, request),
            ["metadata", "endpoints"] => self.clouds(),
            _ => return None,
        })
    }

    fn configuration(&self, tenant: &str) -> Answer {
        if !is_tenant(tenant) {
            return unknown_tenant(tenant);
        }
        let at = format!("{}/{tenant}", self.base);
        Answer::ok(&json!({
            "token_endpoint": format!("{at}/oauth2/v2.0/token"), "authorization_endpoint": format!("{at}/oauth2/v2.0/authorize"),
            "issuer": format!("{at}/v2.0"), "jwks_uri": format!("{at}/keys"),
        }))
    }

    fn instances(&self) -> Answer {
        Answer::ok(&json!({
            "tenant_discovery_endpoint": format!("{}/{TENANT}/v2.0/.well-known/openid-configuration", self.base),
            "api-version": "1.1", "metadata": [],
        }))
    }

    /// `GET /metadata/endpoints`, by which a client knows the clouds.
    fn clouds(&self) -> Answer {
        let authentication = json!({
            "loginEndpoint": self.base, "audiences": ["https://management.core.windows.net/", "https://management.azure.com/"],
            "tenant": "common", "identityProvider": "AAD",
        });
        Answer::ok(
            &json!([{ "name": "AzureCloud", "resourceManager": format!("{}/", self.base), "authentication": authentication }]),
        )
    }

    /// `POST /{tenant}/oauth2/v2.0/token`.
    fn exchange(&self, tokens: &mut Tokens, request: &Recorded, tenant: &str) -> Result<Answer, Box<Answer>> {
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(&request.body)
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        if !is_tenant(tenant) {
            return Err(unknown_tenant(tenant).into());
        }
        for name in ["client_id", "grant_type", "scope"] {
            if field(name).is_empty() {
                let why = format!("The request body must contain the following parameter: '{name}'.");
                return Err(refused(400, "invalid_request", 900_144, &why).into());
            }
        }
        if field("grant_type") != "client_credentials" {
            return Err(
                refused(400, "unsupported_grant_type", 70_003, "The app requested an unsupported grant type.").into()
            );
        }
        let client = field("client_id");
        let Some(application) = self.applications.get(client) else {
            let why = format!("Application with identifier '{client}' was not found in the directory '{tenant}'.");
            return Err(refused(400, "unauthorized_client", 700_016, &why).into());
        };
        if !field("scope").split(' ').any(is_scope) {
            let why = format!(
                "The provided request must include a 'scope' input parameter that is valid: '{}'.",
                field("scope")
            );
            return Err(refused(400, "invalid_scope", 70_011, &why).into());
        }
        let endpoint = format!("{}/{tenant}/oauth2/v2.0/token", self.base);
        match (field("client_secret"), field("client_assertion")) {
            ("", "") => {
                let why =
                    "The request body must contain the following parameter: 'client_assertion' or 'client_secret'.";
                return Err(refused(401, "invalid_client", 7_000_218, why).into());
            }
            ("", assertion) => {
                if field("client_assertion_type") != ASSERTION {
                    return Err(refused(
                        400,
                        "invalid_request",
                        7_000_214,
                        "The client assertion type is not supported.",
                    )
                    .into());
                }
                let jwt = Jwt::read(assertion)
                    .ok_or_else(|| refused(401, "invalid_client", 50_027, "Jwt token is invalid or malformed."))?;
                application
                    .asserted(&jwt, client, &endpoint)
                    .map_err(|(number, why)| refused(401, "invalid_client", number, &why))?;
            }
            (secret, _) => {
                application.knows(secret).map_err(|(number, why)| refused(401, "invalid_client", number, &why))?;
            }
        }
        let (token, seconds) = tokens.give(tenant, field("claims"));
        Ok(Answer::ok(&json!({
            "token_type": "Bearer", "expires_in": seconds, "ext_expires_in": seconds, "access_token": token,
        })))
    }

    /// The machine's own metadata service.
    fn managed(&self, tokens: &mut Tokens, request: &Recorded) -> Answer {
        if header(&request.headers, "metadata") != "true" {
            return plain(StatusCode::BAD_REQUEST, "invalid_request", "Required metadata header not specified");
        }
        let client = match self.identity(request) {
            Ok(client) => client,
            Err(answer) => return *answer,
        };
        let (token, seconds) = tokens.give(TENANT, "");
        let now = unix();
        Answer::ok(&json!({
            "access_token": token, "client_id": client, "expires_in": seconds.to_string(),
            "expires_on": (now + seconds).to_string(), "ext_expires_in": seconds.to_string(), "not_before": now.to_string(),
            "resource": request.query_value("resource").unwrap_or_default(), "token_type": "Bearer",
        }))
    }

    /// The same where the environment names an endpoint.
    fn endpoint(&self, tokens: &mut Tokens, request: &Recorded) -> Answer {
        if header(&request.headers, "x-identity-header") != IDENTITY_HEADER {
            return plain(StatusCode::UNAUTHORIZED, "unauthorized", "The identity header is wrong");
        }
        if let Err(answer) = self.identity(request) {
            return *answer;
        }
        let (token, seconds) = tokens.give(TENANT, "");
        Answer::ok(&json!({
            "access_token": token, "expires_on": (unix() + seconds).to_string(),
            "resource": request.query_value("resource").unwrap_or_default(), "token_type": "Bearer",
        }))
    }

    /// The client id of the identity that a request names.
    fn identity(&self, request: &Recorded) -> Result<String, Box<Answer>> {
        if request.query_value("resource").is_none_or(str::is_empty) {
            return Err(
                plain(StatusCode::BAD_REQUEST, "invalid_request", "Required audience parameter not specified").into()
            );
        }
        let by_client = request.query_value("client_id");
        let by_resource = ["msi_res_id", "mi_res_id"].into_iter().find_map(|it| request.query_value(it));
        let found = match (by_client, by_resource) {
            (None, None) => return Ok("00000000-0000-0000-0000-000000000001".to_owned()),
            (Some(client), _) => self.identities.get_key_value(client),
            (None, Some(resource)) => self.identities.iter().find(|(_, it)| it.eq_ignore_ascii_case(resource)),
        };
        let unknown = || plain(StatusCode::BAD_REQUEST, "invalid_request", "Identity not found");
        found.map(|(client, _)| client.clone()).ok_or_else(|| unknown().into())
    }
}

/// Whether a scope is that of the resource manager, under one of its names.
fn is_scope(scope: &str) -> bool {
    let manager = scope.strip_suffix("/.default").map(|it| it.trim_end_matches('/'));
    matches!(manager, Some("https://management.azure.com" | "https://management.core.windows.net"))
}

fn is_tenant(tenant: &str) -> bool {
    [TENANT, OTHER_TENANT].contains(&tenant)
}

fn unknown_tenant(tenant: &str) -> Answer {
    let why = format!("Tenant '{tenant}' not found. Check to make sure you have the correct tenant ID.");
    refused(400, "invalid_request", 90_002, &why)
}

/// A refusal in Entra's words.
fn refused(status: u16, error: &str, number: u32, why: &str) -> Answer {
    let status = StatusCode::from_u16(status).expect("the simulator's statuses are statuses");
    let body =
        json!({ "error": error, "error_description": format!("AADSTS{number}: {why}"), "error_codes": [number] });
    Answer::json(status, &body)
}

fn plain(status: StatusCode, error: &str, why: &str) -> Answer {
    Answer::json(status, &json!({ "error": error, "error_description": why }))
}
