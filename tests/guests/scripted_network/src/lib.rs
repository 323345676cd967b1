//! A provider whose routes and volumes are whatever a script says: a server of the test, asked through the real egress.
//!
//! `GET /routes?after=…&limit=…` is a page of routes, `POST /routes` takes a batch of changes, `GET /volumes/{handle}` is
//! the place of a volume. A route leads to the provider id of its node, without prefix.

use std::time::Duration;

use aerostat_sdk::{
    Description, Endpoint, Error, IpFamily, Method, PersistentVolumes, PodNetwork, Provider, Result, Route,
    RouteChange, RouteDescription, RouteOutcome, RouteOwnership, RoutePage, RouteState, Routes, Setting, Topology,
    TopologyDescription, Volume, http, settings,
};
use serde::{Deserialize, Serialize};

const ENDPOINT: &str = "script";
const PREFIX: &str = "fakecloud://";

struct ScriptedNetwork;

aerostat_sdk::export!(ScriptedNetwork: Provider, Routes, PersistentVolumes);

impl Provider for ScriptedNetwork {
    fn describe() -> Result<Description> {
        let script = Endpoint::new(ENDPOINT, "the script", "http://127.0.0.1:8080")
            .allow([Method::Get], ["/routes", "/volumes/*"], [])
            .allow([Method::Post], ["/routes"], []);
        Ok(Description::new("fakecloud", "1.0.0")
            .provider_id_prefix(PREFIX)
            .endpoint(script)
            .setting(Setting::optional("routeBatch", "Changes in one call.").default("10"))
            .setting(Setting::optional("routeCalls", "Calls of apply at a time.").default("1"))
            .setting(Setting::optional("routePage", "Routes on a page.").default("100")))
    }
}

impl Routes for ScriptedNetwork {
    fn describe() -> Result<RouteDescription> {
        Ok(RouteDescription::new([IpFamily::Ipv4, IpFamily::Ipv6])
            .batch_size(settings::find("routeBatch")?.unwrap_or(10))
            .concurrency(settings::find("routeCalls")?.unwrap_or(1))
            .page_size(settings::find("routePage")?.unwrap_or(100)))
    }

    fn next_hop(network: &PodNetwork) -> Result<String> {
        let id = network.node.provider_id.as_deref().and_then(|it| it.strip_prefix(PREFIX));
        let name = &network.node.name;
        id.map(str::to_owned)
            .ok_or_else(|| Error::invalid(format_args!("node {name} has no provider id of this cloud")))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let request = http::get(ENDPOINT, ["routes"]).query("after", cursor.unwrap_or_default()).query("limit", limit);
        let page: Page = request.send()?.json()?;
        let routes = page.routes.into_iter().map(Listed::route).collect::<Result<_>>()?;
        let routes = RoutePage::new(routes, page.next);
        Ok(match page.incomplete {
            Some(reason) => routes.incomplete(reason),
            None => routes,
        })
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let asked: Vec<_> = changes.iter().map(Change::of).collect();
        let answers = http::post(ENDPOINT, ["routes"]).json(&asked).send().and_then(|it| it.json::<Vec<Answer>>());
        match answers {
            Ok(answers) => answers.into_iter().map(Answer::outcome).collect(),
            Err(error) => changes.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

#[derive(Deserialize)]
struct Page {
    routes: Vec<Listed>,
    next: Option<String>,
    incomplete: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    destination: String,
    next_hop: Option<String>,
    /// "ours", "unmarked" or "foreign".
    ownership: String,
    /// "active", "changing", "blackhole", "partial", or why it failed.
    state: String,
    id: String,
}

impl Listed {
    fn route(self) -> Result<Route> {
        let ownership = match &*self.ownership {
            "ours" => RouteOwnership::Ours,
            "unmarked" => RouteOwnership::Unmarked,
            "foreign" => RouteOwnership::Foreign,
            other => return Err(Error::invalid(format_args!("the script has a route of the owner {other}"))),
        };
        let state = match &*self.state {
            "active" => RouteState::Active,
            "changing" => RouteState::Changing,
            "blackhole" => RouteState::Blackhole,
            "partial" => RouteState::Partial,
            reason => RouteState::Failed(reason.to_owned()),
        };
        let mut route = Route::new(self.destination, "").state(state).ownership(ownership).id(self.id);
        route.next_hop = self.next_hop;
        Ok(route)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Change<'a> {
    destination: &'a str,
    before: Option<Before<'a>>,
    after: Option<After<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Before<'a> {
    id: &'a str,
    next_hop: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct After<'a> {
    next_hop: &'a str,
    node: &'a str,
    uid: Option<&'a str>,
}

impl Change<'_> {
    fn of(it: &RouteChange) -> Change<'_> {
        Change {
            destination: &it.destination,
            before: it.before.as_ref().map(|it| Before { id: &it.id, next_hop: it.next_hop.as_deref() }),
            after: it.after.as_ref().map(|after| After {
                next_hop: &after.next_hop,
                node: &after.node.name,
                uid: after.node.uid.as_deref(),
            }),
        }
    }
}

/// The script's word on one change.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Answer {
    Done,
    Pending { milliseconds: u64, text: String },
    Invalid { text: String },
    Denied { text: String },
    Unavailable { text: String },
    RetryAfter { milliseconds: u64, text: String },
}

impl Answer {
    fn outcome(self) -> Result<RouteOutcome> {
        match self {
            Self::Done => Ok(RouteOutcome::Done),
            Self::Pending { milliseconds, text } => {
                Ok(RouteOutcome::pending(Duration::from_millis(milliseconds), text))
            }
            Self::Invalid { text } => Err(Error::invalid(text)),
            Self::Denied { text } => Err(Error::Denied(text)),
            Self::Unavailable { text } => Err(Error::unavailable(text)),
            Self::RetryAfter { milliseconds, text } => {
                Err(Error::retry_after(Duration::from_millis(milliseconds), text))
            }
        }
    }
}

impl PersistentVolumes for ScriptedNetwork {
    fn describe() -> Result<TopologyDescription> {
        Ok(TopologyDescription::of_drivers(["csi.fakecloud.example"]).source("awsElasticBlockStore"))
    }

    fn get_topology(volume: &Volume) -> Result<Option<Topology>> {
        let place: Option<Place> = http::get(ENDPOINT, ["volumes", &volume.handle]).find()?;
        Ok(place.map(|place| {
            let mut topology = Topology::new(place.region, place.zones);
            topology.labels = place.labels;
            topology
        }))
    }
}

/// The script's word on a volume; 404 where there is none.
#[derive(Deserialize)]
struct Place {
    region: Option<String>,
    #[serde(default)]
    zones: Vec<String>,
    #[serde(default)]
    labels: Vec<(String, String)>,
}
