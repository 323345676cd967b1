//! A whole OpenStack on loopback: Keystone, Placement, Glance, Nova, Neutron, Octavia and Cinder, on MariaDB and RabbitMQ.
//!
//! ```text
//! aerostat ─► Recorder ─► Nova ──► Placement, conductor, scheduler, compute (fake machines)
//!                     ├─► Neutron (each port is bound at once, no packet flows)
//!                     ├─► Octavia ─► worker ─► Nova, Neutron, Glance (real machines and ports, no data plane)
//!                     └─► Cinder ──► scheduler, volume (volumes that hold nothing)
//! ```
//!
//! `make openstack` installs it. In region [`REGION`] the catalogue leads through recorders, in [`INNER`], which the services ask each other
//! in, to them. What is in it: [`Ground`].

mod asking;
mod cloud;
mod ground;
mod group;
mod installed;
pub mod operator;
mod recorder;
mod services;

use std::ffi::OsStr;

use self::cloud::Admin;
use self::services::Services;
use crate::keystone::Keystone;

pub use self::cloud::{Cloud, Refusal, VOLUMES};
pub use self::ground::Ground;
pub use self::recorder::{Asked, Notes, Recorder};
pub use crate::keystone::REGION;

/// The region in which the services ask each other.
pub const INNER: &str = "Services";

/// A running OpenStack. Dropping it ends it.
pub struct RealOpenstack {
    /// Requests of users and administrators.
    pub cloud: Cloud,
    /// The networks, the router, the project and its user.
    pub ground: Ground,
    /// The requests to Nova, Neutron, Octavia and Cinder in [`REGION`].
    pub notes: Notes,
    /// The way to Nova in [`REGION`].
    pub compute: Recorder,
    /// The way to Neutron in [`REGION`].
    pub network: Recorder,
    /// The way to Octavia in [`REGION`].
    pub load_balancer: Recorder,
    /// The way to Cinder in [`REGION`].
    pub volume: Recorder,
    services: Services,
}

impl RealOpenstack {
    /// Starts it, with progress on standard error. It takes minutes.
    ///
    /// # Panics
    ///
    /// Panics if something is not installed, or does not answer in time.
    pub async fn start() -> Self {
        let keystone = Keystone::start_with("[token]\nexpiration = 86400").await;
        let mut services = Services::new(&keystone.base_url());
        services.say("Keystone answers");
        services.database().await;
        services.messages().await;
        services.say("MariaDB and RabbitMQ answer");
        let admin = Admin::new(keystone).await;
        let urls = basis(&mut services, &admin).await;
        let mut cloud = Cloud::new(admin, urls);
        let management = cloud.assets().await;
        services.word("MANAGEMENT", management);
        services.say("networks and images are there");
        let folder = services.installed.run("conf");
        let octavia = services.api("octavia", "octavia.wsgi.api", &[("HOME", folder.as_os_str())]);
        services.worker("octavia-worker", "octavia");
        publish(cloud.keystone(), "load-balancer", INNER, &octavia).await;
        services.answers_at("octavia", &octavia).await;
        cloud.put("load-balancer", &octavia);
        let cinder = services.api("cinder", "cinder.wsgi.api", &[("HOME", folder.as_os_str())]);
        services.worker("cinder-scheduler", "cinder");
        services.worker("cinder-volume", "cinder");
        publish(cloud.keystone(), VOLUMES, INNER, &of_project(&cinder)).await;
        services.answers_at("cinder", &cinder).await;
        cloud.put(VOLUMES, &cinder);
        let notes = Notes::default();
        let [compute, network, load_balancer, volume] = [
            Recorder::before("compute", cloud.url("compute"), &notes).await,
            Recorder::before("network", cloud.url("network"), &notes).await,
            Recorder::before("load-balancer", &octavia, &notes).await,
            Recorder::before(VOLUMES, &cinder, &notes).await,
        ];
        publish(cloud.keystone(), "compute", REGION, &format!("{}/v2.1", compute.url())).await;
        publish(cloud.keystone(), "network", REGION, &network.url()).await;
        publish(cloud.keystone(), "load-balancer", REGION, &load_balancer.url()).await;
        publish(cloud.keystone(), VOLUMES, REGION, &of_project(&volume.url())).await;
        let ground = Ground::build(&cloud).await;
        services.has_hosts().await;
        cloud.disks().await;
        services.say("the ground is there");
        Self { cloud, ground, compute, network, load_balancer, volume, notes, services }
    }

