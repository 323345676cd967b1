//! Load balancers of Services, one step a call: by their state, and by the actions that they offer.

use std::time::Duration;

use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::form::Span;
use aerostat_sdk::{Change, Deletion, Error, ExternalTrafficPolicy, Ingress, LoadBalancer, LoadBalancers};
use aerostat_sdk::{Port, Progress, Protocol, Result, SortedSet, settings};
use serde_json::{Value, json};

use crate::api::{API, CattleResource, NAME_TAKEN, act, all, busy, has_code};
use crate::provider::Rancher;

const SECOND: Duration = Duration::from_secs(1);
const COLLECTION: &str = "loadbalancerservices";
/// The name of the stack in which load balancers are, as Rancher's own controller called it.
const STACK: &str = "kubernetes-loadbalancers";
/// The name of Rancher's setting that says which image balances load.
const IMAGE: &str = "lb.instance.image";

aerostat_sdk::table! {
    /// The settings.
    pub(crate) const SETTINGS;
    POLL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How often a load balancer is read that is being built.").default("5s");
    CREATE_AGAIN: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "How long a load balancer is looked for whose creation was not answered, before it is created again.")
        .default("1m");
}

impl LoadBalancers for Rancher {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        backend::ensure(&Call::about(desired)?)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let call = Call::about(unwanted)?;
        if let Some(bare) = call.find_bare()? {
            let stays = !bare.offers("remove") && bare.state != "removing";
            let status = if stays { unwanted.status() } else { backend::lost(unwanted) };
            return Ok(Deletion::pending(status, SECOND, bare.delete(COLLECTION)?));
        }
        Ok(match backend::delete(&call)? {
            pending @ Deletion::Pending(_) => pending,
            // Its name and mark find it, also where the load balancer is gone or another's.
            ended => match call.delete_target(None)? {
                Change::Done(()) => ended,
                Change::Busy(why) => Deletion::pending(unwanted.status(), call.change_pause(), why),
            },
        })
    }
}

/// One call about one Service.
pub(crate) struct Call<'a> {
    pub(crate) service: &'a LoadBalancer,
    /// The external id that proves whose something is.
    pub(crate) mark: String,
    pauses: Pauses,
}

impl<'a> Call<'a> {
    fn about(service: &'a LoadBalancer) -> Result<Self> {
        let pauses = Pauses { poll: settings::get(&POLL)?, create_again: settings::get(&CREATE_AGAIN)? };
        Ok(Self { service, mark: service.owner.mark()?.to_string(), pauses })
    }

    /// The load balancer, by its id, if it leads to no external service and no list shows one. There may be one: lists are late.
    fn find_bare(&self) -> Result<Option<CattleResource>> {
        let Some(id) = self.service.memo.as_deref().filter(|it| self.is_id(it)) else { return Ok(None) };
        let bare = self.find(id)?.filter(|it| it.has_mark(&self.mark) && it.lb_config["portRules"][0].is_null());
        Ok(if bare.is_some() && self.find_target()?.is_none() { bare } else { None })
    }

    /// The name that Rancher's own controller gave: it holds the Service's UID.
    fn name(&self) -> String {
        format!("lb-{}", self.service.name)
    }

    /// Refuses what Rancher cannot do, rather than do something else.
    fn check(&self) -> Result<()> {
        let it = self.service;
        it.allow_protocols(&[Protocol::Tcp])?;
        let refused = [
            (it.load_balancer_ip.is_some(), "loadBalancerIP"),
            (it.client_ip_affinity_seconds.is_some(), "sessionAffinity ClientIP"),
            (it.source_ranges.iter().any(|it| it != "0.0.0.0/0"), "loadBalancerSourceRanges"),
            (it.external_traffic_policy != ExternalTrafficPolicy::Cluster, "externalTrafficPolicy Local"),
        ];
        match refused.iter().find(|(is_asked, _)| *is_asked) {
            Some((_, what)) => Err(Error::invalid(format_args!("Rancher 1.x has no {what}: remove it"))),
            None => it.ports.iter().try_for_each(|it| it.required_node_port().map(drop)),
        }
    }

    /// The published ports: `80:80/tcp`.
    fn ports(&self) -> Vec<String> {
        self.service.ports.iter().map(|it| format!("{0}:{0}/tcp", it.port)).collect()
    }

