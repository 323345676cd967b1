//! The questions of a test to a vendor, and the words for the answers.

use std::net::Ipv4Addr;
use std::time::Duration;

use cloud_provider::Node;
use k8s_openapi::api::core::v1::Service;
use serde_json::Value;

use crate::control_plane::Cluster;
use crate::operator::Setup;
use crate::simulator::{Cloud, Fault, Owner, Recorded, Simulator};

/// A vendor: its simulated cloud, its provider, and the words of both.
pub trait Vendor: Send + Sync + 'static {
    /// One account of the cloud.
    type Cloud: Cloud;

    /// Where the cloud lists its machines. Each has its own place below.
    const MACHINES: &'static str;
    /// The path of the lists of machines, where it is another one.
    const MACHINE_LISTS: &'static str = Self::MACHINES;
    /// Where the cloud lists its load balancers, and makes them. Each has its own place below, with all that is done to it.
    const LOAD_BALANCERS: &'static str;
    /// The file of the provider.
    const MODULE: &'static str;
    /// The manifest with the cloud configuration that is shipped.
    const MANIFEST: &'static str;
    /// The page of `deploy/` that an operator of this cloud follows, by its path in that folder.
    const PAGE: &'static str;
    /// The name of a rig's cluster, where objects of the cloud are called by it.
    const CLUSTER: &'static str = "";
    /// How the provider calls the cloud's API.
    const ENDPOINT: &'static str;
    /// The endpoints of the shipped configuration beside it, at the same address and with the same credential.
    const OTHER_ENDPOINTS: &'static [&'static str] = &[];
    /// The part of each path that belongs to the API's address, and not to the provider's request.
    const BASE: &'static str = "";
    /// The settings that the provider needs for the cloud as [`Vendor::start`] leaves it, by name and value.
    const SETTINGS: &'static [(&'static str, &'static str)];
    /// The settings that let authors of Services name whatever the account has.
    const NAMEABLE: &'static [(&'static str, &'static str)] = &[];
    /// The beginning of provider ids, before the machine's id.
    const PROVIDER_ID: &'static str;
    /// The beginning of annotations for authors of Services.
    const PREFIX: &'static str;
    /// The annotation that is the id of a load balancer.
    const ID: &'static str;
    /// The annotation that names a load balancer.
    const NAME: &'static str;
    /// The annotation that names a host.
    const HOSTNAME: &'static str;
    /// The writes to a load balancer that the vendor's own controller has made, when its Service gets a second port. `{id}` is
    /// the load balancer.
    const SECOND_PORT: &'static [&'static str];

    /// Annotations that a Service needs, unless it says something else itself.
    const ANNOTATIONS: &'static [(&'static str, &'static str)] = &[];
    /// Annotations by which a Service gets a load balancer of another kind, where there is one.
    const OTHER_KIND: &'static [(&'static str, &'static str)] = &[];
    /// The class that such a Service names beside.
    const OTHER_CLASS: Option<&'static str> = None;
    /// Whether a Service can choose the name of its load balancer, and gets it also where the answer to the creation was lost.
    const NAMES: bool = true;
    /// Settings with which the provider loses little time.
    const FAST: &'static [(&'static str, &'static str)] = &[("pollInterval", "1s"), ("createAgainAfter", "5s")];

    /// Whether a request is about load balancers, or about what belongs to one.
    #[must_use]
    fn is_about_load_balancers(request: &Recorded) -> bool {
        request.path.starts_with(Self::LOAD_BALANCERS)
    }

    /// The leftovers in the cloud of load balancers that are gone, in words. By default there can be none.
    #[must_use]
    fn leftovers(account: &Self::Cloud) -> Vec<String> {
        let _ = account;
        Vec::new()
    }

    /// Starts the cloud, with nothing in it that an operator does not have before the first machine.
    fn start(behaviour: Behaviour) -> impl Future<Output = anyhow::Result<Simulator<Self::Cloud>>> + Send;

    /// The provider as its README says that an operator sets it up. The file `token` holds the token.
    fn setup(cluster: &Cluster, cloud: &Simulator<Self::Cloud>) -> Setup;

    /// Where the provider finds the cloud.
    fn base_url(cloud: &Simulator<Self::Cloud>) -> String {
        format!("{}{}", cloud.base_url(), Self::BASE)
    }

    /// Where the provider asks for machines.
    fn machines() -> &'static str {
        Self::MACHINES.strip_prefix(Self::BASE).expect("machines are under the API's address")
    }

    /// The initialised node of the machine `web-<id>`, as [`Vendor::add_machine`] adds it.
    fn worker(id: u8) -> Node;

    /// Adds a machine that runs, in the place of one with the same id.
    fn add_machine(account: &Self::Cloud, id: u64, name: &str);

    /// Adds a machine to the other account.
    fn add_foreign_machine(account: &Self::Cloud, id: u64, name: &str) {
        Self::add_machine(account, id, name);
    }

    /// Puts a credential of this account into the Secret. The cloud knows no other from now on.
    fn belong_to(owner: Owner, cloud: &Simulator<Self::Cloud>, setup: &Setup) {
        let token = match owner {
            Owner::Us => &cloud.token,
            Owner::Other => "token-of-another-account",
        };
        cloud.set_token(token);
        cloud.set_owner(owner);
        setup.folder.write("token", token);
    }

    /// Takes a machine away.
    fn remove_machine(account: &Self::Cloud, id: u64);

    /// Keeps a machine out of lists. It can still be asked for.
    fn hide_machine(account: &Self::Cloud, id: u64);

    /// From now on lists show a load balancer only so long after it was made.
    fn lists_late_by(account: &Self::Cloud, time: Duration);

    /// The answer by which the cloud denies each machine that is asked for at its own place.
    #[must_use]
    fn denial() -> Fault {
        Fault::status("GET", &format!("{}/*", Self::MACHINES), 404)
    }

    /// Lets the account have so many load balancers, and no more.
    fn limit(account: &Self::Cloud, load_balancers: usize);

    /// All load balancers as they are, whatever lists show.
    fn built(account: &Self::Cloud) -> Vec<Built>;

    /// Adds a load balancer that nobody here has made. Returns its id.
    fn add_foreign(account: &Self::Cloud, name: &str) -> String;

    /// Takes a load balancer away, as somebody does in the panel.
    fn remove_built(account: &Self::Cloud, id: &str);

    /// Takes all machines of a load balancer away, as somebody does in the panel.
    fn clear_machines(account: &Self::Cloud, id: &str);

    /// Adds a load balancer as the vendor's own controller makes it for a Service of TCP port 80 with the machines 1 and 2.
    fn leave_behind(account: &Self::Cloud, service: &Service, left: Left) -> LeftBehind;

    /// Takes everything away from a load balancer that says for whom it is, as somebody does in the panel.
    fn unmark(account: &Self::Cloud, id: &str);

    /// The work left for the vendor's own controller to know a load balancer that ours has made for a Service.
    fn is_known_to_the_vendor(built: &Built, service: &Service) -> Result<(), String>;

    /// The name that a Service's load balancer has unless an annotation says another.
    fn default_name(uid: &str) -> String;

    /// The same, where it is not made of the UID alone.
    fn name_for(service: &Service) -> String {
        Self::default_name(uid(service))
    }

    /// The id of a load balancer, out of its Service's memo.
    fn id_in(memo: &str) -> &str {
        memo
    }

    /// The body of a 422 with this message.
    fn refusal(message: &str) -> String;

    /// An answer that says that a load balancer takes no change at the moment.
    fn busy(method: &str, path: &str) -> Fault;

    /// Lets an answer ask for a pause, as the cloud does.
    fn pause(fault: Fault, pause: Duration) -> Fault;
}

