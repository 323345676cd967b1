//! A certificate of an application, and the assertions that its key signs.
//!
//! The assertion: "Microsoft identity platform application authentication certificate credentials" of Entra's documentation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use zeroize::Zeroizing;

use crate::validity;

/// For how long an assertion is good.
const LASTS: Duration = Duration::from_secs(600);
/// The most certificates of a chain.
const CHAIN: usize = 8;

/// A certificate with its key.
pub(super) struct EntraCertificate {
    pair: RsaKeyPair,
    /// The certificate of the key, and the others of the file after it.
    chain: Vec<CertificateDer<'static>>,
}

impl EntraCertificate {
    /// Reads a PEM file. The error continues the sentence that begins with the file, and holds nothing of it.
    pub(super) fn read(pem: &[u8]) -> Result<Self, String> {
        let broken = || {
            "has no private key of use: it takes RSA in PEM (PRIVATE KEY or RSA PRIVATE KEY), without a password, beside the \
             certificate"
                .to_owned()
        };
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| broken())?;
        let pair = match &key {
            PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
            _ => return Err(broken()),
        };
        let pair = pair.map_err(|_| broken())?;
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).take(CHAIN + 1).collect();
        let mut chain = all.map_err(|_| "has a certificate that is none; export it in PEM again".to_owned())?;
        if chain.len() > CHAIN {
            return Err(format!("has more than {CHAIN} certificates; leave out those that are not of its chain"));
        }
        // The key's own stands first, wherever it is in the file.
        let public: &[u8] = pair.public().as_ref();
        let is_own = |it: &CertificateDer<'_>| it.windows(public.len()).any(|it| it == public);
        let own = chain.iter().position(is_own).ok_or_else(|| match chain.is_empty() {
            true => "has a key and no certificate; put both there".to_owned(),
            false => "has a key that is not that of its certificate; put the two there that belong together".to_owned(),
        })?;
        chain.swap(0, own);
        Ok(Self { pair, chain })
    }

    /// The moment from which it is no longer valid.
    pub(super) fn ends(&self) -> Option<SystemTime> {
        validity::end(&self.chain[0])
    }

    /// Its fingerprint, by which a person finds it among those of the application.
    pub(super) fn thumbprint(&self) -> String {
        self.sha1().iter().map(|it| format!("{it:02X}")).collect()
    }

    // Entra knows certificates by this; nothing is proven with it.
    fn sha1(&self) -> Vec<u8> {
        digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &self.chain[0]).as_ref().to_vec()
    }

    /// An assertion of `client` for the token endpoint `audience`, good for ten minutes from `now` on.
    pub(super) fn assertion(
        &self,
        client: &str,
        audience: &str,
        sends_chain: bool,
        now: SystemTime,
    ) -> Result<Zeroizing<String>, String> {
        let random = SystemRandom::new();
        let seconds =
            now.duration_since(UNIX_EPOCH).map_err(|_| "this machine's clock stands before 1970".to_owned())?;
        let mut header = json!({ "typ": "JWT", "alg": "RS256", "x5t": BASE64_URL_SAFE_NO_PAD.encode(self.sha1()) });
        if sends_chain {
            header["x5c"] = self.chain.iter().map(|it| BASE64_STANDARD.encode(it)).collect();
        }
        let mut id = [0; 16];
        random.fill(&mut id).map_err(|_| "there are no random numbers".to_owned())?;
        let claims = json!({
            "aud": audience,
            "iss": client,
            "sub": client,
            "jti": BASE64_URL_SAFE_NO_PAD.encode(id),
            "iat": seconds.as_secs(),
            "exp": (seconds + LASTS).as_secs(),
        });
        let [header, claims] = [header, claims].map(|it| BASE64_URL_SAFE_NO_PAD.encode(it.to_string()));
        let mut token = Zeroizing::new(format!("{header}.{claims}"));
        let mut signature = vec![0; self.pair.public().modulus_len()];
        let signed = self.pair.sign(&RSA_PKCS1_SHA256, &random, token.as_bytes(), &mut signature);
        signed.map_err(|_| "the key signs nothing; make a new certificate".to_owned())?;
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(&signature, &mut token);
        Ok(token)
    }
}
