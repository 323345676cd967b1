//! Reading all routes, page after page, and no more of them than any table holds.

use std::collections::HashSet;
use std::time::Duration;

use cloud_provider::{Error, EventList, Result, Route, Routes};
use tokio::time::Instant;

use crate::cloud_call::{CALL, late};

/// The most routes: ten times as many as the largest table of a cloud takes.
const ROUTES: usize = 10_000;
/// The most pages: a provider may answer with empty ones for ever.
const PAGES: usize = 1_000;
/// How long a whole list may take.
const LIST: Duration = Duration::from_secs(900);

/// The routes of the cloud.
#[derive(Debug, Default)]
pub(super) struct AllRoutes {
    pub(super) routes: Vec<Route>,
    /// Why it may lack some. Then nothing is deleted.
    pub(super) incomplete: Option<String>,
}

/// Reads all routes. A list over one of its limits is incomplete.
pub(super) async fn list_all(routes: &dyn Routes, limit: u32, events: &mut EventList) -> Result<AllRoutes> {
    let until = Instant::now() + LIST;
    let limit = limit.max(1);
    let (mut all, mut cursor, mut seen) = (AllRoutes::default(), None, HashSet::new());
    loop {
        let page = tokio::time::timeout(CALL, routes.list(cursor.clone(), limit)).await.map_err(|_| late())?;
        events.add(page.events);
        let page = page.answer?;
        if page.routes.len() > limit as usize {
            return Err(Error::Invalid(format!(
                "the provider lists {} routes on one page, and was asked for {limit} at most",
                page.routes.len(),
            )));
        }
        all.routes.extend(page.routes);
        all.incomplete = all.incomplete.or(page.incomplete);
        let Some(next) = page.next else { return Ok(all) };
        let cut = if !seen.insert(next.clone()) {
            Some("the provider's list comes back to a page that it was at before".to_owned())
        } else if all.routes.len() >= ROUTES {
            Some(format!("it has more than {ROUTES} routes"))
        } else if seen.len() >= PAGES {
            Some(format!("it has more than {PAGES} pages"))
        } else if Instant::now() >= until {
            Some(format!("it was not read to its end within {} s", LIST.as_secs()))
        } else {
            None
        };
        if cut.is_some() {
            all.routes.truncate(ROUTES);
            all.incomplete = all.incomplete.or(cut);
            return Ok(all);
        }
        cursor = Some(next);
    }
}
