//! A simulated Robot: the web service for the owner's dedicated servers. It has an address and a password of its own.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::simulator::{self, Answer, Cloud, Description, Gaps, Quota, Recorded};

pub use crate::simulator::{Authorization, Fault, Limits};

/// The limit of lists: 200 an hour. The simulator counts every request.
pub const LIMITS: Limits = Limits::Windows { per_hour: 200, per_minute: 200 };

/// The manual's text, as a description. `tests/api/README.md` says where it is from.
const WRITTEN: &str = include_str!("../../../api/hetzner-robot.json");

/// A running simulator of the Robot.
pub type Simulator = simulator::Simulator<Robot>;

/// A dedicated server. What a test does not set is as it is for most of them.
#[derive(Clone, Debug)]
pub struct Dedicated {
    /// Unique in the whole service.
    pub number: u64,
    /// The owner's name for it: not unique, and empty at the start.
    pub name: String,
    /// The main address, if it has one.
    pub ip: Option<Ipv4Addr>,
    /// The first address of its network of 64 bits.
    pub ipv6: Ipv6Addr,
    /// For example `AX41-NVMe`.
    pub product: String,
    /// For example `FSN1-DC14`.
    pub data_centre: String,
    /// Whether it has been given back.
    pub cancelled: bool,
    /// The service's word on its power: `running`, `shut off` or `not supported`.
    pub power: &'static str,
    /// Whether lists show it.
    pub listed: bool,
}

impl Dedicated {
    /// A running server in `FSN1-DC14`, with addresses made from its number.
    #[must_use]
    pub fn new(number: u64, name: &str) -> Dedicated {
        let [.., high, low] = number.to_be_bytes();
        Dedicated {
            number,
            name: name.to_owned(),
            // Of the range set aside for benchmarks, where the cloud's servers have other ones.
            ip: Some(Ipv4Addr::new(198, 19, 128 | high, low)),
            ipv6: Ipv6Addr::new(0x2001, 0xdb8, 0xd000, u16::from_be_bytes([high, low]), 0, 0, 0, 0),
            product: "AX41-NVMe".to_owned(),
            data_centre: "FSN1-DC14".to_owned(),
            cancelled: false,
            power: "running",
            listed: true,
        }
    }

    /// The fields that every answer about it has.
    fn fields(&self) -> Value {
        json!({
            "server_ip": self.ip,
            "server_ipv6_net": self.ipv6,
            "server_number": self.number,
        })
    }

    /// The object as lists show it.
    fn object(&self) -> Value {
        let mut object = self.fields();
        let further = json!({
            "server_name": self.name,
            "product": self.product,
            "dc": self.data_centre,
            "traffic": "unlimited",
            "status": "ready",
            "cancelled": self.cancelled,
            "paid_until": "2027-01-01",
            "ip": self.ip.iter().collect::<Vec<_>>(),
            "subnet": [{ "ip": self.ipv6, "mask": "64" }],
        });
        extend(&mut object, &further);
        object
    }
}

/// The owner's dedicated servers by number. Tests change them at any time; the next answer shows it.
#[derive(Debug, Default)]
pub struct Robot {
    servers: Mutex<BTreeMap<u64, Dedicated>>,
}

impl Cloud for Robot {
    const NAME: &'static str = "Robot";
    const HOSTS: &'static [&'static str] = &["robot-ws.your-server.de"];
    const LIMITS: Limits = LIMITS;

    fn description() -> Option<&'static Description> {
        static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(WRITTEN, Gaps::default()));
        Some(&DESCRIPTION)
    }

    /// The token is a user and a password with a colon between.
    fn authorization(token: &str) -> String {
        format!("Basic {}", STANDARD.encode(token))
    }

    fn act(&self, request: &Recorded) -> Answer {
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        match (&request.method, path.as_slice()) {
            (&Method::GET, ["server"]) => self.list(),
            (&Method::GET, ["server", key]) => self.one(key),
            (&Method::GET, ["reset", key]) => self.reset(key),
            _ => Robot::error(StatusCode::NOT_FOUND),
        }
    }

    fn error(status: StatusCode) -> Answer {
        match status {
            StatusCode::UNAUTHORIZED => error(401, "UNAUTHORIZED", "Unauthorized"),
            StatusCode::NOT_FOUND => error(404, "SERVER_NOT_FOUND", "server not found"),
            // So the service says it.
            StatusCode::TOO_MANY_REQUESTS => error(403, "RATE_LIMIT_EXCEEDED", "rate limit exceeded"),
            StatusCode::FORBIDDEN => error(403, "FORBIDDEN", "forbidden"),
            status if status.is_server_error() => error(status.as_u16(), "INTERNAL_ERROR", "internal error"),
            status => error(status.as_u16(), "INVALID_INPUT", "invalid input"),
        }
    }

    fn empty_list(_: &Recorded) -> Answer {
        error(404, "SERVER_NOT_FOUND", "no server found")
    }

    /// The service says nothing about its limits.
    fn show_quota(_: &mut Answer, _: &Quota) {}
}

