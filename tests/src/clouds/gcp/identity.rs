//! Service accounts: tokens by their keys, from the token endpoint or signed by the account itself, for tokens of others, and from the
//! machine.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::federation::{self, Pools, SCOPE, refused};

/// The file of the service account's key, as Google gives it.
pub const KEY: &str = include_str!("../../../google/key.json");

/// The address that assertions are for, wherever the endpoint is.
const AUDIENCE: &str = "https://oauth2.googleapis.com/token";
/// How far a client's clock may be off.
const SKEW: u64 = 300;

/// Accounts and tokens.
#[derive(Debug)]
pub struct Accounts(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Public keys by their ids, with the account's address.
    keys: BTreeMap<String, (String, Vec<u8>)>,
    /// Tokens with their ends.
    tokens: BTreeMap<String, SystemTime>,
    lifetime: Duration,
    pools: Pools,
}

impl Accounts {
    /// The account of [`KEY`]. This token is good from the start, for ever.
    pub(super) fn new(token: &str) -> Accounts {
        let file: Value = serde_json::from_str(KEY).expect("the key's file is JSON");
        let field = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        let der = PrivatePkcs8KeyDer::from_pem_slice(field("private_key").as_bytes()).expect("the key is PKCS #8");
        let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).expect("the key is RSA");
        let key = (field("client_email"), pair.public_key().as_ref().to_vec());
        let ever = SystemTime::now() + Duration::from_hours(24 * 365);
        Accounts(Mutex::new(State {
            keys: BTreeMap::from([(field("private_key_id"), key)]),
            tokens: BTreeMap::from([(token.to_owned(), ever)]),
            lifetime: Duration::from_secs(3_599),
            pools: Pools::default(),
        }))
    }

    /// Takes all tokens back that the endpoint has given.
    pub fn revoke_all(&self) {
        self.now().tokens.clear();
    }

    /// Deletes all keys: nothing that is signed with one is good any more.
    pub fn delete_keys(&self) {
        self.now().keys.clear();
    }

    /// Gives tokens for so long from now on.
    pub fn set_lifetime(&self, lifetime: Duration) {
        self.now().lifetime = lifetime;
    }

    /// How many tokens are good now.
    #[must_use]
    pub fn tokens(&self) -> usize {
        let now = SystemTime::now();
        self.now().tokens.values().filter(|it| **it > now).count()
    }

    /// Whether this is a token: one that was given, or one that an account has signed for itself.
    pub(super) fn admits(&self, token: &str) -> bool {
        let state = self.now();
        if state.tokens.get(token).is_some_and(|it| *it > SystemTime::now()) {
            return true;
        }
        state.claims(token).is_ok_and(|claims| {
            let is_for_us = claims["scope"].as_str().is_some_and(|it| it.split(' ').any(|it| it == SCOPE))
                || claims["aud"] == json!("https://compute.googleapis.com/");
            claims["sub"] == claims["iss"] && is_for_us
        })
    }

    /// `POST /token`: a signed assertion for a token.
    pub(super) fn give(&self, request: &Recorded) -> Answer {
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(&request.body)
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        if field("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
            return refused("unsupported_grant_type", "Invalid grant_type");
        }
        let mut state = self.now();
        let claims = match state.claims(field("assertion")) {
            Ok(claims) => claims,
            Err(why) => return refused("invalid_grant", why),
        };
        if claims["aud"] != json!(AUDIENCE) {
            return refused(
                "invalid_grant",
                "Invalid JWT: Failed audience check. The right audience is https://oauth2.googleapis.com/token",
            );
        }
        if claims["scope"].as_str().is_none_or(str::is_empty) {
            return refused("invalid_scope", "Invalid OAuth scope or ID token audience provided.");
        }
        let State { tokens, lifetime, .. } = &mut *state;
        let (token, seconds) = given(tokens, *lifetime);
        Answer::ok(&json!({ "access_token": token, "expires_in": seconds, "token_type": "Bearer" }))
    }

    /// Lets the provider of a pool trust a token. `provider` begins with `projects/`.
    pub fn trust(&self, token: &str, provider: &str) {
        self.now().pools.trust(token, provider);
    }

    /// `POST /v1/token`: a token of another provider for one of Google's.
    pub(super) fn exchange(&self, request: &Recorded) -> Answer {
        let State { pools, tokens, lifetime, .. } = &mut *self.now();
        pools.exchange(request, || given(tokens, *lifetime))
    }

    /// Whether this is a token of a pool's identity, good for one of a service account.
    pub(super) fn may_impersonate(&self, token: &str) -> bool {
        self.now().pools.may_impersonate(token)
    }

    /// `POST /v1/projects/-/serviceAccounts/EMAIL:generateAccessToken`.
    pub(super) fn impersonate(&self, request: &Recorded, account: &str) -> Answer {
        let State { keys, tokens, lifetime, .. } = &mut *self.now();
        let account = account.replace("%40", "@").replace("%3A", ":");
        let email = account.strip_suffix(":generateAccessToken");
        let is_known = keys.values().any(|(it, _)| Some(&**it) == email);
        federation::impersonate(request, is_known, || given(tokens, *lifetime))
    }

    /// The answer of the metadata server: a token of the machine's account.
    pub(super) fn of_machine(&self) -> Value {
        let State { tokens, lifetime, .. } = &mut *self.now();
        let (token, seconds) = given(tokens, *lifetime);
        json!({ "access_token": token, "expires_in": seconds, "token_type": "Bearer" })
    }

    fn now(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The claims of a JWT that a known key has signed, and whose time is now.
    fn claims(&self, token: &str) -> Result<Value, &'static str> {
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("Invalid JWT");
        };
        let decoded = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let read = |text: &str| decoded(text).and_then(|it| serde_json::from_slice::<Value>(&it).ok());
        let (Some(head), Some(body), Some(signature)) = (read(header), read(claims), decoded(signature)) else {
            return Err("Invalid JWT");
        };
        let key = head["kid"].as_str().and_then(|it| self.keys.get(it));
        let Some((email, key)) = key.filter(|(email, _)| body["iss"] == json!(email)) else {
            return Err("Invalid grant: account not found");
        };
        debug_assert!(!email.is_empty());
        let signed = format!("{header}.{claims}");
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
        if head["alg"] != json!("RS256") || public.verify(signed.as_bytes(), &signature).is_err() {
            return Err("Invalid JWT Signature.");
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let time = |name: &str| body[name].as_u64().unwrap_or_default();
        let (from, to) = (time("iat"), time("exp"));
        if from > now + SKEW || to + SKEW < now || to.saturating_sub(from) > 3_600 {
            return Err(
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your \
                 iat and exp values in the JWT claim.",
            );
        }
        Ok(body)
    }
}

/// A new token, and for how many seconds it is good.
fn given(tokens: &mut BTreeMap<String, SystemTime>, lifetime: Duration) -> (String, u64) {
    let token = format!("ya29.{}", uuid::Uuid::new_v4().simple());
    tokens.insert(token.clone(), SystemTime::now() + lifetime);
    (token, lifetime.as_secs())
}
