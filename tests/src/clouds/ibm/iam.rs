//! IAM, as far as it gives tokens: for API keys, for tokens of compute resources, and for the identity of a machine. Tokens are JWTs that end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors;

/// The API key that is good from the start.
pub const API_KEY: &str = "Xk3vQ0sYdT7mB1nL8wR5cZ2hJ6pF9gUaE4iOyN-_simulated";

/// The trusted profile that is there from the start: its id, and its name.
pub const TRUSTED_PROFILE: (&str, &str) = ("Profile-9fd84246-7df4-4667-94e4-8ecde51d5ac5", "our cluster");

/// The Pods that the profile trusts, as their tokens name them.
const TRUSTED_PODS: &str = "system:serviceaccount:kube-system:cloud-controller-manager";

/// Keys and tokens.
#[derive(Debug)]
pub struct Iam(Mutex<State>);

#[derive(Debug)]
struct State {
    keys: BTreeSet<String>,
    /// Whether the trusted profile is there.
    has_profile: bool,
    /// Tokens that the cluster has signed for its Pods.
    of_pods: BTreeSet<String>,
    /// Tokens that were given.
    tokens: BTreeSet<String>,
    /// The token that is good from the start: it is no JWT.
    own: Option<String>,
    /// Tokens that machines have of themselves, with their ends: with them they ask for one of IAM.
    of_machines: BTreeMap<String, SystemTime>,
    lifetime: Duration,
}

impl Iam {
    /// With [`API_KEY`] and [`TRUSTED_PROFILE`]. This token is good from the start, for ever.
    pub(super) fn new(token: &str) -> Iam {
        Iam(Mutex::new(State {
            keys: BTreeSet::from([API_KEY.to_owned()]),
            has_profile: true,
            of_pods: BTreeSet::new(),
            tokens: BTreeSet::new(),
            own: Some(token.to_owned()),
            of_machines: BTreeMap::new(),
            lifetime: Duration::from_hours(1),
        }))
    }

    /// Takes all tokens back.
    pub fn revoke_all(&self) {
        let mut state = self.now();
        state.tokens.clear();
        state.own = None;
    }

    /// Deletes all API keys, and takes this one in their place.
    pub fn replace_keys(&self, key: &str) {
        self.now().keys = BTreeSet::from([key.to_owned()]);
    }

    /// Deletes the trusted profile.
    pub fn delete_profile(&self) {
        self.now().has_profile = false;
    }

    /// A token that the cluster signs for the Pods of aerostat, as the kubelet projects it: it lasts for so many seconds, or has ended before as
    /// many.
    #[must_use]
    pub fn token_of_pod(&self, seconds: i64) -> String {
        self.signed_for_pod(TRUSTED_PODS, "iam", seconds)
    }

    /// The same for the Pods of any ServiceAccount, and for any audience.
    #[must_use]
    pub fn signed_for_pod(&self, subject: &str, audience: &str, seconds: i64) -> String {
        let now = seconds_of(SystemTime::now());
        let token = jwt(&json!({
            "iss": "https://kubernetes.default.svc.cluster.local", "sub": subject, "aud": [audience], "iat": now,
            "exp": now.saturating_add_signed(seconds), "jti": uuid::Uuid::new_v4().to_string(),
        }));
        self.now().of_pods.insert(token.clone());
        token
    }

    /// Gives tokens for so long from now on.
    pub fn set_lifetime(&self, lifetime: Duration) {
        self.now().lifetime = lifetime;
    }

    /// Whether this is a token of now, by the end that it says itself.
    pub(super) fn admits(&self, token: &str) -> bool {
        let state = self.now();
        state.own.as_deref() == Some(token) || (state.tokens.contains(token) && lasts(&claims(token)))
    }

    /// `POST /identity/token`: a token of this account.
    pub(super) fn give(&self, request: &Recorded, account: &str) -> Answer {
        let refused = |(code, message): (&str, &str)| errors::of_iam(StatusCode::BAD_REQUEST, code, message);
        let mut state = self.now();
        match form(request).and_then(|form| state.identity(&form)) {
            Ok(who) => Answer::ok(&state.given(account, who)),
            Err(Refusal::Key(key)) => {
                // As IAM does: its words repeat what they are about.
                refused(("BXNIM0415E", &format!("Provided API key {key} could not be found.")))
            }
            Err(Refusal::Other(code, message)) => refused((code, message)),
        }
    }

    /// The metadata service: a token of the machine itself.
    pub(super) fn of_machine(&self, seconds: u64) -> Value {
        let token = format!("machine-{}", uuid::Uuid::new_v4().simple());
        let end = SystemTime::now() + Duration::from_secs(seconds);
        self.now().of_machines.insert(token.clone(), end);
        json!({ "access_token": token, "created_at": "2026-11-28T00:00:00Z", "expires_at": "2026-11-28T00:05:00Z", "expires_in": seconds })
    }

    /// Whether this is a token of [`Iam::of_machine`] that has not ended.
    pub(super) fn is_machine(&self, token: &str) -> bool {
        self.now().of_machines.get(token).is_some_and(|it| *it > SystemTime::now())
    }