impl Robot {
    /// Adds a server, in the place of one with the same number.
    pub fn insert(&self, server: Dedicated) {
        self.lock().insert(server.number, server);
    }

    /// Takes a server away.
    pub fn remove(&self, number: u64) -> Option<Dedicated> {
        self.lock().remove(&number)
    }

    /// Changes a server.
    ///
    /// # Panics
    ///
    /// Panics if there is none with this number.
    pub fn update(&self, number: u64, change: impl FnOnce(&mut Dedicated)) {
        change(self.lock().get_mut(&number).unwrap_or_else(|| panic!("there is no dedicated server {number}")));
    }

    /// `GET /server`: 404 where there is none.
    fn list(&self) -> Answer {
        let servers = self.lock();
        let shown = servers.values().filter(|it| it.listed).map(|it| json!({ "server": it.object() }));
        let shown = Vec::from_iter(shown);
        if shown.is_empty() {
            return error(404, "SERVER_NOT_FOUND", "no server found");
        }
        Answer::ok(&Value::Array(shown))
    }

    /// `GET /server/{number or address}`.
    fn one(&self, key: &str) -> Answer {
        self.found(key, |server| {
            let mut object = server.object();
            let features = ["reset", "rescue", "vnc", "windows", "plesk", "cpanel", "wol", "hot_swap"];
            extend(&mut object, &Value::Object(features.map(|it| (it.to_owned(), json!(true))).into_iter().collect()));
            json!({ "server": object })
        })
    }

    /// `GET /reset/{number or address}`.
    fn reset(&self, key: &str) -> Answer {
        self.found(key, |server| {
            let mut object = server.fields();
            extend(&mut object, &json!({ "type": ["hw", "sw"], "operating_status": server.power }));
            json!({ "reset": object })
        })
    }

    fn found(&self, key: &str, show: impl FnOnce(&Dedicated) -> Value) -> Answer {
        let servers = self.lock();
        let named = |it: &&Dedicated| it.number.to_string() == key || it.ip.is_some_and(|ip| ip.to_string() == key);
        match servers.values().find(named) {
            Some(server) => Answer::ok(&show(server)),
            None => Robot::error(StatusCode::NOT_FOUND),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Dedicated>> {
        // A test that panics inside `update` has failed already.
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of a simulator of the Robot at the start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The user that is accepted.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// How late every answer is.
    pub latency: Duration,
    /// The limits on requests. Absent: there are none.
    pub limits: Option<Limits>,
    /// Whether requests and answers are checked. Only a measurement may do without.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            user: "#ws+simulated".to_owned(),
            password: "password-of-the-simulated-robot".to_owned(),
            latency: Duration::ZERO,
            limits: None,
            checked: true,
        }
    }
}

impl Simulator {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let Options { user, password, latency, limits, checked } = options;
        let options = simulator::Options { token: format!("{user}:{password}"), latency, limits, checked };
        Simulator::serve(options, Robot::default(), Robot::default()).await
    }

    /// The owner's servers.
    #[must_use]
    pub fn servers(&self) -> &Robot {
        self.account()
    }
}

fn error(status: u16, code: &str, message: &str) -> Answer {
    let error = json!({ "error": { "status": status, "code": code, "message": message } });
    Answer::json(StatusCode::from_u16(status).expect("the simulator's statuses are statuses"), &error)
}

fn extend(object: &mut Value, further: &Value) {
    for (name, value) in further.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_description_can_be_checked() {
        Robot::description().unwrap().compile();
    }
}