/// A cloud whose load balancers know a machine by its public address, which can change.
pub trait Readdresses: Vendor {
    /// Gives a machine another public address.
    fn readdress(account: &Self::Cloud, id: u64, ip: Ipv4Addr);
}

/// How a cloud behaves. A vendor whose cloud never does so leaves it out.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// When a new load balancer is done.
    pub creation: Creation,
    /// How late a new load balancer comes into lists.
    pub lists_late_by: Duration,
    /// Whether a name can be had once, where the cloud leaves it open.
    pub names_are_unique: bool,
    /// Whether there is another account, where one costs a server of its own.
    pub has_other_account: bool,
}

/// When a new load balancer is done.
#[derive(Clone, Copy, Debug)]
pub enum Creation {
    /// After so much time.
    Takes(Duration),
    /// After so many reads that show it undone.
    Reads(usize),
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            creation: Creation::Takes(Duration::ZERO),
            lists_late_by: Duration::ZERO,
            names_are_unique: true,
            has_other_account: false,
        }
    }
}

/// A load balancer, in words that every cloud has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Built {
    /// Its id, as in a Service's memo.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it listens, in ascending order.
    pub ports: Vec<u16>,
    /// The machines that it forwards to, in ascending order.
    pub machines: Vec<u64>,
    /// The addresses that belong into its Service's status, in their order. None before it is done.
    pub addresses: Vec<String>,
    /// Whether it serves.
    pub serves: bool,
    /// The UID of the Service that the cloud names as its owner.
    pub owner: Option<String>,
}

/// The request of the Service that the vendor's controller has left behind.
#[derive(Clone, Copy, Debug)]
pub enum Left<'a> {
    /// Nothing but port 80.
    Plain,
    /// A name.
    Named(&'a str),
    /// A name, and a host in the place of addresses.
    Hosted(&'a str, &'a str),
}

/// The state that the vendor's controller has left.
#[derive(Clone, Debug)]
pub struct LeftBehind {
    /// The id of the load balancer.
    pub id: String,
    /// The annotations of the Service beside its author's.
    pub annotations: Value,
    /// The ingress in the Service's status.
    pub ingress: Value,
}

/// The UID of an object that the API server has stored.
pub(super) fn uid(service: &Service) -> &str {
    service.metadata.uid.as_deref().expect("a stored object has a UID")
}

/// The node port of the first port.
pub(super) fn node_port(service: &Service) -> u16 {
    let ports = service.spec.as_ref().and_then(|it| it.ports.as_ref());
    let port =
        ports.and_then(|it| it.first()?.node_port).expect("a stored Service of type LoadBalancer has node ports");
    u16::try_from(port).expect("ports are small")
}
