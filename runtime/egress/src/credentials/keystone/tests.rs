//! A Keystone and a service on loopback, and the requests that reach them.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus::Registry;
use serde_json::{Value, json};

use std::time::Instant;

use super::super::credential::{Credential as _, CredentialRefusal};
use super::super::{CredentialKind, CredentialSettings, Credentials};
use super::*;
use crate::addresses::AllowedAddresses;
use crate::audit::CallId;
use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::catalog::{CatalogPath, CatalogPlace};
use crate::egress::Egress;
use crate::endpoint::{Endpoint, EndpointPlace, Rule};
use crate::metrics::Metrics;
use crate::policy::Mode;
use crate::request::{GuestResponse, Method, SendError};
use crate::settings::EgressSettings;
use crate::testing::{self, TestServer};

mod bad;
mod fuzz;
mod renewals;

/// A Keystone whose next answers a test says.
struct World {
    keystone: TestServer,
    service: TestServer,
    /// Status, lifetime of tokens in seconds, and the URL of the one service in the catalogue.
    said: Arc<Mutex<Said>>,
    folder: PathBuf,
}

#[derive(Clone)]
struct Said {
    status: &'static str,
    seconds: i64,
    url: String,
    count: u32,
    /// The service refuses tokens up to this one.
    refused: u32,
}

impl World {
    async fn start() -> Self {
        let said = Arc::new(Mutex::new(Said {
            status: "201 Created",
            seconds: 3600,
            url: String::new(),
            count: 0,
            refused: 0,
        }));
        let own = said.clone();
        let keystone = TestServer::script(move |_| {
            let mut said = own.lock();
            if said.status != "201 Created" {
                let refusal = json!({ "error": { "code": 401, "message": "Not you.", "title": "Unauthorized" } });
                return (said.status, String::new(), refusal.to_string());
            }
            said.count += 1;
            let head = format!("X-Subject-Token: gAAAA-token-{}\r\n", said.count);
            (said.status, head, token(said.seconds, &said.url).to_string())
        })
        .await;
        let own = said.clone();
        let service = TestServer::script(move |request| {
            let refused = own.lock().refused;
            let is_refused = (0..=refused).any(|it| request.contains(&format!("x-auth-token: gAAAA-token-{it}\r\n")));
            (if is_refused { "401 Unauthorized" } else { "200 OK" }, String::new(), "{}".to_owned())
        })
        .await;
        said.lock().url = format!("{}/v2.1/0123", service.url);
        let folder = std::env::temp_dir().join(format!("keystone-{}-{:p}", std::process::id(), Arc::as_ptr(&said)));
        std::fs::create_dir_all(&folder).unwrap();
        let world = Self { keystone, service, said, folder };
        world.write("password", "of-the-tests\n");
        world
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    fn say(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said.lock());
    }

    fn settings(&self) -> KeystoneSettings {
        let name = |name: &str| KeystoneName::Name {
            name: name.to_owned(),
            domain: KeystoneDomain::Name("Default".to_owned()),
        };
        KeystoneSettings {
            base_url: BaseUrl::parse(&self.keystone.url).unwrap(),
            login: KeystoneLogin::Password { user: name("aerostat"), password_file: self.folder.join("password") },
            project: Some(name("kubernetes")),
            addresses: AllowedAddresses::Public,
            ca_file: None,
            client_certificate: None,
            proxy: None,
        }
    }

    /// The credential alone, and an egress with the endpoint `compute` behind it.
    fn egress(&self) -> (Arc<KeystoneCredential>, Egress) {
        let changes = Arc::new(watch::Sender::default());
        let limits = WriteLimits::default();
        let credential = KeystoneCredential::load("openstack".to_owned(), self.settings(), limits, changes).unwrap();
        let credential = Arc::new(credential);
        let settings = EgressSettings {
            endpoints: vec![compute(&[&self.service.url])],
            credentials: Credentials::of(vec![credential.clone()]),
            fence: Arc::new(|| true),
            demands: Arc::new(|_| cloud_provider::Demand { is_approved: true, ..cloud_provider::Demand::default() }),
            reports: Arc::new(|_| ()),
            route: |it| it,
        };
        let egress = Egress::new(settings, Metrics::register(&Registry::new()).unwrap());
        (credential, egress.unwrap_or_else(|it| panic!("{it}")))
    }

