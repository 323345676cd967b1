//! The simulated services behind a real Keystone: whether a token is good, and for which project, is Keystone's word.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request as Arriving;
use axum::http::Response;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use serde_json::{Value, json};
use tests::clouds::openstack::{Behaviour, Options, Simulator, Taking, World};
use tests::control_plane::Cluster;
use tests::keystone::{ApplicationCredential, Keystone};
use tests::operator::Setup;
use tests::vendor::openstack;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The password of each user.
pub(super) const PASSWORD: &str = "word-of-the-tests";
/// The services in the catalogue, and their paths.
const SERVICES: [(&str, &str); 3] =
    [("compute", "/compute/v2.1"), ("network", "/network"), ("load-balancer", "/load-balancer")];
/// The largest body that passes.
const BODY_BYTES: usize = 1 << 20;

/// The services, the Keystone before them, and a region of its catalogue.
pub(super) struct Place {
    pub(super) keystone: Arc<Keystone>,
    pub(super) cloud: Arc<Simulator>,
    /// The region, which no other test has.
    pub(super) region: String,
    /// Where the services are: plain HTTP on loopback.
    pub(super) url: String,
    arrived: Arc<Mutex<Vec<Arrival>>>,
    _task: JoinSet<()>,
}

/// A request to a service.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) line: String,
    /// The project of its token, if Keystone calls that good.
    pub(super) project: Option<String>,
}

/// A project with its user, and what a cluster in it logs in with.
pub(super) struct Project {
    pub(super) id: String,
    pub(super) user: String,
    pub(super) name: String,
    pub(super) credential: ApplicationCredential,
}

impl Place {
    /// With all services in the catalogue.
    pub(super) async fn start() -> Self {
        Self::published(shared().await).await
    }

    /// The same with a Keystone that no other test asks.
    pub(super) async fn alone() -> Self {
        Self::published(Arc::new(Keystone::start().await)).await
    }

    async fn published(keystone: Arc<Keystone>) -> Self {
        let place = Self::unpublished(keystone).await;
        for (service, path) in SERVICES {
            place.publish(service, &format!("{}{path}", place.url)).await;
        }
        place
    }

    /// The same, where the catalogue leads elsewhere for a service, or nowhere.
    pub(super) async fn misled(service: &str, url: Option<&str>) -> Self {
        let place = Self::unpublished(shared().await).await;
        for (other, path) in SERVICES.into_iter().filter(|it| it.0 != service) {
            place.publish(other, &format!("{}{path}", place.url)).await;
        }
        if let Some(url) = url {
            place.publish(service, url).await;
        }
        place
    }

    async fn unpublished(keystone: Arc<Keystone>) -> Self {
        let provisioning = Taking::Time(Duration::from_millis(50));
        let options = Options { behaviour: Behaviour { provisioning, ..Behaviour::default() }, ..Options::default() };
        let cloud = Arc::new(Simulator::start(options).await.unwrap());
        let arrived = Arc::<Mutex<Vec<Arrival>>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let passage = Arc::new(Passage {
            keystone: keystone.clone(),
            client: cloud.client(&["http/1.1"]),
            cloud: cloud.clone(),
            arrived: arrived.clone(),
            known: tokio::sync::Mutex::default(),
        });
        let mut task = JoinSet::new();
        let serve = move |request| {
            let passage = passage.clone();
            async move { passage.pass(request).await }
        };
        task.spawn(async move { axum::serve(listener, Router::new().fallback(serve)).await.unwrap() });
        let region = format!("region-{}", unique());
        Self { keystone, cloud, region, url, arrived, _task: task }
    }

    /// Puts a service of the region into the catalogue.
    pub(super) async fn publish(&self, service: &str, url: &str) {
        self.keystone.publish(service, "public", &self.region, url).await;
    }

    /// A project with two servers, web-1 and web-2, in a plain region.
    pub(super) async fn project(&self) -> Project {
        let name = format!("project-{}", unique());
        let id = self.keystone.project(&name).await;
        let user = self.keystone.user(&format!("of-{name}"), PASSWORD, &[&id]).await;
        let credential = self.keystone.application_credential(&user, PASSWORD, &id, json!({})).await;
        let project = Project { id, user, name, credential };
        self.world(&project, |world| {
            world.build_plain();
            for (number, name) in [(1, "web-1"), (2, "web-2")] {
                world.add_node(number, name, None);
            }
        });
        project
    }

