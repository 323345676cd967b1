//! A provider for a cloud that gives ids itself: a POST creates, what takes time is an action that is polled, and tags end at 50
//! characters.

use std::collections::BTreeMap;

use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::form::Span;
use aerostat_sdk::http::{Client, NumberedPages, PageEnd, Response};
use aerostat_sdk::{Address, Change, Deletion, Description, Effect, Endpoint, Error, Ingress, Instance, Instances};
use aerostat_sdk::{LoadBalancer, LoadBalancers, Method, Node, Page, Position, Progress, Protocol, Provider, Result};
use aerostat_sdk::{State, provider_id, settings};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const PREFIX: &str = "acme-async://";
const API: Client<'_> = Client::new("api");
/// `{ "data": […], "page": 1, "pages": 2 }`, and no page of less than five.
const PAGES: NumberedPages<'_> = NumberedPages {
    smallest: 5,
    largest: 100,
    size: "page_size",
    next: &["pages"],
    end: PageEnd::Pages,
    ..NumberedPages::USUAL
};

/// The cloud's words for it, which has no code.
const LABEL_TAKEN: &str = "the label is taken";

const SECOND: Duration = Duration::from_secs(1);

aerostat_sdk::table! {
    /// The settings.
    const SETTINGS;
    POLL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How often a balancer is read that is being built.").default("5s");
    CREATE_AGAIN: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "How long a balancer is looked for whose creation was not answered, before it is created again.").default("1m");
}

/// The provider.
pub struct AcmeAsync;

aerostat_sdk::export!(AcmeAsync: Provider, Instances, LoadBalancers);

impl Provider for AcmeAsync {
    fn describe() -> Result<Description> {
        let api = Endpoint::new("api", "machines and balancers", "https://async.acme.example/v1")
            .allow([Method::Get], ["/machines", "/machines/*", "/balancers", "/balancers/*", "/actions/*"], ["read"])
            .allow([Method::Post], ["/balancers"], ["balancers:write"])
            .allow_as(Effect::Detach, [Method::Post], ["/balancers/*/update"], ["balancers:write"])
            .allow([Method::Delete], ["/balancers/*"], ["balancers:write"]);
        let described =
            Description::new("acme-async", "1.0.0").provider_id_prefix(PREFIX).list_page_size(PAGES.largest);
        Ok(described.endpoint(api).settings(SETTINGS))
    }
}

impl Instances for AcmeAsync {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let machine: Option<AsyncMachine> = match &node.provider_id {
            Some(id) => API.get(["machines", provider_id::split(PREFIX, id)?]).find()?,
            None => PAGES
                .all(&API.get(["machines"]).query("label", &node.name), "data")?
                .into_iter()
                .find(|it: &AsyncMachine| it.label == node.name),
        };
        Ok(machine.map(Instance::from))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let at = Position::parse(cursor, &["machines"], limit)?;
        let page = PAGES.page(API.get([at.list]), "data", at.page, limit)?;
        let instances = page.items.into_iter().map(|it: AsyncMachine| Instance::from(it)).collect();
        Ok(Page::new(instances, at.next(page.is_last)))
    }
}

impl LoadBalancers for AcmeAsync {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        backend::ensure(&AsyncCall::about(desired)?)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        backend::delete(&AsyncCall::about(unwanted)?)
    }
}

/// One call about one Service.
struct AsyncCall<'a> {
    service: &'a LoadBalancer,
    /// The tag that proves whose a balancer is.
    mark: String,
    pauses: Pauses,
}

impl<'a> AsyncCall<'a> {
    fn about(service: &'a LoadBalancer) -> Result<Self> {
        let mark = service.owner.mark()?.short()?.to_string();
        let pauses = Pauses { poll: settings::get(&POLL)?, create_again: settings::get(&CREATE_AGAIN)? };
        Ok(Self { service, mark, pauses })
    }
}

