//! A token service for the real registry: it gives a token to whoever shows the right login.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, SigningKey as _};
use serde_json::{Value, json};

use super::artifact::REPOSITORY;
use crate::capture::{Capture, Step};

/// The issuer of tokens, and their audience.
pub(super) const ISSUER: &str = "tests";
pub(super) const SERVICE: &str = "registry";

/// Signs tokens.
pub struct TokenService {
    key: KeyPair,
    certificate: rcgen::Certificate,
}

impl TokenService {
    /// With a key of its own.
    ///
    /// # Panics
    ///
    /// Panics if ring makes no keys.
    #[expect(clippy::new_without_default, reason = "it makes a key, which nobody asks for by default")]
    #[must_use]
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("ring makes keys");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a key signs");
        Self { key, certificate }
    }

    /// The certificate that the registry trusts, in PEM.
    pub(super) fn certificate(&self) -> String {
        self.certificate.pem()
    }

    /// A token for the repository of the tests.
    ///
    /// # Panics
    ///
    /// Panics if ring does not sign.
    #[must_use]
    pub fn token(&self, actions: &[&str]) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
        let part = |it: Value| URL_SAFE_NO_PAD.encode(it.to_string());
        let head = part(json!({ "typ": "JWT", "alg": "ES256", "x5c": [STANDARD.encode(self.certificate.der())] }));
        let claims = part(json!({
            "iss": ISSUER, "aud": SERVICE, "sub": "alice", "exp": now + 300, "nbf": now - 30, "iat": now, "jti": "1",
            "access": [{ "type": "repository", "name": REPOSITORY, "actions": actions }],
        }));
        let signed = format!("{head}.{claims}");
        let signature = self.key.sign(signed.as_bytes()).expect("ring signs");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(fixed(&signature)))
    }

    /// Serves tokens to requests that hold one of these texts; with an empty one, to all. They are for what was asked for.
    pub async fn serve(self: std::sync::Arc<Self>, logins: &'static [&'static str]) -> Capture {
        Capture::https(&["127.0.0.1"], move |request| {
            if logins.iter().any(|it| request.text().contains(it)) {
                let is_push = request.text().contains("%3Apull%2Cpush");
                let actions: &[&str] = if is_push { &["pull", "push"] } else { &["pull"] };
                Step::ok(&json!({ "token": self.token(actions), "expires_in": 60 }).to_string())
            } else {
                Step::answer("401 Unauthorized", &[], "{}")
            }
        })
        .await
    }
}

/// The two numbers of a signature in DER, each in 32 bytes.
fn fixed(der: &[u8]) -> Vec<u8> {
    let number = |at: usize| {
        let length = usize::from(der[at + 1]);
        let bytes = &der[at + 2..at + 2 + length];
        let bytes = bytes.strip_prefix(&[0]).unwrap_or(bytes);
        ([vec![0; 32 - bytes.len()], bytes.to_vec()].concat(), at + 2 + length)
    };
    let (r, next) = number(2);
    [r, number(next).0].concat()
}