    /// One step: the reason to come again, or nothing is left to do.
    fn step(&self, live: &CattleResource) -> Result<Option<String>> {
        self.check()?;
        let (id, path) = (&*live.id, [COLLECTION, &*live.id]);
        if live.offers("finishupgrade") {
            return act(path, "finishupgrade", None).map(Some);
        }
        let published = live.launch_config["ports"].as_array().into_iter().flatten();
        let published: SortedSet<_> = published.map(|it| it.as_str().unwrap_or_default().to_owned()).collect();
        let has_ports = published == self.ports().into_iter().collect();
        if !has_ports && live.offers("upgrade") {
            // Its containers are made again where they were: it keeps its addresses.
            let mut config = live.launch_config.clone();
            config["ports"] = json!(self.ports());
            return act(path, "upgrade", Some(json!({ "inServiceStrategy": { "launchConfig": config } }))).map(Some);
        }
        let target = match self.target(live)? {
            Change::Done(id) => id,
            Change::Busy(why) => return Ok(Some(why)),
        };
        let of = |it: &Port| rule([json!(it.port), json!(it.node_port), json!(target), json!("tcp")]);
        let rules: Vec<_> = self.service.ports.iter().map(of).collect();
        let fields = |it: &Value| rule(RULE.map(|name| it[name].clone()));
        let shown = live.lb_config["portRules"].as_array().into_iter().flatten().map(fields);
        if shown.map(|it| it.to_string()).collect::<SortedSet<_>>() != rules.iter().map(Value::to_string).collect() {
            let linked: Vec<CattleResource> = all(&API.get([COLLECTION, id, "consumedservices"]))?;
            if !linked.iter().any(|it| it.id == target) {
                let ids = linked.iter().map(|it| &it.id).chain([&target]);
                let links: Vec<_> = ids.map(|it| json!({ "serviceId": it })).collect();
                return act(path, "setservicelinks", Some(json!({ "serviceLinks": links }))).map(Some);
            }
            let mut config = if live.lb_config.is_object() { live.lb_config.clone() } else { json!({}) };
            config["portRules"] = json!(rules);
            let written = API.put(path).json(&json!({ "lbConfig": config })).change()?;
            return Ok(Some(busy(written, format_args!("Rancher writes the rules of {id}"))));
        }
        if live.offers("activate") {
            return act(path, "activate", None).map(Some);
        }
        Ok((!has_ports).then(|| format!("{id} is {}, in which its ports cannot change", live.state)))
    }
}

impl Backend for Call<'_> {
    type Live = CattleResource;

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        text.strip_prefix("1s").is_some_and(|it| it.parse::<u64>().is_ok())
    }

    fn pauses(&self) -> Pauses {
        self.pauses
    }

    fn list(&self) -> Result<Vec<Found>> {
        let all: Vec<CattleResource> = all(&API.get([COLLECTION]).query("name", self.name()))?;
        Ok(all.iter().filter(|it| !it.is_removed()).map(|it| self.found(it)).collect())
    }

    fn find(&self, id: &str) -> Result<Option<CattleResource>> {
        Ok(API.get([COLLECTION, id]).find()?.filter(|it: &CattleResource| !it.is_removed()))
    }

    fn found(&self, live: &CattleResource) -> Found {
        Found::new(&live.id, live.name.as_deref().unwrap_or_default(), live.has_mark(&self.mark))
    }

    fn can_create(&self) -> Result<()> {
        self.check()
    }

    fn create(&self, _listed: &[Found]) -> Result<Creation> {
        let stacks: Vec<CattleResource> = all(&API.get(["stacks"]).query("name", STACK))?;
        let Some(stack) = stacks.into_iter().find(|it| it.name.as_deref() == Some(STACK)) else {
            let body = json!({ "name": STACK, "externalId": format!("{STACK}://") });
            let made = API.post(["stacks"]).json(&body).change()?;
            return Ok(Creation::Busy(busy(made, format_args!("Rancher makes the stack {STACK}"))));
        };
        // No two of a stack have one name: nothing is created beside another's.
        let named: Vec<CattleResource> = all(&API.get([COLLECTION]).query("name", self.name()))?;
        let mut beside = named.iter().filter(|it| it.stack_id.as_ref() == Some(&stack.id));
        beside.try_for_each(|it| it.refuse_others(&self.mark))?;
        let images: Vec<Value> = all(&API.get(["settings"]).query("name", IMAGE))?;
        let image = images.iter().find(|it| it["name"] == IMAGE).and_then(|it| it["value"].as_str());
        let image = image.ok_or_else(|| Error::unavailable(format_args!("Rancher has no setting {IMAGE}")))?;
        let body = json!({
            "name": self.name(), "stackId": stack.id, "externalId": self.mark,
            "launchConfig": { "ports": self.ports(), "imageUuid": format!("docker:{image}") }, "lbConfig": {},
        });
        // It may be the one whose creation was not answered.
        let is_taken = |response: &aerostat_sdk::http::Response| has_code(response, &[NAME_TAKEN]);
        let created = API.post([COLLECTION]).json(&body);
        created.create_unless(is_taken, |it| Ok(self.found(&it.json()?))).map(Creation::at_once)
    }

    fn update(&self, live: &CattleResource) -> Result<Update> {
        live.refuse_others(&self.mark)?;
        if let Some(why) = live.changes()?.map_or_else(|| self.step(live), |why| Ok(Some(why)))? {
            return Ok(Update::Busy(why));
        }
        let endpoints = live.public_endpoints.as_array().into_iter().flatten();
        let addresses: SortedSet<&str> = endpoints.filter_map(|it| it["ipAddress"].as_str()).collect();
        let reached: Vec<Ingress> = addresses.into_iter().map(Ingress::ip).collect();
        Ok(if reached.is_empty() { Update::Building } else { Update::Done(reached) })
    }

    fn follow_nodes(&self, live: &CattleResource) -> Result<Change<()>> {
        live.refuse_others(&self.mark)?;
        self.target(live).map(|it| it.map(drop))
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        let Some(live) = self.find(id)? else { return Ok(Removal::Gone) };
        if let Err(others) = live.refuse_others(&self.mark) {
            return Ok(Removal::Foreign(others.why().to_owned()));
        }
        // The load balancer goes last: its id is the one that is remembered.
        self.delete_target(Some(&live))?.and_then(|()| live.delete(COLLECTION).map(Change::Busy)).map(Removal::from)
    }
}

/// The fields of a rule that decide where it leads. One that has another thing in them is another rule.
const RULE: [&str; 4] = ["sourcePort", "targetPort", "serviceId", "protocol"];

fn rule(values: [Value; 4]) -> Value {
    RULE.into_iter().map(str::to_owned).zip(values).collect()
}
