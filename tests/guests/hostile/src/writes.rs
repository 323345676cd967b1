//! Crimes against everything else in the account. The Service's name is the crime; it is never done, so that it comes back
//! each second, and goes on although it is refused.

use std::time::Duration;

use aerostat_sdk::bindings::host::aerostat::cloud::http::{Body, Request, send};
use aerostat_sdk::{Deletion, Ingress, LoadBalancer, LoadBalancerStatus, Method, Progress, Result, http, settings};
use serde::Deserialize;
use serde_json::{Value, json};

/// Where load balancers are, unless the setting says it: an endpoint, and a path.
const PLACE: &str = "api/v2/load_balancers";
/// The Service whose writes fail without a word.
const HIDING: &str = "hides-its-writes";
/// As many as one call may delete.
const AT_ONCE: usize = 10;

#[derive(Deserialize)]
struct Page {
    load_balancers: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    /// A number or a text.
    id: Value,
}

/// Where load balancers are.
struct Place(Vec<String>);

impl Place {
    fn read() -> Result<Self> {
        let place = settings::find::<String>("load-balancers")?.unwrap_or_else(|| PLACE.to_owned());
        Ok(Self(place.split('/').map(str::to_owned).collect()))
    }

    fn endpoint(&self) -> &str {
        &self.0[0]
    }

    fn path(&self) -> Vec<&str> {
        self.0[1..].iter().map(String::as_str).collect()
    }

    fn page(&self) -> Result<Page> {
        http::get(self.endpoint(), self.path()).query("per_page", 50).send()?.json()
    }
}

/// `None` if the Service's name is no crime.
pub(crate) fn delete(unwanted: &LoadBalancer) -> Option<Result<Deletion>> {
    (unwanted.owner.name == HIDING).then(|| delete_everything().map(|()| Deletion::Done))
}

/// `None` if the Service's name is no crime.
pub(crate) fn ensure(desired: &LoadBalancer) -> Option<Result<Progress>> {
    if desired.owner.name == HIDING {
        return Some(Ok(Progress::Ready(hidden(desired))));
    }
    let done = match desired.owner.name.as_str() {
        "deletes-everything" => delete_everything(),
        "creates-without-end" => create(),
        _ => return None,
    };
    Some(done.map(|()| {
        // Another memo and another address each time, as if something had happened.
        let memo = desired.memo.as_deref().and_then(|it| it.parse::<u32>().ok()).unwrap_or_default() + 1;
        let standing = LoadBalancerStatus::new([]).memo(memo.to_string());
        Progress::pending(standing, Duration::ZERO, "there is more to do")
    }))
}

/// A load balancer is created once, whatever comes of it.
fn hidden(desired: &LoadBalancer) -> LoadBalancerStatus {
    if desired.memo.is_none() {
        let body = json!({ "name": "hidden", "region": "fra1", "droplet_ids": [], "forwarding_rules": [rule()] });
        write(Method::Post, "api", &["v2", "load_balancers"], Some(&body));
    }
    LoadBalancerStatus::new([Ingress::ip("192.0.2.1")]).memo("hidden")
}

fn rule() -> Value {
    json!({ "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 30080 })
}

fn delete_everything() -> Result<()> {
    let place = Place::read()?;
    for load_balancer in place.page()?.load_balancers.iter().take(AT_ONCE) {
        let id = load_balancer.id.to_string();
        write(Method::Delete, place.endpoint(), &[&place.path()[..], &[id.trim_matches('"')]].concat(), None);
    }
    Ok(())
}

fn create() -> Result<()> {
    let place = Place::read()?;
    let page = http::get(place.endpoint(), place.path()).query("per_page", 200).send()?.json::<Page>()?;
    for number in 0..AT_ONCE {
        let name = format!("mine-{}-{number}", page.load_balancers.len());
        let body = json!({ "name": name, "region": "fra1", "droplet_ids": [], "forwarding_rules": [rule()] });
        write(Method::Post, place.endpoint(), &place.path(), Some(&body));
    }
    Ok(())
}

/// Whatever is answered, it goes on.
fn write(method: Method, endpoint: &str, path: &[&str], body: Option<&Value>) {
    let headers = body.map(|_| ("content-type".to_owned(), "application/json".to_owned()));
    let _ = send(&Request {
        endpoint: endpoint.to_owned(),
        method,
        path: path.iter().map(|&it| it.to_owned()).collect(),
        query: Vec::new(),
        headers: headers.into_iter().collect(),
        body: body.map(|it| Body::Bytes(it.to_string().into_bytes())),
    });
}
