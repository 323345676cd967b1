//! Lists that take for ever.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use cloud_provider::{Event, EventKind, Instance, Reply};

use super::*;

/// A cloud whose list never ends. Each page takes a second, and brings 64 events.
#[derive(Default)]
struct Endless(AtomicU64);

#[async_trait]
impl Instances for Endless {
    async fn get(&self, _: &[cloud_provider::Node]) -> Reply<Vec<Result<Option<Instance>>>> {
        Vec::new().into()
    }

    async fn list(&self, _: Option<String>, _: u32) -> Reply<Result<Page>> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let next = self.0.fetch_add(1, Ordering::Relaxed).to_string();
        let event = |nth: usize| Event {
            about: None,
            kind: EventKind::Normal,
            reason: "Note".to_owned(),
            message: format!("{next} {nth}"),
        };
        let events = (0..64).map(event).collect();
        Reply { answer: Ok(Page { next: Some(next), ..Page::default() }), events, wrote: false }
    }
}

#[tokio::test(start_paused = true)]
async fn adv_107_a_list_ends_after_fifteen_minutes() {
    let began = Instant::now();
    let ListResult { list: machines, events, .. } = list_all(&Endless::default(), 100).await;
    let because = machines.unwrap().gap(None).unwrap().to_owned();
    assert!(because.ends_with("on 900 pages: it was not read to its end within 900 s"), "{because}");
    assert_eq!(began.elapsed(), LIST);
    assert_eq!(events.dropped(), 900 * 64 - EventList::MOST);
    assert_eq!(events.into_vec().len(), EventList::MOST);
}

/// A cloud whose calls all fail, because nobody can say whose account it is.
#[derive(Default)]
struct NoAccount {
    lists: AtomicU64,
}

#[async_trait]
impl Instances for NoAccount {
    async fn check(&self) -> Result<()> {
        Err(Error::Unavailable("whose account is it".to_owned()))
    }

    async fn get(&self, _: &[cloud_provider::Node]) -> Reply<Vec<Result<Option<Instance>>>> {
        Vec::new().into()
    }

    async fn list(&self, _: Option<String>, _: u32) -> Reply<Result<Page>> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        Reply::from(Err(Error::Unavailable("whose account is it".to_owned())))
    }
}

#[tokio::test]
async fn pages_are_not_made_smaller_where_every_call_fails() {
    let cloud = NoAccount::default();
    let ListResult { list, limit, .. } = list_all(&cloud, 100).await;
    assert_eq!(list.unwrap_err(), Error::Unavailable("whose account is it".to_owned()));
    assert_eq!((cloud.lists.load(Ordering::Relaxed), limit), (1, 100));
}
