//! A cloud that cannot be reached is an event on the Lease and on each node that waits, within half a minute.

use std::time::Duration;

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};
use tests::capture::{Blackhole, Capture, Step};
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::{Cluster, cluster};
use tests::folder::Folder;
use tests::operator::{NODE_BACK_OFF, Process, Setup, admin_token, allow_leases, initialized_after};
use tests::port::free_port;
use tests::tinyproxy::Tinyproxy;
use tests::{kubelet, wait};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const NODE: &str = "worker-1";
/// How long people wait for the cause at most, from when the controllers run.
const LIMIT: SignedDuration = SignedDuration::from_secs(30);
/// How long the events may be on their way to a test on a busy machine. Their own time is judged.
const ARRIVAL: Duration = Duration::from_secs(90);

/// A way in which a cloud is not reached.
struct Unreachable {
    /// Also the name of its process's Lease.
    name: &'static str,
    /// Changes the endpoint.
    endpoint: Value,
    /// The cause on `/readyz` and in the metric.
    cause: &'static str,
    /// Parts of each event: host and port, cause, next step.
    parts: Vec<String>,
}

impl Unreachable {
    fn new(name: &'static str, cause: &'static str, endpoint: Value, parts: &[&str]) -> Self {
        Self { name, endpoint, cause, parts: parts.iter().map(|&it| it.to_owned()).collect() }
    }

    /// Its process, which works in the same cluster as the others, under a Lease of its own.
    fn setup(&self, cluster: &Cluster, cloud: &Simulator) -> Setup {
        let lease = format!("--leader-elect-resource-name={}", self.name);
        let setup = Setup::digitalocean(cluster, cloud).flags(&[&lease]);
        setup.edit(|config| {
            let endpoint = config["endpoints"][0].as_object_mut().unwrap();
            endpoint.extend(self.endpoint.as_object().unwrap().clone());
        })
    }

    /// Runs until Lease and node tell of it. Answers with the process and its files.
    async fn check(&self, cluster: &Cluster, cloud: &Simulator) -> (Process, Setup) {
        let setup = self.setup(cluster, cloud);
        let process = setup.started().await;
        let began = Timestamp::now();
        let (on_lease, on_node) = tokio::join!(
            self.told(cluster, self.name, "EndpointUnreachable"),
            self.told(cluster, NODE, "InstanceMetadataUnavailable")
        );
        for event in [&on_lease, &on_node] {
            let after = event.first_timestamp.as_ref().unwrap().0.duration_since(began);
            assert!(after < LIMIT, "{}: {:?} after {after:?}", self.name, event.reason);
        }
        assert_eq!(on_lease.involved_object.kind.as_deref(), Some("Lease"));
        assert_eq!((on_lease.type_.as_deref(), on_node.type_.as_deref()), (Some("Warning"), Some("Warning")));
        let ready = process.get("/readyz?verbose", None).await;
        let line = format!("[-]endpoint api not reached: {}\n", self.cause);
        assert!(ready.code == 200 && ready.body.contains(&line), "{}: {ready:?}", self.name);
        assert_eq!(process.get("/healthz", None).await.code, 200);
        assert_eq!(self.gauge(cluster, &process).await, Some("1".to_owned()), "{}", self.name);
        (process, setup)
    }

    /// Waits for a Warning about an object that names the place, the cause and the next step.
    async fn told(&self, cluster: &Cluster, about: &str, reason: &str) -> Event {
        let events: Api<Event> = Api::all(cluster.admin.clone());
        let mut seen = Vec::new();
        let found = wait::within(ARRIVAL, async || {
            let all = events.list(&ListParams::default()).await.unwrap().items;
            seen = all.into_iter().filter(|it| it.involved_object.name.as_deref() == Some(about)).collect();
            seen.iter().find(|it| it.reason.as_deref() == Some(reason) && self.is_told_by(it)).cloned()
        });
        let found = found.await;
        let texts: Vec<_> = seen.iter().map(|it| (it.reason.clone(), it.message.clone())).collect();
        found.unwrap_or_else(|| panic!("{}: no {reason} says {:?}; there are {texts:#?}", self.name, self.parts))
    }

    fn is_told_by(&self, event: &Event) -> bool {
        let message = event.message.as_deref().unwrap_or_default();
        message.contains("endpoint api (") && self.parts.iter().all(|it| message.contains(it.as_str()))
    }

