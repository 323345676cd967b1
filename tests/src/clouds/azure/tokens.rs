//! Access tokens: whom they were given to, until when, and which of them are good.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;

use crate::simulator::Answer;

use super::errors::Refusal;
use super::reading::header;
use super::tenants::{OTHER_TENANT, TENANT};

/// Tokens by what they are.
#[derive(Debug)]
pub(super) struct Tokens {
    given: BTreeMap<String, Token>,
    pub(super) lifetime: Duration,
    /// The claims that a token must have been asked for with.
    pub(super) demanded: Option<String>,
    /// Whether requests need a token of the second tenant, too.
    pub(super) needs_auxiliary: bool,
}

#[derive(Debug)]
struct Token {
    tenant: String,
    end: SystemTime,
    /// The claims with which it was asked for.
    claims: String,
}

impl Tokens {
    /// This token is good from the start, for ever.
    pub(super) fn new(token: &str) -> Tokens {
        let ever = SystemTime::now() + Duration::from_hours(24 * 365);
        let own = Token { tenant: TENANT.to_owned(), end: ever, claims: String::new() };
        Tokens {
            given: BTreeMap::from([(token.to_owned(), own)]),
            lifetime: Duration::from_secs(3_599),
            demanded: None,
            needs_auxiliary: false,
        }
    }

    /// A new token, and its seconds.
    pub(super) fn give(&mut self, tenant: &str, claims: &str) -> (String, u64) {
        let token = format!("eyJ.{}.simulated", uuid::Uuid::new_v4().simple());
        let end = SystemTime::now() + self.lifetime;
        self.given.insert(token.clone(), Token { tenant: tenant.to_owned(), end, claims: claims.to_owned() });
        (token, self.lifetime.as_secs())
    }

    /// Lets all tokens that were given until now be expired.
    pub(super) fn expire_all(&mut self) {
        self.given.values_mut().for_each(|it| it.end = SystemTime::now());
    }

    /// Forgets all tokens that were given until now.
    pub(super) fn revoke_all(&mut self) {
        self.given.clear();
    }

    /// How many tokens are good now.
    pub(super) fn good(&self) -> usize {
        let now = SystemTime::now();
        self.given.values().filter(|it| it.end > now).count()
    }

    /// Refuses a request whose proof is none.
    pub(super) fn refuse(&self, authorization: &str, headers: &HeaderMap, base: &str) -> Option<Answer> {
        let uri = format!("{base}/common/oauth2/authorize");
        let bearer = |more: &str| format!("Bearer realm=\"\", authorization_uri=\"{uri}\"{more}");
        if authorization.is_empty() {
            return Some(refused(
                "AuthenticationFailed",
                "Authentication failed. The 'Authorization' header is missing.",
                &bearer(""),
            ));
        }
        let refusal = self.judge(authorization, TENANT, &bearer);
        if refusal.is_some() {
            return refusal;
        }
        let auxiliary: Vec<&str> = header(headers, "x-ms-authorization-auxiliary")
            .split(',')
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        if auxiliary.is_empty() && self.needs_auxiliary {
            let why = "The client has permission to perform action on scope, however the current tenant is not authorized to access the \
                       linked subscription.";
            return Some(Refusal::new(403, "LinkedAuthorizationFailed", why).answer());
        }
        auxiliary.into_iter().find_map(|it| self.judge(it, OTHER_TENANT, &bearer))
    }

    fn judge(&self, authorization: &str, tenant: &str, bearer: &dyn Fn(&str) -> String) -> Option<Answer> {
        let token = self.given.get(authorization.strip_prefix("Bearer ").unwrap_or_default());
        let token = token.filter(|it| it.tenant == tenant);
        let Some(token) = token else {
            return Some(refused(
                "InvalidAuthenticationToken",
                "The access token is invalid.",
                &bearer(", error=\"invalid_token\""),
            ));
        };
        if token.end <= SystemTime::now() {
            let why = "The access token expiry UTC time is earlier than current UTC time.";
            return Some(refused("ExpiredAuthenticationToken", why, &bearer(", error=\"invalid_token\"")));
        }
        let demanded = self.demanded.as_ref()?;
        if token.claims.contains(demanded.trim_start_matches('{').trim_end_matches('}')) {
            return None;
        }
        let claims = BASE64_STANDARD.encode(demanded);
        let more = format!(", error=\"insufficient_claims\", claims=\"{claims}\"");
        Some(refused("TokenIssuedBeforeRevocationTimestamp", "The access token has been revoked.", &bearer(&more)))
    }
}

fn refused(code: &str, message: &str, authenticate: &str) -> Answer {
    let mut answer = Refusal::new(401, code, message).answer();
    answer.set("www-authenticate", authenticate);
    answer
}
