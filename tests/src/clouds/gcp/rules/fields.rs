//! Fields of bodies: defaults, words and references.

use serde_json::{Value, json};

use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, link, referred};
use crate::clouds::gcp::world::{World, text, texts};

/// Completes a reference under a key, which may be absent: to a resource of this collection that is there. Answers its path.
pub(super) fn refer(
    world: &World,
    place: &Place,
    body: &mut Value,
    key: &str,
    collections: &[Collection],
) -> Result<Option<String>, Refusal> {
    let Some(reference) = body[key].as_str().filter(|it| !it.is_empty()) else {
        if let Some(all) = body.as_object_mut() {
            all.remove(key);
        }
        return Ok(None);
    };
    let path = resolved(world, place, reference, key, collections)?;
    body[key] = json!(link(&path));
    Ok(Some(path))
}

/// The path of a resource that a reference leads to.
pub(super) fn resolved(
    world: &World,
    place: &Place,
    reference: &str,
    key: &str,
    collections: &[Collection],
) -> Result<String, Refusal> {
    let field = format!("resource.{key}");
    let malformed = || errors::invalid(&field, reference, "The URL is malformed.");
    let path = referred(reference, &place.project).ok_or_else(malformed)?;
    if !Collection::of(&path).is_some_and(|it| collections.contains(&it)) {
        return Err(errors::invalid(&field, reference, "Unexpected resource collection."));
    }
    if world.get(&path).is_none() {
        return Err(errors::nothing_there(key, &path));
    }
    if world.is_made(&path) {
        return Err(errors::not_ready(&path));
    }
    Ok(path)
}

/// The same for each of a list.
pub(super) fn refer_all(
    world: &World,
    place: &Place,
    body: &mut Value,
    key: &str,
    collections: &[Collection],
) -> Result<Vec<String>, Refusal> {
    let asked: Vec<_> = texts(body, key).map(str::to_owned).collect();
    let paths = asked.iter().map(|it| resolved(world, place, it, key, collections)).collect::<Result<Vec<_>, _>>()?;
    if !asked.is_empty() {
        body[key] = paths.iter().map(|it| link(it)).collect();
    }
    Ok(paths)
}

/// Sets what a request leaves open.
pub(super) fn default(body: &mut Value, key: &str, value: Value) {
    if body[key].is_null() {
        body[key] = value;
    }
}

/// One of some words.
pub(super) fn word(body: &Value, key: &str, words: &[&str]) -> Result<(), Refusal> {
    let value = text(body, key);
    if words.contains(&value) {
        return Ok(());
    }
    Err(errors::invalid(&format!("resource.{key}"), value, &format!("Must be one of {}.", words.join(", "))))
}