    /// The value of the metric, if it has one.
    async fn gauge(&self, cluster: &Cluster, process: &Process) -> Option<String> {
        let token = admin_token(cluster).await;
        let metrics = process.get("/metrics", Some(&token)).await.body;
        let series = format!("aerostat_endpoint_unreachable{{cause=\"{}\",endpoint=\"api\"}} ", self.cause);
        metrics.lines().find_map(|it| it.strip_prefix(&series)).map(str::to_owned)
    }
}

/// Lets connections to a port of loopback pass on, until it is dropped.
async fn open(port: u16, cloud: &Simulator) -> JoinSet<()> {
    let to = cloud.base_url().trim_start_matches("https://").to_owned();
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let mut passing = JoinSet::new();
    passing.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut outside, _)) = listener.accept().await {
            let to = to.clone();
            connections.spawn(async move {
                let mut inside = TcpStream::connect(to).await.unwrap();
                // Either end may close it as it likes.
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    passing
}

/// Cases: unreachable
#[tokio::test]
async fn a_cloud_out_of_reach_is_told_on_lease_and_node() {
    let (cluster, cloud) = (cluster().await, Simulator::start(Options::default()).await.unwrap());
    cloud.droplets().insert(Droplet::new(1, NODE));
    let (closed, blackhole) = (free_port(), Blackhole::open().await);
    let (dropped, other) = (blackhole.address(), Capture::https(&["127.0.0.1"], |_| Step::ok("{}")).await);
    let proxy = Tinyproxy::start(&["api.behind.example"], "BasicAuth aerostat right-word").await;
    let folder = Folder::new();
    let strange = folder.write("strange.pem", other.ca());
    let behind = |url: &str| json!({ "baseUrl": "https://api.behind.example", "proxy": { "url": url } });
    let gone = format!("http://127.0.0.1:{}", free_port());

    let refused = Unreachable::new(
        "refused",
        "refused",
        json!({ "baseUrl": format!("https://127.0.0.1:{closed}") }),
        &[&format!("127.0.0.1:{closed}"), "is refused", "correct `baseUrl` of endpoint api", "Connection refused"],
    );
    let causes = [
        Unreachable::new(
            "firewall",
            "timeout",
            json!({ "baseUrl": format!("https://{dropped}") }),
            &[&format!("nothing comes back from {dropped}"), "a firewall may drop", "pass in firewalls"],
        ),
        Unreachable::new(
            "name",
            "dns",
            json!({ "baseUrl": "https://nowhere.invalid" }),
            &["nowhere.invalid:443", "DNS ", "this Pod", "does not resolve"],
        ),
        Unreachable::new(
            "authority",
            "tls",
            json!({ "tls": { "caFile": strange } }),
            &["the certificate of 127.0.0.1:", "from an authority that is not trusted", "`tls.caFile` of endpoint api"],
        ),
        Unreachable::new(
            "login",
            "proxy",
            behind(&proxy.url()),
            &["api.behind.example:443", &proxy.url(), "asks for a login (407): name its files as `proxy.login`"],
        ),
        Unreachable::new(
            "proxy",
            "proxy",
            behind(&gone),
            &["api.behind.example:443", &format!("the connection to the proxy {gone} is refused"), "`proxy.url`"],
        ),
    ];
    let names: Vec<_> = causes.iter().map(|it| it.name).chain([refused.name]).collect();
    allow_leases(&cluster, &names).await;
    kubelet::join(&cluster.admin, NODE).await.unwrap();
    let checks = causes.iter().map(|it| it.check(&cluster, &cloud));
    let ((process, _files), others) = tokio::join!(refused.check(&cluster, &cloud), join_all(checks));

    // What is reached again is no longer named.
    let passing = open(closed, &cloud).await;
    initialized_after(NODE_BACK_OFF, &cluster, NODE).await;
    wait::until("no endpoint is named", async || {
        let body = process.get("/readyz?verbose", None).await.body;
        (!body.contains("not reached")).then_some(())
    })
    .await;
    assert_eq!(refused.gauge(&cluster, &process).await, None);
    drop(passing);
    join_all(others.into_iter().map(|(process, _files)| process.stop()).chain([process.stop()])).await;
}
