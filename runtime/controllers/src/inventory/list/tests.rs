//! Lists that take for ever.

use cloud_provider::{Event, EventKind, Reply};
use scripted_cloud::ScriptedCloud;

use super::*;

/// A cloud whose list never ends. Each page takes a second, and brings 64 events.
fn endless() -> ScriptedCloud {
    let cloud = ScriptedCloud::default();
    cloud.list.takes(Duration::from_secs(1));
    cloud.list.answers(|(cursor, _)| {
        let next = cursor.map_or(0, |it| it.parse::<u64>().unwrap() + 1).to_string();
        let event = |nth: usize| Event {
            about: None,
            kind: EventKind::Normal,
            reason: "Note".to_owned(),
            message: format!("{next} {nth}"),
        };
        let events = (0..64).map(event).collect();
        Reply { answer: Ok(Page { next: Some(next.clone()), ..Page::default() }), events, wrote: false }
    });
    cloud
}

#[tokio::test(start_paused = true)]
async fn adv_107_a_list_ends_after_fifteen_minutes() {
    let began = Instant::now();
    let ListResult { list: machines, events, .. } = list_all(&endless(), 100).await;
    let because = machines.unwrap().gap(None).unwrap().to_owned();
    assert!(because.ends_with("on 900 pages: it was not read to its end within 900 s"), "{because}");
    assert_eq!(began.elapsed(), LIST);
    assert_eq!(events.dropped(), 900 * 64 - EventList::MOST);
    assert_eq!(events.into_vec().len(), EventList::MOST);
}

#[tokio::test]
async fn pages_are_not_made_smaller_where_every_call_fails() {
    let (cloud, error) = (ScriptedCloud::default(), Error::Unavailable("whose account is it".to_owned()));
    let (refused, failed) = (error.clone(), error.clone());
    cloud.check.answers(move |()| Err(refused.clone()));
    cloud.list.answers(move |_| Err(failed.clone()).into());
    let ListResult { list, limit, .. } = list_all(&cloud, 100).await;
    assert_eq!(list.unwrap_err(), error);
    assert_eq!((cloud.list.asked(), limit), (1, 100));
}
