//! Lists: of one place, and of all places of a project, in pages.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::simulator::Recorded;

use super::collection::{Collection, Reach};
use super::errors::{self, Refusal};
use super::filter::Filter;
use super::ongoing::Stored;
use super::operations;
use super::place::{BASE, Place, Scope, link};
use super::presented::shown;
use super::world::World;

/// The part of a list that a request asks for.
pub(super) struct Listing {
    filter: Filter,
    size: usize,
    /// The key of the last entry before the page.
    after: Option<String>,
}

/// One entry: its place in the order of all, its scope, and itself.
struct Entry {
    key: String,
    scope: Scope,
    body: Value,
}

impl Listing {
    pub(super) fn new(world: &World, request: &Recorded) -> Result<Listing, Refusal> {
        let largest = world.behaviour.largest_page;
        let size = match request.query_value("maxResults") {
            None => largest,
            Some(text) => match text.parse::<usize>() {
                Ok(size @ 1..=500) => size.min(largest),
                Ok(0) => largest,
                _ => return Err(errors::invalid("maxResults", text, "Must be less than or equal to 500.")),
            },
        };
        let mut filters = request.query.iter().filter(|(name, _)| name == "filter").map(|(_, value)| value.as_str());
        let text = filters.next_back().unwrap_or_default();
        let refused = |text: &str| errors::invalid("pageToken", text, "The page token is invalid.");
        let after = request.query_value("pageToken").filter(|it| !it.is_empty());
        let decoded = |text: &str| String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok();
        let after = after.map(|it| decoded(it).ok_or_else(|| refused(it))).transpose()?;
        Ok(Listing { filter: Filter::parse(&from_here(text))?, size, after })
    }

    /// A page of these, in their order, and the token of the next.
    fn page(&self, mut all: Vec<Entry>) -> (Vec<Entry>, Option<String>) {
        all.retain(|it| self.filter.passes(&it.body));
        all.sort_by(|one, other| one.key.cmp(&other.key));
        all.retain(|it| self.after.as_ref().is_none_or(|after| it.key > *after));
        let is_more = all.len() > self.size;
        all.truncate(self.size);
        let next = all.last().filter(|_| is_more).map(|it| BASE64_URL_SAFE_NO_PAD.encode(&it.key));
        (all, next)
    }
}

/// `GET …/firewalls`: a list of one place.
pub(super) fn one_place(world: &World, request: &Recorded, place: &Place, list: &str) -> Result<Value, Refusal> {
    if let Scope::Zone(zone) = &place.scope
        && world.behaviour.unreachable.contains(zone)
    {
        return Err(errors::unreachable(zone));
    }
    let (entries, kind) = match Collection::named(list) {
        Some(collection) => (entries(world, place, collection), format!("compute#{}List", collection.one())),
        None if list == "operations" => (operations_of(world, place), "compute#operationList".to_owned()),
        None => return Err(errors::not_found(&format!("{place}/{list}"))),
    };
    let path = format!("{place}/{list}");
    Ok(answered(&Listing::new(world, request)?, &kind, &path, entries))
}

/// `GET projects/p1/zones` and the like, of which the API makes all.
pub(super) fn fixed(
    world: &World,
    request: &Recorded,
    path: &str,
    kind: &str,
    all: Vec<Value>,
) -> Result<Value, Refusal> {
    let entry = |body: Value| Entry { key: body["name"].to_string(), scope: Scope::Global, body };
    let entries = all.into_iter().map(entry).collect();
    Ok(answered(&Listing::new(world, request)?, &format!("compute#{kind}List"), path, entries))
}

fn answered(listing: &Listing, kind: &str, path: &str, entries: Vec<Entry>) -> Value {
    let (page, next) = listing.page(entries);
    let mut answer = json!({ "kind": kind, "id": path, "selfLink": link(path) });
    // An empty list is not there.
    if !page.is_empty() {
        answer["items"] = page.into_iter().map(|it| it.body).collect();
    }
    if let Some(next) = next {
        answer["nextPageToken"] = json!(next);
    }
    answer
}

