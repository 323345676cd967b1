//! Givers of tokens and a service on loopback, and the requests that reach them, beside those of Google's own library.

use std::path::PathBuf;
use std::time::Instant;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use prometheus::Registry;

use super::super::Credentials;
use super::super::credential::{Credential as _, CredentialRefusal};
use super::*;
use crate::addresses::AllowedAddresses;
use crate::audit::CallId;
use crate::egress::Egress;
use crate::endpoint::Endpoint;
use crate::key_service::KeyServiceUrl;
use crate::metrics::Metrics;
use crate::policy::Mode;
use crate::request::{GuestResponse, Method, SendError};
use crate::settings::EgressSettings;
use crate::testing::{self, TestServer};

mod bad;
mod conversations;

/// The key of an account that exists nowhere.
const KEY: &str = include_str!("tests/key.json");
/// A subject token of the recordings.
const SUBJECT: &str = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln";

/// A giver of tokens whose next answers a test says, and a service that they are for.
struct World {
    giver: TestServer,
    service: TestServer,
    said: Arc<Mutex<Said>>,
    folder: PathBuf,
}

/// The next answer of the giver; how many requests the service refuses, and a token that it takes no more.
struct Said {
    status: &'static str,
    head: String,
    body: Value,
    refused: usize,
    ended: Option<&'static str>,
}

impl World {
    async fn start() -> Self {
        let head = "Metadata-Flavor: Google\r\n".to_owned();
        let said = Said { status: "200 OK", head, body: Value::Null, refused: 0, ended: None };
        let said = Arc::new(Mutex::new(said));
        let own = said.clone();
        let giver = TestServer::script(move |request| {
            let said = own.lock();
            let body = match &said.body {
                Value::Null if request.contains(":generateAccessToken") => {
                    let ends = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3600);
                    json!({ "accessToken": "ya29.of-the-account", "expireTime": ends.to_string() })
                }
                Value::Null => {
                    json!({ "access_token": "ya29.of-the-giver", "expires_in": 3599, "token_type": "Bearer" })
                }
                other => other.clone(),
            };
            (said.status, said.head.clone(), body.to_string())
        })
        .await;
        let own = said.clone();
        let service = TestServer::script(move |request| {
            let mut said = own.lock();
            let is_refused = said.refused > 0 || said.ended.is_some_and(|it| request.contains(it));
            said.refused = said.refused.saturating_sub(1);
            (if is_refused { "401 Unauthorized" } else { "200 OK" }, said.head.clone(), "{}".to_owned())
        })
        .await;
        let folder = std::env::temp_dir().join(format!("google-{}-{:p}", std::process::id(), Arc::as_ptr(&said)));
        std::fs::create_dir_all(&folder).unwrap();
        let world = Self { giver, service, said, folder };
        world.write("key.json", KEY);
        world.write("token", &format!("{SUBJECT}\n"));
        world
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn say(&self, status: &'static str, body: Value) {
        let mut said = self.said.lock();
        (said.status, said.body) = (status, body);
    }

    /// A key's file that names the giver.
    fn key_of_giver(&self) -> Value {
        let mut key: Value = serde_json::from_str(KEY).unwrap();
        key["token_uri"] = format!("{}/token", self.giver.url).into();
        key
    }

    /// A file of federation that names the giver.
    fn federation(&self) -> Value {
        json!({
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/424242424242/locations/global/workloadIdentityPools/pool/providers/prov",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": format!("{}/sts/v1/token", self.giver.url),
            "credential_source": { "file": self.folder.join("token") },
        })
    }

    fn of_key(&self) -> GoogleTokens {
        GoogleTokens::ServiceAccountKey { file: self.folder.join("key.json"), exchange: false }
    }

    fn of_federation(&self, file: &Value) -> GoogleTokens {
        GoogleTokens::Federation { file: self.write("federation.json", &file.to_string()) }
    }

    fn load(&self, tokens: GoogleTokens) -> Result<GoogleCredential, CredentialError> {
        let settings = GoogleSettings {
            tokens,
            origins: vec![Origin::parse(&self.giver.url).unwrap()],
            addresses: AllowedAddresses::Public,
            ca_file: None,
            proxy: None,
        };
        GoogleCredential::load(
            "google".to_owned(),
            settings,
            WriteLimits::default(),
            Arc::new(watch::Sender::default()),
        )
    }

    /// The credential alone, and an egress with an endpoint behind it.
    fn egress(&self, tokens: GoogleTokens) -> (Arc<GoogleCredential>, Egress) {
        let credential = Arc::new(self.load(tokens).unwrap_or_else(|it| panic!("{it}")));
        let endpoint = Endpoint { credential: Some("google".to_owned()), ..testing::endpoint(&self.service.url) };
        let settings = EgressSettings {
            endpoints: vec![endpoint],
            credentials: Credentials::of(vec![credential.clone()]),
            fence: Arc::new(|| true),
            demands: Arc::new(|_| cloud_provider::Demand { is_approved: true, ..cloud_provider::Demand::default() }),
            reports: Arc::new(|_| ()),
            route: |it| it,
        };
        let egress = Egress::new(settings, Metrics::register(&Registry::new()).unwrap());
        (credential, egress.unwrap_or_else(|it| panic!("{it}")))
    }

    /// The tokens that reached the service.
    fn served(&self) -> Vec<String> {
        let token = |request: &String| {
            let line = request.lines().find_map(|it| it.strip_prefix("authorization: Bearer "));
            line.unwrap_or("none").to_owned()
        };
        self.service.requests().iter().map(token).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn send(egress: &Egress, method: Method) -> Result<GuestResponse, SendError> {
    let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
    egress.open(call, Mode::Write { deletes: 0 }).send(testing::request(method, &["v2", "load_balancers"])).await
}

/// Header and claims of a token, whose signature is right.
fn decoded(token: &str) -> [Value; 2] {
    let parts: Vec<_> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("{token}") };
    let bytes = |it: &str| BASE64_URL_SAFE_NO_PAD.decode(it).unwrap();
    let key: Value = serde_json::from_str(KEY).unwrap();
    let pem = key["private_key"].as_str().unwrap();
    let der =
        <rustls_pki_types::PrivatePkcs8KeyDer<'_> as rustls_pki_types::pem::PemObject>::from_pem_slice(pem.as_bytes());
    let pair = ring::signature::RsaKeyPair::from_pkcs8(der.unwrap().secret_pkcs8_der()).unwrap();
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::RSA_PKCS1_2048_8192_SHA256, pair.public());
    public.verify(format!("{header}.{claims}").as_bytes(), &bytes(signature)).unwrap();
    [header, claims].map(|it| serde_json::from_slice(&bytes(it)).unwrap())
}