    /// The request lines and tokens that reached the service.
    fn served(&self) -> Vec<String> {
        let line = |request: &String| {
            let token = request.lines().find_map(|it| it.strip_prefix("x-auth-token: ")).unwrap_or("none");
            let line = request.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
            format!("{line} {token}")
        };
        self.service.requests().iter().map(line).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The body of an answer with a token.
fn token(seconds: i64, url: &str) -> Value {
    let issued: jiff::Timestamp = "2026-11-27T08:00:00Z".parse().unwrap();
    let expires = issued + jiff::SignedDuration::from_secs(seconds);
    json!({ "token": {
        "methods": ["password"],
        "issued_at": issued.to_string(),
        "expires_at": expires.to_string(),
        "user": { "id": "u1", "name": "aerostat" },
        "project": { "id": "p1" },
        "catalog": [{ "type": "compute", "name": "nova", "id": "s1", "endpoints": [
            { "id": "e1", "interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": url },
        ] }],
    } })
}

fn compute(origins: &[&str]) -> Endpoint {
    let rule = |method, path| Rule::new([method], [PathPattern::parse(path).unwrap()]);
    let place = CatalogPlace {
        service: "compute".to_owned(),
        interface: "public".to_owned(),
        region: Some("RegionOne".to_owned()),
        path: Some(CatalogPath::parse("/v2.1").unwrap()),
        origins: origins.iter().map(|it| Origin::parse(it).unwrap()).collect(),
    };
    Endpoint {
        place: EndpointPlace::Catalog(place),
        credential: Some("openstack".to_owned()),
        allow: vec![rule(Method::Get, "/**"), rule(Method::Post, "/**")],
        ..Endpoint::new("compute", BaseUrl::parse("https://unused.example").unwrap())
    }
}

async fn send(egress: &Egress, method: Method, path: &[&str]) -> Result<GuestResponse, SendError> {
    let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
    let mut request = testing::request(method, path);
    "compute".clone_into(&mut request.endpoint);
    egress.open(call, Mode::Write { deletes: 1 }).send(request).await
}

#[tokio::test]
async fn a_token_and_its_catalogue_lead_to_a_service() {
    let world = World::start().await;
    let (credential, egress) = world.egress();
    let later = Err(SendError::RetryAfter(Duration::from_secs(1)));
    assert_eq!(send(&egress, Method::Get, &["servers", "detail"]).await, later, "nobody has asked yet");
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get, &["servers", "detail"]).await.map(|it| it.status), Ok(200));
    assert_eq!(world.served(), ["GET /v2.1/servers/detail gAAAA-token-1"]);
    let asked = world.keystone.requests();
    assert!(asked[0].starts_with("POST /v3/auth/tokens HTTP/1.1\r\n"), "{asked:?}");
    assert!(asked[0].contains("\"password\":\"of-the-tests\"") && !asked[0].contains("x-auth-token"), "{asked:?}");
    let next = format!("{}/v2.1/servers/detail?marker=1", world.service.url);
    let call = CallId { provider: "test".into(), function: "list", id: 1 };
    let found = egress.open(call, Mode::Read).resolve_url(&next).unwrap();
    assert_eq!((found.endpoint.as_str(), found.path.join("/")), ("compute", "servers/detail".to_owned()));
}

#[tokio::test]
async fn no_guest_asks_for_a_token_itself() {
    let world = World::start().await;
    let (credential, egress) = world.egress();
    credential.keep().await;
    let asks: [&[&str]; 4] =
        [&["auth", "tokens"], &["v3", "auth", "tokens"], &["v3", "AUTH", "Tokens", "x"], &["v2.0", "tokens"]];
    for path in asks {
        for method in [Method::Post, Method::Get] {
            match send(&egress, method, path).await {
                Err(SendError::Denied(text)) => {
                    assert!(text.starts_with("E-EGRESS-PATH") && text.contains("asks for a token"), "{text}");
                }
                other => panic!("{path:?}: {other:?}"),
            }
        }
    }
    // The last segment of what the catalogue names, and the first of the guest's.
    world.say(|it| it.url = format!("{}/v3/auth", world.service.url));
    let Endpoint { place, .. } = compute(&[&world.service.url]);
    let EndpointPlace::Catalog(place) = place else { unreachable!("it is one of a catalogue") };
    let endpoint = Endpoint {
        place: EndpointPlace::Catalog(CatalogPlace { path: None, ..place }),
        ..compute(&[&world.service.url])
    };
    let permitted = crate::policy::permit(
        &[Arc::new(endpoint)],
        crate::policy::CallState {
            mode: Mode::Write { deletes: 1 },
            leads: true,
            requests: 0,
            most: crate::policy::REQUESTS,
            deletes: 0,
        },
        crate::request::GuestRequest { endpoint: "compute".to_owned(), ..testing::request(Method::Post, &["tokens"]) },
    );
    let base = BaseUrl::parse(&format!("{}/v3/auth", world.service.url)).unwrap();
    assert!(permitted.unwrap().at(&base).is_err_and(|it| it.contains("asks for a token")));
    assert!(world.service.requests().is_empty());
}

#[test]
fn bad_a_catalogue_needs_a_keystone_credential() {
    let settings = |endpoint| EgressSettings {
        endpoints: vec![endpoint],
        credentials: Credentials::default(),
        fence: Arc::new(|| true),
        demands: Arc::new(|_| cloud_provider::Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let refusal = |endpoint| {
        let egress = Egress::new(settings(endpoint), Metrics::register(&Registry::new()).unwrap());
        egress.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let without = Endpoint { credential: None, ..compute(&["https://a.example"]) };
    assert!(refusal(without).contains("name a keystone one in `credential`"));
    assert!(refusal(compute(&[])).contains("`origins` names none"));
    assert!(refusal(compute(&["https://169.254.169.254"])).contains("no config can allow it"));
    let other = CredentialSettings {
        name: "openstack".to_owned(),
        kind: CredentialKind::Bearer { file: "Cargo.toml".into() },
        limits: WriteLimits::default(),
    };
    assert!(Credentials::load(vec![other]).is_err(), "several lines are no token");
}
