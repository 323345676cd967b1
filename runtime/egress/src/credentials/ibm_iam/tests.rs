//! IAM, a metadata service and a service of the VPC on loopback, and the requests that reach them, beside those of IBM's own SDK.

use std::path::PathBuf;
use std::time::Instant;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use prometheus::Registry;
use serde_json::{Value, json};

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
use crate::request::{GuestResponse, SendError};
use crate::settings::EgressSettings;
use crate::testing::{self, TestServer};

mod bad;
mod conversations;

/// The key and the token of the recordings.
const KEY: &str = "API-KEY-OF-THE-CLUSTER";
const POD_TOKEN: &str = "CR-TOKEN-OF-THE-POD";

/// A giver of tokens whose next answers a test says, and a service that they are for.
struct World {
    giver: TestServer,
    service: TestServer,
    said: Arc<Mutex<Said>>,
    folder: PathBuf,
}

/// The next answer of the giver, which tokens the service takes no more, and whether the metadata service lacks its newer paths.
struct Said {
    status: &'static str,
    body: Value,
    ended: Option<String>,
    is_old: bool,
}

/// A token of an account.
fn token(account: &str, name: &str) -> String {
    let claims = json!({ "iam_id": "iam-ServiceId-1", "account": { "valid": true, "bss": account }, "sub": name });
    format!("e30.{}.c2lnbmF0dXJl", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()))
}

fn answer(account: &str, name: &str) -> Value {
    json!({ "access_token": token(account, name), "expires_in": 3600, "token_type": "Bearer", "refresh_token": "not_supported" })
}

impl World {
    async fn start() -> Self {
        let said = Said { status: "200 OK", body: answer("0a1b", "first"), ended: None, is_old: false };
        let said = Arc::new(Mutex::new(said));
        let own = said.clone();
        let giver = TestServer::script(move |request| {
            let said = own.lock();
            let path = request.split(' ').nth(1).unwrap_or_default();
            if said.is_old && path.starts_with("/identity/v1/") {
                return ("404 Not Found", String::new(), String::new());
            }
            if request.starts_with("PUT ") && said.status == "200 OK" {
                let body = json!({ "access_token": "token-of-the-instance", "expires_in": 300 });
                return ("200 OK", String::new(), body.to_string());
            }
            (said.status, String::new(), said.body.to_string())
        })
        .await;
        let own = said.clone();
        let service = TestServer::script(move |request| {
            let is_ended = own.lock().ended.as_ref().is_some_and(|it| request.contains(it));
            (if is_ended { "401 Unauthorized" } else { "200 OK" }, String::new(), "{}".to_owned())
        })
        .await;
        let folder = std::env::temp_dir().join(format!("ibm-{}-{:p}", std::process::id(), Arc::as_ptr(&said)));
        std::fs::create_dir_all(&folder).unwrap();
        let world = Self { giver, service, said, folder };
        world.write("key", &format!("{KEY}\n"));
        world.write("token", POD_TOKEN);
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

    fn of_key(&self) -> IbmTokens {
        IbmTokens::ApiKey { iam: BaseUrl::parse(&self.giver.url).unwrap(), file: self.folder.join("key") }
    }

    fn of_pod(&self, profile: IbmProfile) -> IbmTokens {
        let (iam, token_file) = (BaseUrl::parse(&self.giver.url).unwrap(), self.folder.join("token"));
        IbmTokens::ComputeResource { iam, token_file, profile }
    }

    fn of_machine(&self, profile: Option<IbmProfile>) -> IbmTokens {
        IbmTokens::InstanceIdentity { url: KeyServiceUrl::parse(&self.giver.url).unwrap(), profile }
    }

    fn load(&self, tokens: IbmTokens) -> Result<IbmCredential, CredentialError> {
        let addresses = AllowedAddresses::Public;
        let settings = IbmIamSettings { tokens, addresses, ca_file: None, proxy: None };
        let changes = Arc::new(watch::Sender::default());
        IbmCredential::load("ibm".to_owned(), settings, WriteLimits::default(), changes)
    }

    /// The credential alone, and an egress with an endpoint behind it.
    fn egress(&self, tokens: IbmTokens) -> (Arc<IbmCredential>, Egress) {
        let credential = Arc::new(self.load(tokens).unwrap_or_else(|it| panic!("{it}")));
        let endpoint = Endpoint { credential: Some("ibm".to_owned()), ..testing::endpoint(&self.service.url) };
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

fn word(text: &str) -> IbmProfileWord {
    IbmProfileWord::parse(text).unwrap()
}

async fn send(egress: &Egress, method: Method) -> Result<GuestResponse, SendError> {
    let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
    egress.open(call, Mode::Write { deletes: 0 }).send(testing::request(method, &["v2", "load_balancers"])).await
}
