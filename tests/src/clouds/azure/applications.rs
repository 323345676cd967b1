//! Applications of Entra, and how they prove who they are: by secrets, certificates and tokens of others.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use ring::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde_json::Value;

use super::reading::decoded;

/// The file with the application's certificate and its key.
pub const CERTIFICATE: &str = include_str!("../../../azure/client.pem");
/// The application's secret.
pub const SECRET: &str = "secret-of-the-simulated-application";
/// The issuer and the subject of the tokens that stand for the application.
pub const FEDERATED: (&str, &str) = ("https://issuer", "system:serviceaccount:kube-system:ccm");

/// For whom a token is that stands for an application.
const AUDIENCE: &str = "api://AzureADTokenExchange";
/// How far a client's clock may be off.
const SKEW: u64 = 300;

/// An application.
#[derive(Debug)]
pub(super) struct Application {
    /// Secrets, and whether they have expired.
    pub(super) secrets: Vec<(String, bool)>,
    certificates: Vec<Certificate>,
    /// The issuers and subjects whose tokens stand for it.
    pub(super) federated: Vec<(String, String)>,
}

#[derive(Debug)]
struct Certificate {
    /// SHA-1 and SHA-256 of it, as tokens have them.
    thumbprints: [String; 2],
    public: Vec<u8>,
}

/// A token that a client has signed, or brings along.
pub(super) struct Jwt {
    head: Value,
    claims: Value,
    signed: String,
    signature: Vec<u8>,
}

impl Jwt {
    pub(super) fn read(text: &str) -> Option<Jwt> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (head, claims) = signed.split_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature.trim_end_matches('=')).ok()?;
        Some(Jwt { head: decoded(head)?, claims: decoded(claims)?, signed: signed.to_owned(), signature })
    }

    fn claim(&self, name: &str) -> &str {
        self.claims[name].as_str().unwrap_or_default()
    }
}

impl Application {
    /// The one that tests begin with.
    pub(super) fn usual() -> Application {
        let (issuer, subject) = FEDERATED;
        Application {
            secrets: vec![(SECRET.to_owned(), false)],
            certificates: vec![Certificate::read(CERTIFICATE)],
            federated: vec![(issuer.to_owned(), subject.to_owned())],
        }
    }

    /// Whether a secret is the application's. Refusals are the number and the sentence.
    pub(super) fn knows(&self, secret: &str) -> Result<(), (u32, String)> {
        match self.secrets.iter().find(|(it, _)| it == secret) {
            Some((_, false)) => Ok(()),
            Some((_, true)) => Err((7_000_222, "The provided client secret keys for app are expired.".to_owned())),
            None => Err((7_000_215, "Invalid client secret provided.".to_owned())),
        }
    }

    /// Whether a token is signed by the application, or stands for it.
    pub(super) fn asserted(&self, jwt: &Jwt, client: &str, endpoint: &str) -> Result<(), (u32, String)> {
        // Some clients write fractions of seconds.
        let time = |name: &str| jwt.claims[name].as_f64();
        let skew = Duration::from_secs(SKEW).as_secs_f64();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64());
        if time("exp").is_none_or(|it| it + skew < now) || time("nbf").is_some_and(|it| it > now + skew) {
            let why = "Client assertion is not within its valid time range. Current time and expiry time of assertion differ.";
            return Err((700_024, why.to_owned()));
        }
        if jwt.claim("aud") == AUDIENCE {
            return self.federates(jwt);
        }
        let named = |name: &str| jwt.head[name].as_str();
        let print = [named("x5t"), named("x5t#S256")];
        // Some clients write the padding, too.
        let names = |own: &str, given: Option<&str>| given.is_some_and(|it| it.trim_end_matches('=') == own);
        let is_named = |known: &&Certificate| known.thumbprints.iter().zip(print).any(|(own, given)| names(own, given));
        let known = self.certificates.iter().find(is_named);
        let wrong = |why: &str| (700_027, format!("Client assertion contains an invalid signature. [Reason - {why}]"));
        let certificate = known.ok_or_else(|| wrong("The key was not found."))?;
        let algorithm: &dyn ring::signature::VerificationAlgorithm = match jwt.head["alg"].as_str() {
            Some("RS256") => &RSA_PKCS1_2048_8192_SHA256,
            Some("PS256") => &RSA_PSS_2048_8192_SHA256,
            _ => return Err(wrong("The algorithm is not supported.")),
        };
        let public = UnparsedPublicKey::new(algorithm, &certificate.public);
        if public.verify(jwt.signed.as_bytes(), &jwt.signature).is_err() {
            return Err(wrong("The provided signature value did not match the expected signature value."));
        }
        if jwt.claim("iss") != client || jwt.claim("sub") != client {
            let why = "Subject and issuer of the client assertion must be the client_id of the application.";
            return Err((700_021, why.to_owned()));
        }
        // Any authority's name is good, as long as tenant and path are right.
        let path = |it: &str| it.splitn(4, '/').nth(3).map(str::to_owned);
        if path(jwt.claim("aud")) != path(endpoint) {
            return Err((50_012, "Client assertion audience claim does not match Realm issuer.".to_owned()));
        }
        if time("exp").zip(time("nbf").or(time("iat"))).is_some_and(|(to, from)| to - from > 86_400.0) {
            return Err((700_024, "Client assertion is not within its valid time range.".to_owned()));
        }
        Ok(())
    }

    /// Whether a token of another issuer stands for the application. Its signature is not looked at: the issuer's keys are not here.
    fn federates(&self, jwt: &Jwt) -> Result<(), (u32, String)> {
        let (issuer, subject) = (jwt.claim("iss"), jwt.claim("sub"));
        if self.federated.iter().any(|(i, s)| i == issuer && s == subject) {
            return Ok(());
        }
        let why = format!(
            "No matching federated identity record found for presented assertion. Assertion Issuer: '{issuer}'. Assertion Subject: \
             '{subject}'. Assertion Audience: '{AUDIENCE}'."
        );
        Err((70_021, why))
    }
}

impl Certificate {
    fn read(pem: &str) -> Certificate {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).expect("the file has a certificate");
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).expect("the key is PKCS #8");
        let pair = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("the key is RSA");
        let print = |how| BASE64_URL_SAFE_NO_PAD.encode(digest(how, &certificate));
        Certificate {
            thumbprints: [print(&SHA1_FOR_LEGACY_USE_ONLY), print(&SHA256)],
            public: pair.public_key().as_ref().to_vec(),
        }
    }
}
