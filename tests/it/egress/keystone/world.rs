//! A real Keystone, a service that asks it about each token, and an egress before both.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request as Arriving;
use axum::http::StatusCode;
use egress::{
    AllowedAddresses, BaseUrl, CatalogPath, CatalogPlace, CredentialKind, CredentialSettings, Credentials, Endpoint,
    EndpointPlace, KeystoneDomain, KeystoneLogin, KeystoneName, KeystoneSettings, Method, Origin, PathPattern, Rule,
    WriteLimits,
};
use tests::keystone::{Keystone, REGION};
use tests::wait;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::setup::{Folder, Lab, Outcome, Request, Setup, endpoint};

/// The password of each user.
pub(super) const PASSWORD: &str = "word-of-the-tests";

/// A service that takes what Keystone calls good, as services of OpenStack do.
pub(super) struct Service {
    url: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    _task: JoinSet<()>,
}

struct Arrived {
    path: String,
    token: String,
    /// The project of a token that is good.
    project: Option<String>,
}

impl Service {
    pub(super) async fn start(keystone: Arc<Keystone>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let arrived = Arc::<Mutex<Vec<Arrived>>>::default();
        let seen = arrived.clone();
        let serve = move |request: Arriving| {
            let (keystone, seen) = (keystone.clone(), seen.clone());
            async move {
                let token = request.headers().get("x-auth-token").and_then(|it| it.to_str().ok()).unwrap_or_default();
                let project = keystone.project_of(token).await;
                let status = if project.is_some() { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
                let (path, token) = (request.uri().path().to_owned(), token.to_owned());
                seen.lock().unwrap().push(Arrived { path, token, project });
                (status, "{}")
            }
        };
        let mut task = JoinSet::new();
        task.spawn(async move {
            axum::serve(listener, Router::new().fallback(serve)).await.unwrap();
        });
        Self { url, arrived, _task: task }
    }

    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    /// The project of each request's token, and none for one that is not good.
    pub(super) fn projects(&self) -> Vec<Option<String>> {
        self.arrived.lock().unwrap().iter().map(|it| it.project.clone()).collect()
    }

    pub(super) fn tokens(&self) -> Vec<String> {
        self.arrived.lock().unwrap().iter().map(|it| it.token.clone()).collect()
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.arrived.lock().unwrap().iter().map(|it| it.path.clone()).collect()
    }
}

/// A project `kubernetes` with the member `aerostat`, and a service `compute` in the catalogue.
pub(super) struct World {
    pub(super) keystone: Arc<Keystone>,
    pub(super) service: Service,
    pub(super) project: String,
    pub(super) user: String,
    /// The id of the service's endpoint in the catalogue.
    pub(super) endpoint: String,
    pub(super) folder: Folder,
    tasks: Mutex<JoinSet<()>>,
}

impl World {
    pub(super) async fn start() -> Self {
        let keystone = Arc::new(Keystone::start().await);
        let project = keystone.project("kubernetes").await;
        let user = keystone.user("aerostat", PASSWORD, &[&project]).await;
        let service = Service::start(keystone.clone()).await;
        let endpoint = keystone.publish("compute", "public", REGION, &format!("{}/v2.1", service.url())).await;
        let (folder, tasks) = (Folder::new(), Mutex::default());
        folder.write("password", PASSWORD);
        Self { keystone, service, project, user, endpoint, folder, tasks }
    }

    /// The login of the user `aerostat`, with the file `password`.
    pub(super) fn password(&self) -> KeystoneLogin {
        KeystoneLogin::Password { user: name("aerostat"), password_file: self.folder.path("password") }
    }

    pub(super) fn by_password(&self) -> CredentialSettings {
        credential("openstack", &self.keystone, self.password(), Some(name("kubernetes")))
    }

    /// A guest behind the endpoint `compute`, which has this credential.
    pub(super) async fn lab(&self, credential: CredentialSettings) -> Lab {
        self.lab_of(vec![credential], vec![compute(&[self.service.url()], REGION, "public")]).await
    }

    pub(super) async fn lab_of(&self, credentials: Vec<CredentialSettings>, endpoints: Vec<Endpoint>) -> Lab {
        let credentials = Credentials::load(credentials).unwrap();
        let mut setup = Setup::new(endpoints);
        setup.credentials = credentials.clone();
        let lab = setup.load().await;
        self.tasks.lock().unwrap().spawn(credentials.watch());
        lab
    }

    /// Lets the guest ask until it is answered with a success.
    pub(super) async fn answered(&self, lab: &Lab) {
        let answered = async || matches!(lab.send(&get()).await, Outcome::Answered { status: 200, .. }).then_some(());
        wait::until("an answer", answered).await;
    }

    /// Lets the guest ask until it is told why it is not answered.
    pub(super) async fn unreachable(&self, lab: &Lab) -> String {
        wait::until("a reason", async || match lab.send(&get()).await {
            Outcome::Unreachable(text) => Some(text),
            _ => None,
        })
        .await
    }

    /// Lets the guest ask until it is told that the credential is refused.
    pub(super) async fn denied(&self, lab: &Lab) -> String {
        wait::until("a refusal", async || match lab.send(&get()).await {
            Outcome::Denied(text) => Some(text),
            _ => None,
        })
        .await
    }
}

/// A user or a project of the domain `Default`.
pub(super) fn name(name: &str) -> KeystoneName {
    KeystoneName::Name { name: name.to_owned(), domain: KeystoneDomain::Name("Default".to_owned()) }
}

pub(super) fn credential(
    name: &str,
    keystone: &Keystone,
    login: KeystoneLogin,
    project: Option<KeystoneName>,
) -> CredentialSettings {
    let settings = KeystoneSettings {
        base_url: BaseUrl::parse(&keystone.base_url()).unwrap(),
        login,
        project,
        addresses: AllowedAddresses::Public,
        ca_file: None,
        client_certificate: None,
        proxy: None,
    };
    let kind = CredentialKind::Keystone(Box::new(settings));
    CredentialSettings { name: name.to_owned(), kind, limits: WriteLimits::default() }
}

/// The endpoint `compute`, at one of these origins.
pub(super) fn compute(origins: &[String], region: &str, interface: &str) -> Endpoint {
    let place = CatalogPlace {
        service: "compute".to_owned(),
        interface: interface.to_owned(),
        region: Some(region.to_owned()),
        path: Some(CatalogPath::parse("/v2.1").unwrap()),
        origins: origins.iter().map(|it| Origin::parse(it).unwrap()).collect(),
    };
    let all = || [PathPattern::parse("/**").unwrap()];
    Endpoint {
        name: "compute".to_owned(),
        place: EndpointPlace::Catalog(place),
        credential: Some("openstack".to_owned()),
        allow: vec![Rule::new([Method::Get], all()), Rule::new([Method::Post], all())],
        ..endpoint("https://unused.example")
    }
}

/// `GET /servers`.
pub(super) fn get() -> Request {
    crate::setup::get(&["servers"]).to("compute")
}

/// `POST /servers`.
pub(super) fn post() -> Request {
    Request { method: "POST", body: Some("{}".to_owned()), ..get() }.header("content-type", "application/json")
}
