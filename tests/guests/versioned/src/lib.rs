//! A provider of which a test makes as many versions as it needs, out of one build: what a version is like stands in its
//! bytes, where `tests::versioned` writes other words.
//!
//! | word | makes it |
//! | --- | --- |
//! | `version=1.1.0` | that version |
//! | `name=other` | another provider |
//! | `account=b` | say that the credential belongs to that account; `%20` stands for a space |
//! | `setting=zone` | need that setting |
//! | `endpoint=files` | need that endpoint, too |
//! | `grown` | need a request more |
//! | `sizes` | remember a size in its memos, which versions without the word keep as they find it |
//! | `fragile` | crash over whatever answer of the cloud says that it is new |
//! | `pause=3` | come back after so many seconds to a balancer that is being built, and not after half a second |
//!
//! A balancer bears the name of its Service. It is looked for before one is made, so that a memo may be lost.

use std::hint::black_box;
use std::time::Duration;

use aerostat_sdk::{
    Deletion, Description, Endpoint, Error, Ingress, Instance, Instances, LoadBalancer, LoadBalancerStatus,
    LoadBalancers, Method, Node, Page, Progress, Provider, Result, Setting, http, provider_id,
};
use serde::Deserialize;
use serde_json::json;

const API: &str = "api";
const PREFIX: &str = "versioned://";

/// The properties of this version: words after the mark, as many bytes as there are.
static LIKE: [u8; 256] = *b"like this:version=1.0.0                                                                                                                                                                                                                                         ";

struct Versioned;

aerostat_sdk::export!(Versioned: Provider, Instances, LoadBalancers);

/// Whether this version has a word.
fn is(word: &str) -> bool {
    words().any(|it| it == word)
}

/// The text after a word and `=`.
fn value(word: &str) -> Option<&'static str> {
    words().find_map(|it| it.strip_prefix(word)?.strip_prefix('='))
}

fn words() -> impl Iterator<Item = &'static str> {
    // The compiler must not know the words: a test writes others into the module.
    let like: &'static [u8; 256] = black_box(&LIKE);
    let words = std::str::from_utf8(like).unwrap_or_default().split_once(':').map_or("", |it| it.1);
    words.split_ascii_whitespace()
}

impl Provider for Versioned {
    fn describe() -> Result<Description> {
        let mut api = Endpoint::new(API, "machines and balancers", "https://api.versioned.example")
            .allow([Method::Get], ["/account", "/machines", "/machines/*", "/balancers", "/balancers/*"], [])
            .allow([Method::Post], ["/balancers"], [])
            .allow([Method::Delete], ["/balancers/*"], []);
        if is("grown") {
            api = api.allow([Method::Post], ["/firewalls"], []).fields(["name"]);
        }
        let (name, version) = (value("name").unwrap_or("versioned"), value("version").unwrap_or_default());
        let mut description =
            Description::new(name, version).provider_id_prefix(PREFIX).endpoint(api).load_balancers_share_addresses();
        if let Some(name) = value("setting") {
            description = description.setting(Setting::required(name, "where to look"));
        }
        if let Some(name) = value("endpoint") {
            description =
                description.endpoint(Endpoint::new(name, "what else there is", "https://files.versioned.example"));
        }
        Ok(description)
    }

    fn identity() -> Result<Option<String>> {
        let account: Account = http::get(API, ["account"]).send()?.json()?;
        survive(account.is_new);
        Ok(Some(value("account").map_or(account.account, |it| it.replace("%20", " "))))
    }
}

impl Instances for Versioned {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let machine: Option<Machine> = http::get(API, ["machines", &node.name]).find()?;
        machine.iter().for_each(|it| survive(it.is_new));
        Ok(machine.map(Instance::from))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let request = http::get(API, ["machines"]).query("after", cursor.unwrap_or_default()).query("limit", limit);
        let Machines { machines, next } = request.send()?.json()?;
        machines.iter().for_each(|it| survive(it.is_new));
        Ok(Page::new(machines.into_iter().map(Instance::from).collect(), next))
    }
}

impl LoadBalancers for Versioned {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let Some(memo) = desired.memo.as_deref().map(Memo::parse).transpose()? else {
            let service = &desired.owner.name;
            let balancer = match find(service)? {
                Some(balancer) => balancer,
                None => http::post(API, ["balancers"]).json(&json!({ "service": service })).send()?.json()?,
            };
            survive(balancer.is_new);
            return Ok(pending(&Memo { id: balancer.id, rest: Vec::new() }));
        };
        let balancer: Balancer = http::get(API, ["balancers", &memo.id]).send()?.json()?;
        survive(balancer.is_new);
        Ok(match balancer.ip {
            Some(ip) => Progress::Ready(LoadBalancerStatus::new([Ingress::ip(ip)]).memo(memo.to_text())),
            None => pending(&memo),
        })
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let id = match unwanted.memo.as_deref().map(Memo::parse).transpose()? {
            Some(memo) => Some(memo.id),
            None => find(&unwanted.owner.name)?.map(|it| it.id),
        };
        if let Some(id) = id {
            http::delete(API, ["balancers", &id]).send_or_gone()?;
        }
        Ok(Deletion::Done)
    }
}

/// The balancer of a Service, if there is one.
fn find(service: &str) -> Result<Option<Balancer>> {
    let found: Vec<Balancer> = http::get(API, ["balancers"]).query("service", service).send()?.json()?;
    Ok(found.into_iter().next())
}

fn pending(memo: &Memo) -> Progress {
    let status = LoadBalancerStatus::new([]).memo(memo.to_text());
    let seconds = value("pause").and_then(|it| it.parse().ok());
    let pause = seconds.map_or(Duration::from_millis(500), Duration::from_secs);
    Progress::pending(status, pause, "the cloud builds the balancer")
}

/// Panics over what is new, in a version that cannot read it.
fn survive(is_new: bool) {
    assert!(!(is_new && is("fragile")), "this version cannot read what is new");
}

/// `id=lb-1`, and what other versions have noted: `id=lb-1 size=small`.
struct Memo {
    id: String,
    rest: Vec<String>,
}

impl Memo {
    fn parse(text: &str) -> Result<Self> {
        let (ids, rest): (Vec<&str>, Vec<&str>) = text.split(' ').partition(|it| it.starts_with("id="));
        let [id] = ids.as_slice() else { return Err(Error::invalid(format_args!("{text:?} is no memo of ours"))) };
        Ok(Self { id: id["id=".len()..].to_owned(), rest: rest.into_iter().map(str::to_owned).collect() })
    }

    fn to_text(&self) -> String {
        let mut words = vec![format!("id={}", self.id)];
        words.extend(self.rest.iter().cloned());
        if is("sizes") && !self.rest.iter().any(|it| it.starts_with("size=")) {
            words.push("size=small".to_owned());
        }
        words.join(" ")
    }
}

impl From<Machine> for Instance {
    fn from(machine: Machine) -> Self {
        Self::new(&machine.name, provider_id::join(PREFIX, &machine.name))
    }
}

#[derive(Deserialize)]
struct Account {
    account: String,
    #[serde(default, rename = "new")]
    is_new: bool,
}

#[derive(Deserialize)]
struct Machines {
    machines: Vec<Machine>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Machine {
    name: String,
    #[serde(default, rename = "new")]
    is_new: bool,
}

#[derive(Deserialize)]
struct Balancer {
    id: String,
    ip: Option<String>,
    #[serde(default, rename = "new")]
    is_new: bool,
}