/// `GET projects/p1/aggregated/instances`: every page names every place, and warns of those without anything on it.
pub(super) fn aggregated(world: &World, request: &Recorded, project: &str, list: &str) -> Result<Value, Refusal> {
    let collection = Collection::named(list);
    if collection.is_none() && list != "operations" {
        return Err(errors::not_found(&format!("projects/{project}/aggregated/{list}")));
    }
    let listing = Listing::new(world, request)?;
    let scopes = scopes(world, collection);
    let is_silent = |scope: &Scope| matches!(scope, Scope::Zone(zone) if world.behaviour.unreachable.contains(zone));
    let all = scopes.iter().filter(|it| !is_silent(it)).flat_map(|scope| {
        let place = Place::new(project, scope.clone());
        collection.map_or_else(|| operations_of(world, &place), |it| entries(world, &place, it))
    });
    let (page, next) = listing.page(all.collect());
    let mut items = Map::new();
    for scope in &scopes {
        let here: Vec<_> = page.iter().filter(|it| it.scope == *scope).map(|it| it.body.clone()).collect();
        let key = scope.to_string();
        let value = match (is_silent(scope), here.is_empty()) {
            (true, _) => warning("UNREACHABLE", &format!("The {key} is not reachable."), &key),
            (false, true) => {
                warning("NO_RESULTS_ON_PAGE", &format!("There are no results for scope '{key}' on this page."), &key)
            }
            (false, false) => json!({ list: here }),
        };
        items.insert(key, value);
    }
    let path = format!("projects/{project}/aggregated/{list}");
    let one = collection.map_or("operation", Collection::one);
    let mut answer = json!({
        "kind": format!("compute#{one}AggregatedList"), "id": path, "selfLink": link(&path), "items": items,
    });
    if let Some(next) = next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}

fn warning(code: &str, message: &str, scope: &str) -> Value {
    json!({ "warning": { "code": code, "message": message, "data": [{ "key": "scope", "value": scope }] } })
}

/// The places that an aggregated list names.
fn scopes(world: &World, collection: Option<Collection>) -> Vec<Scope> {
    let regions = || world.regions.keys().cloned().map(Scope::Region);
    let zones = || world.regions.values().flatten().cloned().map(Scope::Zone);
    match collection {
        None => [Scope::Global].into_iter().chain(regions()).chain(zones()).collect(),
        // There are global ones, too, which nobody has here.
        Some(
            Collection::Addresses
            | Collection::ForwardingRules
            | Collection::BackendServices
            | Collection::HealthChecks,
        ) => [Scope::Global].into_iter().chain(regions()).collect(),
        Some(it) => match it.reach() {
            Reach::Global => vec![Scope::Global],
            Reach::Regional => regions().collect(),
            Reach::Zonal => zones().collect(),
        },
    }
}

fn entries(world: &World, place: &Place, collection: Collection) -> Vec<Entry> {
    let is_listed =
        |it: &Stored| it.made + world.behaviour.lists_late_by <= world.time() && it.body["_unlisted"].is_null();
    let all = world.within(place, collection).filter(|(_, it)| is_listed(it));
    let entry = |(path, it): (&str, &Stored)| Entry {
        key: path.to_owned(),
        scope: place.scope.clone(),
        body: shown(world, path, &it.body),
    };
    all.map(entry).collect()
}

fn operations_of(world: &World, place: &Place) -> Vec<Entry> {
    let all = operations::within(world, place).into_iter();
    all.map(|(key, body)| Entry { key: format!("{place}/{key}"), scope: place.scope.clone(), body }).collect()
}

/// A filter in which links lead to the API under its usual name, whatever name the client has for it.
fn from_here(filter: &str) -> String {
    let links = regex::Regex::new(r#"https?://[^/\s()"']+/compute/v1/"#).expect("the expression is one");
    links.replace_all(filter, BASE).into_owned()
}
