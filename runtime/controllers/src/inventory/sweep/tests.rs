//! Lists that take for ever.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use cloud_provider::{Instance, Machine, Notice, Reply, Severity};

use super::*;

/// A cloud whose list never ends. Each page takes a second, and brings 64 notices.
#[derive(Default)]
struct Endless(AtomicU64);

#[async_trait]
impl Instances for Endless {
    async fn get(&self, _: &[Machine]) -> Reply<Vec<Result<Option<Instance>>>> {
        Vec::new().into()
    }

    async fn list(&self, _: Option<String>, _: u32) -> Reply<Result<Page>> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let next = self.0.fetch_add(1, Ordering::Relaxed).to_string();
        let notice = |nth: usize| Notice {
            about: None,
            severity: Severity::Normal,
            reason: "Note".to_owned(),
            message: format!("{next} {nth}"),
        };
        let notices = (0..64).map(notice).collect();
        Reply { answer: Ok(Page { next: Some(next), ..Page::default() }), notices }
    }
}

#[tokio::test(start_paused = true)]
async fn adv_107_a_list_ends_after_fifteen_minutes() {
    let began = Instant::now();
    let Sweep { machines, notices, .. } = sweep(&Endless::default(), 100).await;
    let because = machines.unwrap().incomplete.unwrap();
    assert!(because.ends_with("on 900 pages: it was not read to its end within 900 s"), "{because}");
    assert_eq!(began.elapsed(), LIST);
    assert_eq!(notices.dropped(), 900 * 64 - NoticeList::MOST);
    assert_eq!(notices.into_vec().len(), NoticeList::MOST);
}