impl Backend for AsyncCall<'_> {
    type Live = AsyncBalancer;

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        text.strip_prefix("lb-").is_some_and(|it| it.parse::<u64>().is_ok())
    }

    fn pauses(&self) -> Pauses {
        self.pauses
    }

    fn list(&self) -> Result<Vec<Found>> {
        let all: Vec<AsyncBalancer> = PAGES.all(&API.get(["balancers"]), "data")?;
        Ok(all.iter().map(|it| self.found(it)).collect())
    }

    fn find(&self, id: &str) -> Result<Option<AsyncBalancer>> {
        API.get(["balancers", id]).find()
    }

    fn found(&self, live: &AsyncBalancer) -> Found {
        Found::new(&live.id, &live.label, live.tags.contains(&self.mark))
    }

    fn can_create(&self) -> Result<()> {
        AsyncSpec::of(self.service).map(drop)
    }

    fn create(&self, _listed: &[Found]) -> Result<Creation> {
        let body =
            NewAsyncBalancer { label: &self.service.name, tags: [&self.mark], spec: AsyncSpec::of(self.service)? };
        // No two balancers have one label: what an earlier process has made before it died is not made twice, also while no list
        // shows it.
        let is_taken = |response: &Response| response.says(LABEL_TAKEN);
        API.post(["balancers"])
            .json(&body)
            .create_unless(is_taken, |response| Ok(self.found(&response.json::<AcceptedCreation>()?.balancer)))
    }

    fn update(&self, live: &AsyncBalancer) -> Result<Update> {
        if let Some(action) = &live.action
            && let Some(running) = PolledAction::running(action)?
        {
            return Ok(if live.ip.is_none() { Update::Building } else { Update::Busy(running) });
        }
        let Some(ip) = &live.ip else { return Ok(Update::Building) };
        let spec = AsyncSpec::of(self.service)?;
        if live.spec == spec {
            return Ok(Update::Done(vec![Ingress::ip(ip)]));
        }
        Ok(Update::Busy(match API.post(["balancers", &live.id, "update"]).json(&spec).change()? {
            Change::Done(_) => "the cloud changes ports and machines".to_owned(),
            Change::Busy(why) => why,
        }))
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        // AcceptedCreation is not gone: the next call looks.
        if self.find(id)?.is_none() {
            return Ok(Removal::Gone);
        }
        Ok(Removal::Busy(match API.delete(["balancers", id]).change()? {
            Change::Done(_) => format!("the cloud deletes balancer {id}"),
            Change::Busy(why) => why,
        }))
    }
}

impl AsyncSpec {
    fn of(service: &LoadBalancer) -> Result<Self> {
        service.allow_protocols(&[Protocol::Tcp])?;
        let port = |it: &aerostat_sdk::Port| Ok((it.port, it.required_node_port()?));
        let id = |node: &Node| {
            let id = node.provider_id.as_deref().unwrap_or_default();
            provider_id::split(PREFIX, id).map(str::to_owned)
        };
        let mut machines = service.nodes.iter().map(id).collect::<Result<Vec<_>>>()?;
        machines.sort();
        Ok(Self { ports: service.ports.iter().map(port).collect::<Result<_>>()?, machines })
    }
}

impl PolledAction {
    /// The sentence about one that is not done yet.
    fn running(id: &str) -> Result<Option<String>> {
        let action: Self = API.get(["actions", id]).send()?.json()?;
        match &*action.status {
            "running" => Ok(Some(format!("{id} of the cloud is running"))),
            "success" => Ok(None),
            other => Err(Error::unavailable(format_args!("{id} of the cloud ended as {other}"))),
        }
    }
}

impl From<AsyncMachine> for Instance {
    fn from(machine: AsyncMachine) -> Self {
        Self::new(&machine.label, provider_id::join(PREFIX, &machine.id))
            .state(if machine.status == "running" { State::Running } else { State::Stopped })
            .machine_type("standard")
            .zone("north-1")
            .addresses([Address::hostname(machine.label), Address::internal_ip(machine.ip)])
    }
}

#[derive(Deserialize)]
struct AsyncMachine {
    id: String,
    label: String,
    status: String,
    ip: String,
}

#[derive(Deserialize)]
struct AsyncBalancer {
    id: String,
    label: String,
    tags: Vec<String>,
    ip: Option<String>,
    /// The last action on it.
    action: Option<String>,
    spec: AsyncSpec,
}

#[derive(Deserialize)]
struct AcceptedCreation {
    balancer: AsyncBalancer,
}

#[derive(Deserialize)]
struct PolledAction {
    status: String,
}

#[derive(Serialize)]
struct NewAsyncBalancer<'a> {
    label: &'a str,
    tags: [&'a str; 1],
    spec: AsyncSpec,
}

#[derive(Deserialize, PartialEq, Serialize)]
struct AsyncSpec {
    /// From the balancer's port to the machines' port.
    ports: BTreeMap<u16, u16>,
    /// Their ids, sorted.
    machines: Vec<String>,
}
