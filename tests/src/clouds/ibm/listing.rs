//! Lists in pages. A page ends with the URL of the next one, at the public host, with an opaque word in it.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{Refused, refused};
use super::kind::VpcKind;
use super::presented::{self, href};
use super::values::text;
use super::world::World;

/// Items of a page where nobody asks for another number.
const USUAL: usize = 50;

/// A page of all objects of a kind that `shows` lets through.
pub(super) fn page(
    world: &World,
    request: &Recorded,
    kind: VpcKind,
    shows: impl Fn(&Value) -> bool,
) -> Result<Answer, Refused> {
    page_at(world, request, kind, kind.many(), shows)
}

/// The same of a list that has this path.
pub(super) fn page_at(
    world: &World,
    request: &Recorded,
    kind: VpcKind,
    list: &str,
    shows: impl Fn(&Value) -> bool,
) -> Result<Answer, Refused> {
    let limit = match request.query_value("limit") {
        None => USUAL,
        Some(asked) => match asked.parse() {
            Ok(limit @ 1..=100) => limit,
            _ => return Err(refused(400, "bad_field", &format!("The limit {asked} is not between 1 and 100"))),
        },
    };
    let limit = limit.min(world.behaviour.largest_page);
    let after = match request.query_value("start") {
        None => None,
        Some(start) => {
            Some(decoded(start).ok_or_else(|| refused(400, "invalid_start", "The start is none that was given"))?)
        }
    };
    let all: Vec<&Value> = world.all(kind).filter(|it| shows(it)).collect();
    let from = match &after {
        None => 0,
        // One that has gone meanwhile was before all of the rest.
        Some(id) => all.iter().position(|it| text(it, "id") == id).map_or(all.len(), |it| it + 1),
    };
    let page: Vec<Value> = all[from..].iter().take(limit).map(|it| presented::one(world, kind, it)).collect();
    let link = |start: Option<&str>| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &limit.to_string());
        if let Some(start) = start {
            query.append_pair("start", start);
        }
        json!({ "href": format!("{}?{}", href(list), query.finish()) })
    };
    let next = page.last().filter(|_| all.len() > from + limit).map(|it| BASE64_URL_SAFE_NO_PAD.encode(text(it, "id")));
    let mut answer = json!({ kind.many(): page, "first": link(None), "limit": limit, "total_count": all.len() });
    if let Some(next) = next {
        answer["next"] = link(Some(&next));
    }
    Ok(Answer::ok(&answer))
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}