    /// The metadata service: IAM's token of the profile that the machine is linked to; `None` if `profile`, by its id, name or CRN, is another.
    pub(super) fn for_machine(&self, profile: Option<(&str, &str)>, account: &str) -> Option<Value> {
        let mut state = self.now();
        let (id, name) = TRUSTED_PROFILE;
        let is_linked = state.has_profile
            && profile.is_none_or(|(word, value)| match word {
                "id" => value == id,
                "name" => value == name,
                "crn" => value == format!("crn:v1:bluemix:public:iam-identity::a/{account}::profile:{id}"),
                _ => false,
            });
        is_linked.then(|| state.given(account, "iam-Profile-of-the-machine"))
    }

    fn now(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A form that gets no token: for an unknown API key, or for another reason, by its code.
enum Refusal {
    Key(String),
    Other(&'static str, &'static str),
}

/// The fields of a form, each once.
fn form(request: &Recorded) -> Result<BTreeMap<String, String>, Refusal> {
    let refused = |message| Err(Refusal::Other("BXNIM0101E", message));
    let kind = request.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return refused("The body is no form.");
    }
    let mut form = BTreeMap::new();
    for (key, value) in url::form_urlencoded::parse(&request.body) {
        if form.insert(key.into_owned(), value.into_owned()).is_some() {
            return refused("A parameter stands there twice.");
        }
    }
    Ok(form)
}

impl State {
    /// The identity that a form proves.
    fn identity(&self, form: &BTreeMap<String, String>) -> Result<&'static str, Refusal> {
        let other = |code, message| Err(Refusal::Other(code, message));
        let field = |name: &str| form.get(name).map(String::as_str).filter(|it| !it.is_empty());
        let has_only = |allowed: &[&str]| form.keys().all(|it| allowed.contains(&it.as_str()));
        match field("grant_type") {
            Some("urn:ibm:params:oauth:grant-type:apikey") => {
                if !has_only(&["grant_type", "apikey", "response_type", "scope"]) {
                    return other("BXNIM0101E", "A parameter is not one of this grant.");
                }
                let key = field("apikey").unwrap_or_default();
                if self.keys.contains(key) { Ok("iam-ServiceId-simulated") } else { Err(Refusal::Key(key.to_owned())) }
            }
            Some("urn:ibm:params:oauth:grant-type:cr-token") => {
                if !has_only(&["grant_type", "cr_token", "profile_id", "profile_name", "response_type", "scope"]) {
                    return other("BXNIM0101E", "A parameter is not one of this grant.");
                }
                let (id, name) = TRUSTED_PROFILE;
                let is_there = match (field("profile_id"), field("profile_name")) {
                    (Some(given), None) => given == id,
                    (None, Some(given)) => given == name,
                    _ => return other("BXNIM0109E", "One of profile_id and profile_name is needed."),
                };
                if !is_there || !self.has_profile {
                    return other("BXNIM0436E", "The trusted profile was not found.");
                }
                let token = field("cr_token").unwrap_or_default();
                let claims = claims(token);
                if !self.of_pods.contains(token) {
                    return other("BXNIM0514E", "The signature of the compute resource token is not the cluster's.");
                }
                if !lasts(&claims) {
                    return other("BXNIM0512E", "The compute resource token has ended.");
                }
                if claims["sub"] != TRUSTED_PODS || claims["aud"] != json!(["iam"]) {
                    return other("BXNIM0513E", "The compute resource token does not match the trusted profile.");
                }
                Ok("iam-Profile-simulated")
            }
            _ => other("BXNIM0101E", "Invalid input parameter: grant_type."),
        }
    }

    /// A new token, as IAM's answers hold it.
    fn given(&mut self, account: &str, who: &str) -> Value {
        let now = SystemTime::now();
        let (begins, ends) = (seconds_of(now), seconds_of(now + self.lifetime));
        let token = jwt(&json!({
            "iam_id": who, "id": who, "iss": "https://iam.cloud.ibm.com/identity", "account": { "valid": true, "bss": account },
            "iat": begins, "exp": ends, "jti": uuid::Uuid::new_v4().to_string(),
        }));
        self.tokens.insert(token.clone());
        json!({
            "access_token": token, "refresh_token": "not_supported", "token_type": "Bearer", "expires_in": self.lifetime.as_secs(),
            "expiration": ends, "scope": "ibm openid",
        })
    }
}

fn seconds_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

/// A token with these claims. Its signature is one that nobody can check.
fn jwt(claims: &Value) -> String {
    let encoded = |it: &Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
    let head = encoded(&json!({ "alg": "RS256", "kid": "20261128", "typ": "JWT" }));
    format!("{head}.{}.{}", encoded(claims), BASE64_URL_SAFE_NO_PAD.encode(uuid::Uuid::new_v4().as_bytes()))
}

/// The claims of a token; null for one that has none.
fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).and_then(|it| BASE64_URL_SAFE_NO_PAD.decode(it).ok());
    part.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default()
}

/// Whether a token with these claims has not ended yet.
fn lasts(claims: &Value) -> bool {
    claims["exp"].as_u64().is_some_and(|end| end > seconds_of(SystemTime::now()))
}
