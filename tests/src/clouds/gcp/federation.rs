//! Workload identity federation: a token of another provider for one of Google's ("Method: token" of the Security Token Service), and that
//! for one of a service account ("Method: serviceAccounts.generateAccessToken" of the IAM Service Account Credentials API).

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors;

/// The scope that every method takes.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The scope of a token that is good for asking for one of a service account alone.
const IAM_SCOPE: &str = "https://www.googleapis.com/auth/iam";
/// The fixed parts of an exchange, word by word.
const EXCHANGE: [(&str, &str); 3] = [
    ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
    ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
    ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
];

/// The trust of pools in tokens of others.
#[derive(Debug, Default)]
pub(super) struct Pools {
    /// Audiences by the tokens that are trusted for them.
    subjects: BTreeMap<String, String>,
    /// Tokens of pools' identities, good for one of a service account.
    steps: BTreeMap<String, SystemTime>,
}

impl Pools {
    /// Lets the provider of a pool trust a token. `provider` begins with `projects/`.
    pub(super) fn trust(&mut self, token: &str, provider: &str) {
        self.subjects.insert(token.to_owned(), format!("//iam.googleapis.com/{provider}"));
    }

    /// `POST /v1/token` of the Security Token Service. `give` makes a token that is good for everything, and says for how many seconds.
    pub(super) fn exchange(&mut self, request: &Recorded, give: impl FnOnce() -> (String, u64)) -> Answer {
        let form: BTreeMap<_, _> = url::form_urlencoded::parse(&request.body).collect();
        let field = |name: &str| form.get(name).map(AsRef::as_ref).unwrap_or_default();
        if let Some((name, _)) = EXCHANGE.iter().find(|(name, value)| field(name) != *value) {
            return refused("invalid_request", &format!("Invalid value for \"{name}\"."));
        }
        let Some(audience) = self.subjects.get(field("subject_token")) else {
            return refused("invalid_grant", "Unable to verify the ID Token signature.");
        };
        if field("audience") != audience {
            let why = "The target service indicated by the \"audience\" parameters is invalid.";
            return refused("invalid_target", why);
        }
        let (token, seconds) = match field("scope") {
            SCOPE => give(),
            IAM_SCOPE => {
                let token = format!("ya29.d.{}", uuid::Uuid::new_v4().simple());
                self.steps.insert(token.clone(), SystemTime::now() + Duration::from_secs(3_600));
                (token, 3_600)
            }
            _ => return refused("invalid_scope", "Invalid OAuth scope."),
        };
        Answer::ok(&json!({ "access_token": token, "expires_in": seconds, "token_type": "Bearer",
            "issued_token_type": EXCHANGE[1].1 }))
    }

    /// Whether this is a token of a pool's identity, good for one of a service account.
    pub(super) fn may_impersonate(&self, token: &str) -> bool {
        self.steps.get(token).is_some_and(|it| *it > SystemTime::now())
    }
}

/// `POST /v1/projects/-/serviceAccounts/EMAIL:generateAccessToken`, whose caller is known. `is_known` says whether there is the account.
pub(super) fn impersonate(request: &Recorded, is_known: bool, give: impl FnOnce() -> (String, u64)) -> Answer {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if !is_known {
        return errors::for_status(StatusCode::NOT_FOUND);
    }
    if body["scope"] != json!([SCOPE]) {
        return errors::for_status(StatusCode::BAD_REQUEST);
    }
    let (token, seconds) = give();
    let end = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds.cast_signed());
    Answer::ok(&json!({ "accessToken": token, "expireTime": end.to_string() }))
}

/// A refusal of a giver of tokens.
pub(super) fn refused(error: &str, why: &str) -> Answer {
    Answer::json(StatusCode::BAD_REQUEST, &json!({ "error": error, "error_description": why }))
}
