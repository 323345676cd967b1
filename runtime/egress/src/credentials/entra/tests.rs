//! A tenant's token endpoint, a machine's identity service and a service on loopback, and the requests that reach them, beside those of
//! Microsoft's own library.

use std::path::PathBuf;

use prometheus::Registry;
use serde_json::{Value, json};

use super::super::credential::{Credential as _, CredentialRefusal};
use super::super::{CredentialKind, CredentialSettings, Credentials};
use super::*;
use crate::addresses::AllowedAddresses;
use crate::audit::CallId;
use crate::base_url::BaseUrl;
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

/// The tenant and the application of the recordings.
const TENANT: &str = "99999999-0000-0000-0000-000000000001";
const CLIENT: &str = "88888888-0000-0000-0000-000000000002";
/// A projected token of a service account.
const PROJECTED: &str = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln";
const CERTIFICATE: &str = include_str!("tests/certificate.pem");
const EXPIRED: &str = include_str!("tests/expired.pem");
const OTHER: &str = include_str!("tests/other.pem");

/// A giver of tokens whose next answers a test says, and a service that they are for.
struct World {
    giver: TestServer,
    service: TestServer,
    said: Arc<Mutex<Said>>,
    folder: PathBuf,
}

/// The next answer of the giver; how often the service refuses a token, with which header, and what it answers else.
struct Said {
    status: &'static str,
    head: String,
    body: Value,
    refused: usize,
    challenge: String,
    /// Whether the service answers with the other tenant's token.
    echoes: bool,
}

impl World {
    async fn start() -> Self {
        let body = json!({ "token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": "eyJ0.of-entra" });
        let said =
            Said { status: "200 OK", head: String::new(), body, refused: 0, challenge: String::new(), echoes: false };
        let said = Arc::new(Mutex::new(said));
        let own = said.clone();
        let giver = TestServer::script(move |_| {
            let said = own.lock();
            (said.status, said.head.clone(), said.body.to_string())
        })
        .await;
        let own = said.clone();
        let service = TestServer::script(move |request| {
            let mut said = own.lock();
            if said.refused == 0 {
                let echo = request.lines().filter(|it| said.echoes && it.starts_with("x-ms-authorization-auxiliary"));
                let body = json!({ "echo": echo.collect::<String>() });
                return ("200 OK", String::new(), body.to_string());
            }
            said.refused -= 1;
            let body =
                json!({ "error": { "code": "ExpiredAuthenticationToken", "message": "The access token expiry …" } });
            ("401 Unauthorized", said.challenge.clone(), body.to_string())
        })
        .await;
        let folder = std::env::temp_dir().join(format!("entra-{}-{:p}", std::process::id(), Arc::as_ptr(&said)));
        std::fs::create_dir_all(&folder).unwrap();
        let world = Self { giver, service, said, folder };
        world.write("secret", "of-the-application\n");
        world.write("token", &format!("{PROJECTED}\n"));
        world.write("certificate.pem", &format!("{}{CERTIFICATE}", key()));
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

    /// The refusal of Entra with this number.
    fn refuse(&self, number: u64, text: &str) {
        let description =
            format!("AADSTS{number}: {text} Trace ID: 1 Correlation ID: 2 Timestamp: 2026-11-27 21:00:00Z");
        let body = json!({ "error": "invalid_client", "error_description": description, "error_codes": [number] });
        self.say("401 Unauthorized", body);
    }

    fn settings(&self, login: EntraLogin) -> EntraSettings {
        EntraSettings {
            login,
            scope: EntraWord::parse(AzureCloud::Public.scope()).unwrap(),
            auxiliary: None,
            addresses: AllowedAddresses::Public,
            ca_file: None,
            proxy: None,
        }
    }

    fn client(&self, proof: EntraProof) -> EntraSettings {
        let client = EntraClientName {
            authority: BaseUrl::parse(&self.giver.url).unwrap(),
            tenant: EntraTenant::parse(TENANT).unwrap(),
            client_id: EntraWord::parse(CLIENT).unwrap(),
        };
        self.settings(EntraLogin::Client { client, proof })
    }

    fn of_secret(&self) -> EntraSettings {
        self.client(EntraProof::Secret { file: self.folder.join("secret") })
    }

    fn of_certificate(&self, sends_chain: bool) -> EntraSettings {
        self.client(EntraProof::Certificate { file: self.folder.join("certificate.pem"), sends_chain })
    }

    fn of_token(&self) -> EntraSettings {
        self.client(EntraProof::FederatedToken { file: self.folder.join("token") })
    }

    fn of_machine(&self, identity: ManagedIdentity, endpoint: Option<&str>) -> EntraSettings {
        let url = |path: &str| KeyServiceUrl::parse(&format!("{}{path}", self.giver.url)).unwrap();
        let service = match endpoint {
            None => IdentityService::Imds(url("")),
            Some(path) => IdentityService::Endpoint {
                url: url(path),
                header: IdentityHeader::parse("word-of-the-environment").unwrap(),
            },
        };
        self.settings(EntraLogin::ManagedIdentity { identity, service })
    }

    fn load(&self, settings: EntraSettings) -> Result<EntraCredential, CredentialError> {
        let changes = Arc::new(watch::Sender::default());
        EntraCredential::load("azure".to_owned(), settings, WriteLimits::default(), changes)
    }

    /// The credential alone, and an egress with an endpoint behind it.
    fn egress(&self, settings: EntraSettings) -> (Arc<EntraCredential>, Egress) {
        let credential = Arc::new(self.load(settings).unwrap_or_else(|it| panic!("{it}")));
        let egress = self.egress_of(Credentials::of(vec![credential.clone()]));
        (credential, egress)
    }

    fn egress_of(&self, credentials: Credentials) -> Egress {
        let endpoint = Endpoint { credential: Some("azure".to_owned()), ..testing::endpoint(&self.service.url) };
        let settings = EgressSettings {
            endpoints: vec![endpoint],
            credentials,
            fence: Arc::new(|| true),
            demands: Arc::new(|_| cloud_provider::Demand { is_approved: true, ..cloud_provider::Demand::default() }),
            reports: Arc::new(|_| ()),
            route: |it| it,
        };
        Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap_or_else(|it| panic!("{it}"))
    }

    /// The tokens that reached the service.
    fn served(&self) -> Vec<String> {
        self.service.requests().iter().map(|it| header(it, "authorization").unwrap_or_default()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A private key that belongs to nobody, in PEM.
fn key() -> String {
    let file: Value = serde_json::from_str(include_str!("../google/tests/key.json")).unwrap();
    file["private_key"].as_str().unwrap().to_owned()
}

fn header(request: &str, name: &str) -> Option<String> {
    let lines = request.split("\r\n\r\n").next()?.lines();
    lines.filter_map(|it| it.split_once(": ")).find(|(it, _)| *it == name).map(|(_, value)| value.to_owned())
}

async fn send(egress: &Egress, method: Method) -> Result<GuestResponse, SendError> {
    let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
    egress.open(call, Mode::Write { deletes: 0 }).send(testing::request(method, &["v2", "load_balancers"])).await
}
