//! A hostile guest under the rules of the config for Google Cloud as it is shipped, with the token of a service account, before a simulated
//! Compute Engine: it reaches its project and no other, no giver of tokens, and no header of Google's.

use egress::{
    AllowedAddresses, BaseUrl, CredentialKind, CredentialSettings, Credentials, Endpoint, EndpointLimits,
    GoogleSettings, GoogleTokens, WriteLimits,
};
use serde_json::json;
use tests::clouds::gcp::{Collection, KEY, NETWORK_PROJECT, Options, PROJECT, Place, Simulator, World};
use tests::simulator::Authorization;
use tests::vendor::manifest;
use tests::wait;
use tokio::task::JoinSet;

use crate::setup::{Folder, Lab, Outcome, Request, Setup, get};

const CONFIG: &str = include_str!("../../../deploy/gcp/config.yaml");
/// The firewall of another project.
const FIREWALL: &str = "theirs";

struct GoogleLab {
    lab: Lab,
    cloud: Simulator,
    _tasks: JoinSet<()>,
    _folder: Folder,
}

impl GoogleLab {
    /// With both endpoints in one project; the other project is there, and the token reaches it, too.
    async fn new() -> Self {
        let (folder, cloud) = (Folder::new(), Simulator::start(Options::instant()).await.unwrap());
        cloud.with(World::build_plain);
        cloud.with(|world| {
            let firewall = json!({ "name": FIREWALL, "allowed": [{ "IPProtocol": "tcp" }] });
            world.insert(&Place::global(NETWORK_PROJECT), Collection::Firewalls, firewall);
        });
        let settings = GoogleSettings {
            tokens: GoogleTokens::ServiceAccountKey { file: folder.write("key.json", KEY), exchange: false },
            origins: Vec::new(),
            addresses: AllowedAddresses::Public,
            ca_file: None,
            proxy: None,
        };
        let credential = CredentialSettings {
            name: "google".to_owned(),
            kind: CredentialKind::Google(Box::new(settings)),
            limits: WriteLimits::default(),
        };
        let config = manifest::cloud_config(CONFIG);
        let endpoints = config["endpoints"].as_array().unwrap().iter().map(|written| Endpoint {
            credential: Some("google".to_owned()),
            allow: manifest::rules(written),
            ca_file: Some(cloud.ca_file()),
            limits: EndpointLimits { requests_per_second: 10_000.0, ..EndpointLimits::default() },
            ..Endpoint::new(written["name"].as_str().unwrap(), BaseUrl::parse(&cloud.project_url(PROJECT)).unwrap())
        });
        let mut setup = Setup::new(endpoints);
        setup.credentials = Credentials::load(vec![credential]).unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(setup.credentials.clone().watch());
        Self { lab: setup.load().await, cloud, _tasks: tasks, _folder: folder }
    }

    /// Asserts that none of the requests reaches the cloud, in calls that read and in calls that write, that each is refused with this code,
    /// and that the project itself is reached with the host's token.
    async fn refuses(&self, requests: impl IntoIterator<Item = Request>, code: &str) {
        for request in requests {
            let outcomes = [self.lab.send(&request).await, self.lab.ensure(&request).await];
            let shown = format!("{} {:?} {:?}: {outcomes:?}", request.method, request.path, request.headers);
            let is_refused = |it: &Outcome| matches!(it, Outcome::Denied(text) if text.starts_with(code));
            assert!(outcomes.iter().all(is_refused), "{shown}");
        }
        assert!(self.cloud.requests().is_empty(), "{:?}", self.cloud.requests());
        let own = get(&["global", "firewalls"]).to("network");
        let answered =
            async || matches!(self.lab.send(&own).await, Outcome::Answered { status: 200, .. }).then_some(());
        wait::until("the project answers", answered).await;
        let asked: Vec<_> = self.cloud.requests().iter().map(|it| it.path.clone()).collect();
        assert_eq!(asked, [format!("/compute/v1/projects/{PROJECT}/global/firewalls")]);
    }
}

