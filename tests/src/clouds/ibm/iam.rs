//! IAM, as far as it gives tokens: for API keys, for tokens of compute resources, and for the identity of a machine. Tokens are JWTs that end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors;

/// The API key that is good from the start.
pub const API_KEY: &str = "Xk3vQ0sYdT7mB1nL8wR5cZ2hJ6pF9gUaE4iOyN-_simulated";

/// Keys and tokens.
#[derive(Debug)]
pub struct Iam(Mutex<State>);

#[derive(Debug)]
struct State {
    keys: BTreeSet<String>,
    /// Trusted profiles by the tokens of compute resources.
    trusted: BTreeMap<String, String>,
    /// Tokens with their ends.
    tokens: BTreeMap<String, SystemTime>,
    /// Tokens that machines have of themselves, with which they ask for one of IAM.
    of_machines: BTreeMap<String, SystemTime>,
    lifetime: Duration,
}

impl Iam {
    /// With [`API_KEY`]. This token is good from the start, for ever.
    pub(super) fn new(token: &str) -> Iam {
        let ever = SystemTime::now() + Duration::from_hours(24 * 365);
        Iam(Mutex::new(State {
            keys: BTreeSet::from([API_KEY.to_owned()]),
            trusted: BTreeMap::new(),
            tokens: BTreeMap::from([(token.to_owned(), ever)]),
            of_machines: BTreeMap::new(),
            lifetime: Duration::from_hours(1),
        }))
    }

    /// Takes all tokens back.
    pub fn revoke_all(&self) {
        self.now().tokens.clear();
    }

    /// Deletes all API keys, and takes this one in their place.
    pub fn replace_keys(&self, key: &str) {
        self.now().keys = BTreeSet::from([key.to_owned()]);
    }

    /// Lets the trusted profile with this id trust the token of a compute resource.
    pub fn trust(&self, token: &str, profile: &str) {
        self.now().trusted.insert(token.to_owned(), profile.to_owned());
    }

    /// Gives tokens for so long from now on.
    pub fn set_lifetime(&self, lifetime: Duration) {
        self.now().lifetime = lifetime;
    }

    /// Whether this is a token of now.
    pub(super) fn admits(&self, token: &str) -> bool {
        self.now().tokens.get(token).is_some_and(|it| *it > SystemTime::now())
    }

    /// `POST /identity/token`: a token of this account.
    pub(super) fn give(&self, request: &Recorded, account: &str) -> Answer {
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(&request.body)
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let mut state = self.now();
        let refused = |code: &str, message: &str| errors::of_iam(StatusCode::BAD_REQUEST, code, message);
        let who = match field("grant_type") {
            "urn:ibm:params:oauth:grant-type:apikey" if state.keys.contains(field("apikey")) => {
                "iam-ServiceId-simulated"
            }
            "urn:ibm:params:oauth:grant-type:apikey" => {
                // As IAM does: its words repeat what they are about.
                let message = format!("Provided API key {} could not be found.", field("apikey"));
                return refused("BXNIM0415E", &message);
            }
            "urn:ibm:params:oauth:grant-type:cr-token" => {
                let profile = if field("profile_id").is_empty() { field("profile_name") } else { field("profile_id") };
                match state.trusted.get(field("cr_token")) {
                    Some(trusted) if trusted == profile => "iam-Profile-simulated",
                    _ => {
                        return refused("BXNIM0513E", "The compute resource token does not match the trusted profile.");
                    }
                }
            }
            _ => return refused("BXNIM0101E", "Invalid input parameter: grant_type."),
        };
        Answer::ok(&state.given(account, who))
    }

    /// The metadata service: a token of the machine itself.
    pub(super) fn of_machine(&self, seconds: u64) -> Value {
        let token = format!("machine-{}", uuid::Uuid::new_v4().simple());
        let end = SystemTime::now() + Duration::from_secs(seconds);
        self.now().of_machines.insert(token.clone(), end);
        json!({ "access_token": token, "created_at": "2026-11-28T00:00:00Z", "expires_at": "2026-11-28T00:05:00Z", "expires_in": seconds })
    }

    /// The metadata service: IAM's token for one of [`Iam::of_machine`]; `None` without one.
    pub(super) fn for_machine(&self, token: &str, account: &str) -> Option<Value> {
        let mut state = self.now();
        let is_good = state.of_machines.get(token).is_some_and(|it| *it > SystemTime::now());
        is_good.then(|| state.given(account, "iam-Profile-of-the-machine"))
    }

    fn now(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A new token, as IAM's answers hold it.
    fn given(&mut self, account: &str, who: &str) -> Value {
        let now = SystemTime::now();
        let seconds = |it: SystemTime| it.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let (begins, ends) = (seconds(now), seconds(now + self.lifetime));
        let encoded = |it: &Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
        let claims = json!({
            "iam_id": who, "id": who, "iss": "https://iam.cloud.ibm.com/identity", "account": { "valid": true, "bss": account },
            "iat": begins, "exp": ends, "jti": uuid::Uuid::new_v4().to_string(),
        });
        let head = encoded(&json!({ "alg": "RS256", "kid": "20261128", "typ": "JWT" }));
        let token =
            format!("{head}.{}.{}", encoded(&claims), BASE64_URL_SAFE_NO_PAD.encode(uuid::Uuid::new_v4().as_bytes()));
        self.tokens.insert(token.clone(), now + self.lifetime);
        json!({
            "access_token": token, "refresh_token": "not_supported", "token_type": "Bearer", "expires_in": self.lifetime.as_secs(),
            "expiration": ends, "scope": "ibm openid",
        })
    }
}
