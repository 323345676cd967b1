//! Load balancers of Services. The cloud gives their ids, so that a POST must not be sent twice: `backend` sees to that.

use std::time::Duration;

use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::form::Span;
use aerostat_sdk::http::Response;
use aerostat_sdk::settings;
use aerostat_sdk::{
    Change, Deletion, Description, Effect, Endpoint, Ingress, LoadBalancer, LoadBalancers, Method,
};
use aerostat_sdk::{Progress, Result};
use serde::{Deserialize, Serialize};

use crate::NewCloud;
use crate::api::{API, ITEMS, PAGES, Spec};

const SECOND: Duration = Duration::from_secs(1);

aerostat_sdk::table! {
    /// The settings.
    const SETTINGS;
    POLL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How often a load balancer is read that is being built.").default("5s");
    CREATE_AGAIN: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "How long a load balancer is looked for whose creation was not answered, before it is created again. Longer than lists lag.")
        .default("1m");
}

/// The requests of this file, for an operator to allow.
pub(crate) fn permissions(endpoint: Endpoint) -> Endpoint {
    endpoint
        .allow([Method::Get], ["/balancers", "/balancers/*"], [])
        .allow([Method::Post], ["/balancers"], [])
        .allow_as(Effect::Detach, [Method::Put], ["/balancers/*/spec"], [])
        .allow([Method::Delete], ["/balancers/*"], [])
}

pub(crate) fn settings(described: Description) -> Description {
    described.settings(SETTINGS)
}

impl LoadBalancers for NewCloud {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        backend::ensure(&Call::about(desired)?)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        backend::delete(&Call::about(unwanted)?)
    }
}

/// One call about one Service.
struct Call<'a> {
    service: &'a LoadBalancer,
    /// The tag that proves whose a load balancer is.
    mark: String,
    pauses: Pauses,
}

impl<'a> Call<'a> {
    fn about(service: &'a LoadBalancer) -> Result<Self> {
        let mark = service.owner.mark()?.to_string(); // new: mark
        let pauses = Pauses {
            poll: settings::get(&POLL)?,
            create_again: settings::get(&CREATE_AGAIN)?,
        };
        Ok(Self {
            service,
            mark,
            pauses,
        })
    }
}

impl Backend for Call<'_> {
    type Live = Balancer;

    fn service(&self) -> &LoadBalancer {
        self.service
    }

    fn is_id(&self, text: &str) -> bool {
        text.starts_with("lb-")
    }

    fn pauses(&self) -> Pauses {
        self.pauses
    }

    fn list(&self) -> Result<Vec<Found>> {
        let all: Vec<Balancer> = PAGES.all(&API.get(["balancers"]), ITEMS)?;
        Ok(all.iter().map(|it| self.found(it)).collect())
    }

    fn find(&self, id: &str) -> Result<Option<Balancer>> {
        API.get(["balancers", id]).find()
    }

    fn found(&self, live: &Balancer) -> Found {
        Found::new(&live.id, &live.name, live.tags.contains(&self.mark))
    }

    fn can_create(&self) -> Result<()> {
        Spec::of(self.service).map(drop)
    }

    fn create(&self, _listed: &[Found]) -> Result<Creation> {
        let body = NewBalancer {
            name: &self.service.name,
            tags: [&self.mark],
            spec: Spec::of(self.service)?,
        };
        // In this cloud no two load balancers have one name: what an earlier process has made before it died is not made twice,
        // also while no list shows it. Without such names it would be, in a cloud whose lists lag.
        let is_taken = |response: &Response| response.says("the name is taken");
        API.post(["balancers"])
            .json(&body)
            .create_unless(is_taken, |response| {
                Ok(self.found(&response.json::<Balancer>()?))
            })
    }

    fn update(&self, live: &Balancer) -> Result<Update> {
        let Some(ip) = &live.ip else {
            return Ok(Update::Building);
        };
        let spec = Spec::of(self.service)?;
        if live.spec == spec {
            return Ok(Update::Done(vec![Ingress::ip(ip)]));
        }
        Ok(
            match API
                .put(["balancers", &live.id, "spec"])
                .json(&spec)
                .change()?
            {
                Change::Done(_) => Update::Done(vec![Ingress::ip(ip)]),
                Change::Busy(why) => Update::Busy(why),
            },
        )
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        Ok(API.delete(["balancers", id]).change_or_gone()?.into())
    }
}

/// A load balancer, as the cloud shows it.
#[derive(Deserialize)]
struct Balancer {
    id: String,
    name: String,
    tags: Vec<String>,
    ip: Option<String>,
    spec: Spec,
}

#[derive(Serialize)]
struct NewBalancer<'a> {
    name: &'a str,
    tags: [&'a str; 1],
    spec: Spec,
}