/// A request of each method that the rules know.
fn all_methods(request: &Request) -> Vec<Request> {
    ["GET", "POST", "PATCH", "PUT", "DELETE"].map(|method| Request { method, ..request.clone() }).into()
}

#[tokio::test]
async fn paths_of_another_google_project_are_refused() {
    let world = GoogleLab::new().await;
    let paths: [&[&str]; 14] = [
        &["..", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &[".", "..", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &["global", "..", "..", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &["%2e%2e", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &["..%2fshared", "global", "firewalls", FIREWALL],
        &["../shared", "global", "firewalls", FIREWALL],
        &["", "", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &["projects", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &["compute", "v1", "projects", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &["global", "firewalls", "..", "..", "..", NETWORK_PROJECT, "global", "firewalls", FIREWALL],
        &["global", "firewalls", "../../../shared/global/firewalls/theirs"],
        &["zones", "europe-west1-b", "instances", "..", "..", "..", "..", NETWORK_PROJECT],
        &["zones", "../../shared/zones/europe-west1-b", "instances", "web-1"],
        &["https://compute.googleapis.com/compute/v1/projects/shared", "global", "firewalls", FIREWALL],
    ];
    let requests = paths.into_iter().flat_map(|path| {
        ["compute", "network"].into_iter().flat_map(move |endpoint| all_methods(&get(path).to(endpoint)))
    });
    world.refuses(requests, "E-EGRESS-").await;
    let theirs = Place::global(NETWORK_PROJECT).path(Collection::Firewalls, FIREWALL);
    assert!(world.cloud.with(|it| it.get(&theirs).is_some()));
}

#[tokio::test]
async fn paths_to_tokens_and_metadata_of_google_are_refused() {
    let world = GoogleLab::new().await;
    let account = "ccm@p1.iam.gserviceaccount.com";
    let paths: [&[&str]; 9] = [
        &["token"],
        &["oauth2", "v4", "token"],
        &["v1", "token"],
        &["v1", "projects", "-", "serviceAccounts", &format!("{account}:generateAccessToken")],
        &["projects", "-", "serviceAccounts", &format!("{account}:signJwt")],
        &["computeMetadata", "v1", "instance", "service-accounts", "default", "token"],
        &["computeMetadata", "v1", "instance", "attributes", "kube-env"],
        &["zones", "europe-west1-b", "instances", "web-1", "computeMetadata"],
        &["setCommonInstanceMetadata"],
    ];
    let requests = paths.into_iter().flat_map(|path| {
        ["compute", "network"].into_iter().flat_map(move |endpoint| all_methods(&get(path).to(endpoint)))
    });
    world.refuses(requests, "E-EGRESS-").await;
}

#[tokio::test]
async fn headers_and_queries_of_google_are_the_hosts_to_set() {
    let world = GoogleLab::new().await;
    let own = get(&["global", "firewalls"]).to("network");
    for name in [
        "Authorization",
        "authorization",
        "x-goog-user-project",
        "X-Goog-User-Project",
        "x-goog-api-key",
        "X-Goog-IAM-Authority-Selector",
        "x-goog-request-params",
        "Metadata-Flavor",
        "X-Forwarded-For",
    ] {
        let request = own.clone().header(name, NETWORK_PROJECT);
        for outcome in [world.lab.send(&request).await, world.lab.ensure(&request).await] {
            let is_refused = matches!(&outcome, Outcome::Denied(text) if text.starts_with("E-EGRESS-HEADER"));
            assert!(is_refused, "{name}: {outcome:?}");
        }
    }
    let queries = ["access_token", "oauth_token", "key"].map(|it| own.clone().query(it, "x"));
    world.refuses(queries, "E-EGRESS-QUERY").await;
    let sent = world.cloud.requests().pop().unwrap();
    assert!(matches!(&sent.authorization, Authorization::Judged(it) if it.starts_with("Bearer ")), "{sent}");
    assert!(!sent.headers.contains_key("x-goog-user-project"));
}
