//! Reads: once while nothing goes wrong, and once more for each way in which each of their requests can.

use crate::error::Result;
use crate::protocol::{AdminFailure, ArrivedRequest, How, Orders};
use crate::transcript::Wrong;

use super::stage::Stage;

/// No list here has more pages.
const MOST_PAGES: usize = 50;
/// The troubles of reads.
const TROUBLES: [How; 2] = [How::LostBefore, How::Failed];

/// An answer, and the requests that led to it.
pub(crate) struct TroubledRead<T> {
    /// The request that went wrong, counted from one, and how.
    pub(crate) trouble: Option<(usize, How)>,
    pub(crate) said: T,
    pub(crate) requests: Vec<ArrivedRequest>,
}

/// Pages of a list, in their order.
pub(super) struct ReadPages<P> {
    pub(super) pages: Vec<std::result::Result<P, Wrong>>,
    /// Whether nobody read any further, because there was no end.
    pub(super) is_endless: bool,
}

/// Asks once, with this trouble.
pub(super) async fn read<T>(
    stage: &mut Stage,
    trouble: Option<(usize, How)>,
    ask: impl AsyncFnOnce() -> T,
) -> Result<TroubledRead<T>> {
    stage.asked().await?;
    let fail = trouble.map(|(nth, how)| AdminFailure { nth, how });
    stage.admin.order(Orders { fail, lists_lag: false }).await?;
    let said = ask().await;
    stage.admin.order(Orders::default()).await?;
    let (requests, _) = stage.asked().await?;
    Ok(TroubledRead { trouble, said, requests })
}

/// Asks once, and once more with each of its requests going wrong in each way.
pub(super) async fn read_in_each_way<T>(stage: &mut Stage, ask: impl AsyncFn() -> T) -> Result<Vec<TroubledRead<T>>> {
    let mut reads = vec![read(stage, None, &ask).await?];
    for nth in 1..=reads[0].requests.len() {
        for how in TROUBLES {
            reads.push(read(stage, Some((nth, how)), &ask).await?);
        }
    }
    Ok(reads)
}

/// Lists in pages of one, of two, and of as many as the provider likes, which is `own`; the last also with each of its requests going
/// wrong. With each the length of its pages.
pub(super) async fn lists_in_each_way<T>(
    stage: &mut Stage,
    own: u32,
    list: impl AsyncFn(u32) -> T,
) -> Result<Vec<(u32, TroubledRead<T>)>> {
    let mut lists = Vec::new();
    for limit in [1, 2] {
        let limit = limit.min(own);
        lists.push((limit, read(stage, None, async || list(limit).await).await?));
    }
    let whole = read_in_each_way(stage, async || list(own).await).await?;
    lists.extend(whole.into_iter().map(|it| (own, it)));
    Ok(lists)
}

/// Reads page after page, until the last, or one that is an error. `page` answers a page after this cursor, and the next cursor.
pub(super) async fn pages<P>(
    page: impl AsyncFn(Option<String>) -> std::result::Result<(P, Option<String>), Wrong>,
) -> ReadPages<P> {
    let (mut pages, mut cursor) = (Vec::new(), None);
    while pages.len() < MOST_PAGES {
        let next = match page(cursor).await {
            Ok((page, next)) => {
                pages.push(Ok(page));
                next
            }
            Err(wrong) => {
                pages.push(Err(wrong));
                None
            }
        };
        if next.is_none() {
            return ReadPages { pages, is_endless: false };
        }
        cursor = next;
    }
    ReadPages { pages, is_endless: true }
}