    /// Lets nova-compute stand still: machines stay as they are, and load balancers in PENDING_CREATE.
    pub fn stop_compute(&self) {
        self.services.group("nova-compute").pause();
    }

    /// Lets it go on.
    pub fn resume_compute(&self) {
        self.services.group("nova-compute").resume();
    }

    /// Lets Octavia's worker stand still: whatever is PENDING stays so.
    pub fn stop_worker(&self) {
        self.services.group("octavia-worker").pause();
    }

    /// Lets it go on.
    pub fn resume_worker(&self) {
        self.services.group("octavia-worker").resume();
    }
}

/// Starts all but Octavia and Cinder: the services by type, and their URLs.
async fn basis(services: &mut Services, admin: &Admin) -> Vec<(&'static str, String)> {
    let folder = services.installed.run("conf");
    let paste = |service: &str| services.installed.environment().join(format!("etc/{service}"));
    let (nova_paste, glance_paste) = (paste("nova"), paste("glance"));
    let placement = services.api("placement", "placement.wsgi.api", &[("OS_PLACEMENT_CONFIG_DIR", folder.as_os_str())]);
    std::fs::copy(glance_paste.join("glance-api-paste.ini"), folder.join("glance-api-paste.ini"))
        .expect("Glance is installed");
    let glance = services.api("glance-api", "glance.wsgi.api", &[("OS_GLANCE_CONFIG_DIR", folder.as_os_str())]);
    services.word("GLANCE", glance.clone());
    let neutron_files = folder.join("neutron.conf");
    let neutron =
        services.api("neutron", "neutron.wsgi.api", &[("OS_NEUTRON_CONFIG_FILES", neutron_files.as_os_str())]);
    let identity = admin.keystone.base_url();
    // Whoever looks at tokens asks for this one.
    admin.keystone.publish("identity", "internal", INNER, &identity).await;
    for (kind, url) in [("placement", &placement), ("image", &glance), ("network", &neutron)] {
        publish(&admin.keystone, kind, INNER, url).await;
    }
    let _none = services.sql(&cells(services)).await;
    std::fs::copy(nova_paste.join("api-paste.ini"), folder.join("api-paste.ini")).expect("Nova is installed");
    let nova_environment =
        [("OS_NOVA_CONFIG_DIR", folder.as_os_str()), ("OS_NOVA_DISABLE_EVENTLET_PATCHING", OsStr::new("true"))];
    let nova = services.api("nova", "nova.wsgi.osapi_compute", &nova_environment);
    publish(&admin.keystone, "compute", INNER, &format!("{nova}/v2.1")).await;
    services.worker("nova-conductor", "nova");
    services.worker("nova-scheduler", "nova");
    services.worker("nova-compute", "nova-compute");
    for (name, url) in [("placement", &placement), ("glance-api", &glance), ("neutron", &neutron), ("nova", &nova)] {
        services.answers_at(name, url).await;
    }
    vec![("placement", placement), ("image", glance), ("network", neutron), ("compute", nova)]
}

/// The statement that leads the cells of Nova, which were made elsewhere, to this run's database and messages.
fn cells(services: &Services) -> String {
    let database = |name: &str| {
        let socket = services.installed.run("mariadb.sock");
        format!("mysql+pymysql://root@localhost/{name}?unix_socket={}&charset=utf8mb3", socket.display())
    };
    let messages = services.value("RABBIT");
    format!(
        "UPDATE nova_api.cell_mappings SET database_connection = '{}' WHERE name = 'cell0'; \
         UPDATE nova_api.cell_mappings SET database_connection = '{}', transport_url = '{messages}' WHERE name = 'cell1'",
        database("nova_cell0"),
        database("nova"),
    )
}

/// The URL of Cinder as catalogues have it, with the project of whoever asks.
fn of_project(url: &str) -> String {
    format!("{url}/v3/%(project_id)s")
}

/// Puts a service into the catalogue.
async fn publish(keystone: &Keystone, kind: &str, region: &str, url: &str) {
    keystone.publish(kind, "public", region, url).await;
}
