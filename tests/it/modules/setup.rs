//! A puller, and what it is pointed at.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use egress::{AllowedAddresses, EndpointLimits, Resolve};
use oci::{Artifact as Pulled, Cache, Image, ModuleSettings, OutsideWorld, PullError, Puller, SignedBy, TokenService};
use sha256::Digest;
use tests::capture::Capture;
use tests::folder::Folder;
use tests::registry::{Artifact, REPOSITORY, RealRegistry, Signer};

/// A module that no test looks into.
pub(crate) const MODULE: &[u8] = b"a module";

/// An operator's config, and where the test leads it.
pub(crate) struct Setup {
    pub(crate) folder: Folder,
    pub(crate) settings: ModuleSettings,
    pub(crate) outside: OutsideWorld,
    pub(crate) cache: Option<PathBuf>,
}

impl Setup {
    /// A module in a registry of the test's own.
    pub(crate) fn at(registry: &Capture, digest: &str) -> Self {
        let folder = Folder::new();
        let ca_file = folder.write("ca.pem", registry.ca());
        Self::new(folder, &registry.address().to_string(), ca_file, digest)
    }

    /// A module in a real registry.
    pub(crate) fn in_real(registry: &RealRegistry, digest: &str) -> Self {
        Self::new(Folder::new(), registry.address(), registry.ca_file(), digest)
    }

    /// A module in a registry of the test's own that serves HTTP.
    pub(crate) fn without_tls(registry: &Capture, digest: &str) -> Self {
        Self::with(Folder::new(), &registry.url(), None, digest)
    }

    fn new(folder: Folder, address: &str, ca_file: PathBuf, digest: &str) -> Self {
        Self::with(folder, address, Some(ca_file), digest)
    }

    fn with(folder: Folder, address: &str, ca_file: Option<PathBuf>, digest: &str) -> Self {
        let settings = ModuleSettings {
            image: Image::parse(&format!("{address}/{REPOSITORY}:1.2.0")).unwrap(),
            digest: Digest::parse(digest).unwrap(),
            previous: None,
            login: None,
            token_services: Vec::new(),
            addresses: AllowedAddresses::Public,
            ca_file,
            proxy: None,
            signed_by: None,
        };
        Self { folder, settings, outside: OutsideWorld::default(), cache: None }
    }

    /// With a login file in Docker's form for this registry.
    pub(crate) fn login(mut self, entry: &serde_json::Value) -> Self {
        let address = self.address();
        let text = serde_json::json!({ "auths": { address: entry } }).to_string();
        self.settings.login = Some(self.folder.write("login.json", text));
        self
    }

    /// With a user and a password.
    pub(crate) fn password(self, password: &str) -> Self {
        self.login(&serde_json::json!({ "username": "alice", "password": password }))
    }

    pub(crate) fn token_service(mut self, service: &Capture) -> Self {
        self.settings.token_services.push(TokenService::parse(&service.address().to_string()).unwrap());
        self.trust(service)
    }

    /// Trusts the authority of another server, too.
    pub(crate) fn trust(mut self, server: &Capture) -> Self {
        let path = self.settings.ca_file.take().unwrap();
        let text = format!("{}\n{}", std::fs::read_to_string(path).unwrap(), server.ca());
        self.settings.ca_file = Some(self.folder.write("all.pem", text));
        self
    }

    /// Signed by one of these.
    pub(crate) fn signed_by(mut self, signers: &[&Signer]) -> Self {
        let keys = signers.iter().enumerate();
        let keys = keys.map(|(nth, it)| self.folder.write(&format!("{nth}.pub"), it.public_key())).collect();
        self.settings.signed_by = Some(SignedBy { keys, name: None });
        self
    }

    pub(crate) fn cached(mut self) -> Self {
        self.cache = Some(self.folder.path("cache"));
        self
    }

    /// With limits that a test can wait for.
    pub(crate) fn impatient(mut self) -> Self {
        let short = Duration::from_secs(2);
        let limits = EndpointLimits { first_byte: short, idle: short, total: short * 3, ..EndpointLimits::default() };
        self.outside.limits = limits;
        self
    }

    /// Leads names to addresses, and these to servers.
    pub(crate) fn led(mut self) -> Self {
        self.outside.resolver = Some(Arc::new(Names));
        self.outside.route = route;
        self
    }

    /// The registry's host and port.
    pub(crate) fn address(&self) -> String {
        let image = self.settings.image.to_string();
        image.split('/').next().unwrap().to_owned()
    }

    /// The name under which the module is signed.
    pub(crate) fn name(&self) -> String {
        format!("{}/{REPOSITORY}", self.address())
    }

    pub(crate) async fn pull(&self) -> Result<Pulled, PullError> {
        let cache = match &self.cache {
            Some(folder) => Some(Cache::open(folder).await.unwrap()),
            None => None,
        };
        Puller::new(self.settings.clone(), self.outside.clone(), cache).pull().await
    }

    /// Pulls, which must work.
    pub(crate) async fn pulled(&self) -> Pulled {
        let pulled = self.pull().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Digest::of(&pulled.bytes), pulled.sha256);
        pulled
    }

    /// Pulls, which must be refused for good, for these reasons.
    pub(crate) async fn refused(&self, parts: &[&str]) {
        match self.pull().await {
            Err(PullError::Refused(text)) => says(&text, parts),
            other => panic!("{other:?}"),
        }
    }

    /// Pulls, which must fail in a way that may be over later, for these reasons.
    pub(crate) async fn unavailable(&self, parts: &[&str]) {
        match self.pull().await {
            Err(PullError::Unavailable(text)) => says(&text, parts),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) use tests::operator::says;

/// The artifact of most tests.
pub(crate) fn artifact() -> Artifact {
    Artifact::new(MODULE)
}

/// Where the paths of all requests lead to.
pub(crate) fn paths(server: &Capture) -> Vec<String> {
    let target = |it: &tests::capture::Request| it.text().split(' ').nth(1).unwrap_or_default().to_owned();
    server.requests().iter().map(target).collect()
}

/// The names of tests and where they lead: a static one, because a route is a function.
static LEADS: OnceLock<Mutex<HashMap<IpAddr, SocketAddr>>> = OnceLock::new();

/// Leads an address to a server.
pub(crate) fn lead(address: &str, server: SocketAddr) {
    LEADS.get_or_init(Mutex::default).lock().unwrap().insert(address.parse().unwrap(), server);
}

fn route(address: SocketAddr) -> SocketAddr {
    LEADS.get_or_init(Mutex::default).lock().unwrap().get(&address.ip()).copied().unwrap_or(address)
}

/// `1-0-0-57.example.com` is at 1.0.0.57.
struct Names;

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        let first = host.split('.').next().unwrap_or_default().replace('-', ".");
        first.parse().map(|it| vec![it]).map_err(|_| std::io::Error::other("no such name"))
    }
}
