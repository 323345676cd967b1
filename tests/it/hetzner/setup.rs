//! The Hetzner provider, loaded as an operator would have it, and the cloud that it serves.

use std::net::Ipv4Addr;
use std::ops::Deref;
use std::time::Duration;

use cloud_provider::{Event, EventKind};
use egress::{CredentialKind, CredentialSettings, Endpoint, WriteLimits};
use serde_json::Value;
use tests::clouds::hetzner::{Network, Options, Server, Simulator, robot};
use tests::vendor::loading::{Secret, endpoint, may_read};
use tests::vendor::{Differences, Hetzner, ProviderRig, Vendor as _};

pub(crate) use tests::vendor::hetzner::NETWORK_ID as NETWORK;
pub(crate) use tests::vendor::loading::CLUSTER_UID;
pub(crate) use tests::vendor::{NAME, Service, UID, joining, node, port};

/// A loaded provider and its cloud.
pub(crate) type Rig = ProviderRig<Hetzner>;

/// The same with dedicated servers.
pub(crate) struct RobotRig {
    rig: Rig,
    pub(crate) robot: robot::Simulator,
    _secrets: [Secret; 2],
}

impl Deref for RobotRig {
    type Target = Rig;

    fn deref(&self) -> &Rig {
        &self.rig
    }
}

/// Where load balancers are built.
pub(crate) const LOCATION: (&str, &str) = ("loadBalancers.location", "hel1");

/// A project with a network and two servers in it, `web-1` and `web-2`.
pub(crate) async fn rig(settings: &[(&str, &str)]) -> Rig {
    start(Options::default(), settings).await
}

/// The same, which begins as these options say.
pub(crate) async fn start(options: Options, settings: &[(&str, &str)]) -> Rig {
    Rig::over(project(options).await, Differences { settings, ..Differences::default() }).await
}

/// The same, where the config has these rules beside the shipped ones.
pub(crate) async fn with_rules(options: Options, settings: &[(&str, &str)], also_allowed: &[Value]) -> Rig {
    let differences = Differences { settings, also_allowed, ..Differences::default() };
    Rig::over(project(options).await, differences).await
}

/// The same, where the egress remembers reads for a moment and limits requests as an operator has it.
pub(crate) async fn with_usual_limits(settings: &[(&str, &str)]) -> Rig {
    let differences = Differences { settings, usual_limits: true, ..Differences::default() };
    Rig::over(project(Options::default()).await, differences).await
}

/// The same, where the egress remembers reads as long as a test takes, however slow the machine is.
pub(crate) async fn with_long_memory(settings: &[(&str, &str)]) -> Rig {
    let reuse = Some(Duration::from_mins(1));
    let differences = Differences { settings, usual_limits: true, reuse, ..Differences::default() };
    Rig::over(project(Options::default()).await, differences).await
}

/// The same with dedicated servers: none yet.
pub(crate) async fn with_robot(settings: &[(&str, &str)]) -> RobotRig {
    let own = robot::Options::default();
    let secrets = [Secret::write(&own.user), Secret::write(&own.password)];
    let robot = robot::Simulator::start(own).await.unwrap();
    let api = Endpoint {
        credential: Some("robot".to_owned()),
        ca_file: Some(robot.ca_file()),
        allow: vec![may_read(&["/server", "/server/*", "/reset/*"])],
        ..endpoint("robot", &robot.base_url())
    };
    let [user_file, password_file] = secrets.each_ref().map(Secret::path);
    let credential = CredentialSettings {
        name: "robot".to_owned(),
        kind: CredentialKind::Basic { user_file, password_file },
        limits: WriteLimits::default(),
    };
    let differences = Differences { settings, second: Some((api, credential)), ..Differences::default() };
    let rig = Rig::over(project(Options::default()).await, differences).await;
    RobotRig { rig, robot, _secrets: secrets }
}

async fn project(options: Options) -> Simulator {
    let cloud = Simulator::start(options).await.unwrap();
    cloud.networks().insert(Network::new(NETWORK, "net"));
    for id in 1..=2 {
        cloud.servers().insert(server(id));
    }
    cloud
}

/// The server `web-<id>` in the network.
pub(crate) fn server(id: u8) -> Server {
    Server::new(id.into(), &format!("web-{id}")).private(NETWORK, Ipv4Addr::new(10, 0, 0, id + 1))
}

/// The initialised node of such a server.
pub(crate) fn worker(server: u8) -> cloud_provider::Node {
    Hetzner::worker(server)
}

/// An annotation of the vendor, by the end of its key.
pub(crate) fn key(name: &str) -> String {
    format!("{}{name}", Hetzner::PREFIX)
}

/// The reason and the message of the only warning, whatever it is about.
pub(crate) fn warning(events: &[Event]) -> (&str, &str) {
    let [event] = events else { panic!("not one warning: {events:?}") };
    assert_eq!(event.kind, EventKind::Warning);
    (&event.reason, &event.message)
}