    /// Reads or changes what a project has.
    pub(super) fn world<T>(&self, project: &Project, change: impl FnOnce(&mut World) -> T) -> T {
        self.cloud.account().with_project(&project.id, change)
    }

    /// The provider as its page sets it up, with the application credential of a project.
    pub(super) fn setup(&self, cluster: &Cluster, project: &Project) -> Setup {
        let setup = openstack::setup(cluster, &self.cloud);
        setup.folder.write("id", &project.credential.id);
        setup.folder.write("secret", &project.credential.secret);
        setup.edit(|config| {
            for endpoint in config["endpoints"].as_array_mut().unwrap() {
                endpoint["origins"] = json!([self.url]);
                endpoint["catalog"]["region"] = json!(self.region);
                endpoint.as_object_mut().unwrap().remove("tls");
            }
            let keystone = config["credentials"][0]["keystone"].as_object_mut().unwrap();
            keystone.insert("baseUrl".to_owned(), json!(self.keystone.base_url()));
            keystone.remove("tls");
            config["provider"]["settings"]["region"] = json!(self.region);
            config["provider"]["settings"]["pollInterval"] = json!("1s");
        })
    }

    /// The requests that have come to a service.
    pub(super) fn arrived(&self) -> Vec<Arrival> {
        self.arrived.lock().unwrap().clone()
    }
}

/// Another endpoint of the catalogue's service `network`, with rules of its own.
pub(super) fn endpoint(place: &Place, name: &str, credential: &str, allow: Value) -> Value {
    json!({
        "name": name,
        "catalog": { "type": "network", "interface": "public", "region": place.region, "path": "/" },
        "origins": [place.url],
        "credential": credential,
        "allow": allow,
    })
}

/// The way of requests to the simulator.
struct Passage {
    keystone: Arc<Keystone>,
    cloud: Arc<Simulator>,
    client: reqwest::Client,
    arrived: Arc<Mutex<Vec<Arrival>>>,
    /// The tokens that Keystone was asked about, as services remember its answers for a while.
    known: tokio::sync::Mutex<HashMap<String, Option<String>>>,
}

impl Passage {
    async fn pass(&self, request: Arriving) -> Response<Body> {
        let (mut head, body) = request.into_parts();
        let token = head.headers.get("x-auth-token").and_then(|it| it.to_str().ok()).unwrap_or_default();
        let project = self.project_of(token).await;
        if let Some(project) = &project {
            self.cloud.identity().admit(token, project);
        }
        let line = format!("{} {}", head.method, head.uri.path());
        self.arrived.lock().unwrap().push(Arrival { line, project });
        head.headers.remove(HOST);
        let target = head.uri.path_and_query().map_or("/", |it| it.as_str());
        let url = format!("{}{target}", self.cloud.base_url());
        let body = to_bytes(body, BODY_BYTES).await.unwrap();
        let passed = self.client.request(head.method, url).headers(head.headers).body(body).send().await;
        let Ok(answer) = passed else {
            return Response::builder().status(502).body(Body::empty()).unwrap();
        };
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        let mut response = Response::new(Body::from(answer.bytes().await.unwrap_or_default()));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        response
    }

    async fn project_of(&self, token: &str) -> Option<String> {
        let mut known = self.known.lock().await;
        if let Some(project) = known.get(token) {
            return project.clone();
        }
        let project = self.keystone.project_of(token).await;
        known.insert(token.to_owned(), project.clone());
        project
    }
}

/// The Keystone of these tests: as long as one of them has it, others share it.
async fn shared() -> Arc<Keystone> {
    static RUNNING: tokio::sync::Mutex<Weak<Keystone>> = tokio::sync::Mutex::const_new(Weak::new());
    let mut running = RUNNING.lock().await;
    if let Some(keystone) = running.upgrade() {
        return keystone;
    }
    let keystone = Arc::new(Keystone::start().await);
    *running = Arc::downgrade(&keystone);
    keystone
}

fn unique() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..8].to_owned()
}
