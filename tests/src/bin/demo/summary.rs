//! The table at the end: what was asked of the cloud, how often, and what was refused.

use std::collections::{BTreeMap, BTreeSet};

use ::tests::simulator::Recorded;
use anyhow::Result;

use crate::audit::Audit;
use crate::screen::Screen;
use crate::vendor::Shown;

/// Shows what reached the cloud, and what did not.
pub(crate) fn show<V: Shown>(screen: &Screen, requests: &[Recorded], audit: &Audit) -> Result<()> {
    screen.heading("Requests that reached the cloud")?;
    screen.row("times  answered  request")?;
    for (request, Row { times, answers }) in rows::<V>(requests) {
        let answers = answers.into_iter().collect::<Vec<_>>().join(" ");
        screen.row(&format!("{times:>5}  {answers:<8}  {request}"))?;
    }
    screen.row(&format!("{:>5}            in total", requests.len()))?;
    screen.heading("Requests that were refused")?;
    screen.row("times  why                 request")?;
    for ((code, request), times) in &audit.refused {
        screen.row(&format!("{times:>5}  {code:<18}  {request}"))?;
    }
    Ok(())
}

#[derive(Default)]
struct Row {
    times: usize,
    answers: BTreeSet<String>,
}

/// Requests that differ in ids only are one row. They come in the order in which they first came.
fn rows<V: Shown>(requests: &[Recorded]) -> Vec<(String, Row)> {
    let mut order = Vec::new();
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for request in requests {
        let name = V::asked(request);
        if !rows.contains_key(&name) {
            order.push(name.clone());
        }
        let row = rows.entry(name).or_default();
        row.times += 1;
        row.answers.insert(request.status.map_or_else(|| "none".to_owned(), |it| it.to_string()));
    }
    order.into_iter().filter_map(|it| rows.remove_entry(&it)).collect()
}

/// A path with `{id}` for what stands behind a collection.
pub(crate) fn shape(path: &str) -> String {
    let id = |part: &str| part.parse::<u64>().is_ok() || (part.len() == 36 && part.contains('-'));
    path.split('/').map(|part| if id(part) { "{id}" } else { part }).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn ids_do_not_count() {
        assert_eq!(shape("/v2/droplets"), "/v2/droplets");
        assert_eq!(shape("/v2/droplets/1003"), "/v2/droplets/{id}");
        assert_eq!(
            shape("/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6/droplets"),
            "/v2/load_balancers/{id}/droplets"
        );
    }
}
