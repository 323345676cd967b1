//! The key of a service account, and what is signed with it.
//!
//! The file: "Create and delete service account keys" of the IAM documentation. The assertion: "Using OAuth 2.0 for Server to Server
//! Applications". A token that the key signs itself: "Self-signed JWTs", AIP-4111.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::settings::SCOPE;
use super::universe;

/// The recipient of an assertion, whichever endpoint the file names, in Google's own universe.
const AUDIENCE: &str = "https://oauth2.googleapis.com/token";
/// The endpoints that Google writes into its files, in the course of the years.
const GOOGLES: [&str; 3] =
    [AUDIENCE, "https://accounts.google.com/o/oauth2/token", "https://www.googleapis.com/oauth2/v4/token"];
/// For how long a signed token is good.
pub(super) const LASTS: Duration = Duration::from_secs(3600);
/// The longest name of an account or a key.
const NAME_BYTES: usize = 256;

/// The key of a service account.
pub(super) struct AccountKey {
    pub(super) email: String,
    key_id: String,
    pair: RsaKeyPair,
    /// The endpoint that the file asks for, if it is none that Google writes there.
    pub(super) own_token_url: Option<String>,
    /// The domain of its universe, if it is not Google's own. Tokens of another one are asked for.
    pub(super) universe: Option<String>,
    /// The recipient of its assertions.
    pub(super) audience: String,
}

#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: String,
    client_email: Option<String>,
    private_key_id: Option<String>,
    private_key: Option<Zeroizing<String>>,
    token_uri: Option<String>,
    universe_domain: Option<String>,
}

impl AccountKey {
    /// Reads a key's file. The error continues the sentence that begins with the file, and holds nothing of it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let file: KeyFile = serde_json::from_slice(bytes).map_err(|_| {
            "is no key of a service account: it is not the JSON that Google gives with a new key".to_owned()
        })?;
        let KeyFile { kind, client_email, private_key_id, private_key, token_uri, universe_domain } = file;
        if kind != "service_account" {
            let kind = cloud_provider::printable(&kind, 40);
            return Err(format!("is of type {kind:?}, not service_account; write it where that type belongs"));
        }
        let name = |key: &str, text: Option<String>| {
            let is_name =
                |it: &String| !it.is_empty() && it.len() <= NAME_BYTES && it.bytes().all(|it| it.is_ascii_graphic());
            text.filter(is_name).ok_or_else(|| format!("has no usable {key}; make a new key of the account"))
        };
        let broken =
            || "has a private_key that is none: it takes RSA in PKCS #8, as Google gives it; make a new key".to_owned();
        let der =
            PrivatePkcs8KeyDer::from_pem_slice(private_key.unwrap_or_default().as_bytes()).map_err(|_| broken())?;
        let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| broken())?;
        let universe = universe::other(universe_domain)?;
        let audience = universe.as_deref().map_or_else(|| AUDIENCE.to_owned(), universe::token_url);
        Ok(Self {
            email: name("client_email", client_email)?,
            key_id: name("private_key_id", private_key_id)?,
            pair,
            own_token_url: token_uri.filter(|it| !GOOGLES.contains(&it.as_str())),
            universe,
            audience,
        })
    }

    /// A token that the key signs itself, good for [`LASTS`] from `now` on.
    pub(super) fn token(&self, now: SystemTime) -> Result<Zeroizing<String>, String> {
        self.signed(now, json!({ "iss": self.email, "sub": self.email, "scope": SCOPE }))
    }

    /// An assertion, for which the token endpoint gives a token.
    pub(super) fn assertion(&self, now: SystemTime) -> Result<Zeroizing<String>, String> {
        self.signed(now, json!({ "iss": self.email, "aud": self.audience, "scope": SCOPE }))
    }

    fn signed(&self, now: SystemTime, mut claims: Value) -> Result<Zeroizing<String>, String> {
        let now = now.duration_since(UNIX_EPOCH).map_err(|_| "this machine's clock stands before 1970".to_owned())?;
        claims["iat"] = now.as_secs().into();
        claims["exp"] = (now + LASTS).as_secs().into();
        let header = json!({ "typ": "JWT", "alg": "RS256", "kid": self.key_id });
        let encoded = |it: &Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
        let mut token = Zeroizing::new(format!("{}.{}", encoded(&header), encoded(&claims)));
        let mut signature = vec![0; self.pair.public().modulus_len()];
        let signed = self.pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature);
        signed.map_err(|_| "the key signs nothing; make a new key of the account".to_owned())?;
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(&signature, &mut token);
        Ok(token)
    }
}
