//! Lists of machines, made again page after page while each request goes wrong.

use std::sync::Arc;

use cloud_provider::Instances;

use crate::conversation::PageInput;
use crate::error::Result;
use crate::play::stage::wrong;
use crate::protocol::How;
use crate::transcript::{ListedPage, Listing};

use super::stage::{RecordedStage, TROUBLES};

/// Each list, as it was recorded and with each of its requests going wrong.
pub(super) async fn machines(stage: &mut RecordedStage) -> Result<Vec<Listing>> {
    let process = stage.process().await?;
    let Some(instances) = process.cloud.instances.clone() else { return Ok(Vec::new()) };
    let own = process.cloud.description.now().list_page_size;
    let mut lists = Vec::new();
    for pages in recorded(stage)? {
        let Some(usual) = list(stage, &instances, own, &pages, None).await? else { continue };
        let names: Vec<_> = usual.instances().map(|it| it.name.clone()).collect();
        let count = usual.requests.len();
        lists.push(Listing { names: names.clone(), ..usual });
        for (nth, how) in (1..=count).flat_map(|nth| TROUBLES.map(|how| (nth, how))) {
            let troubled = list(stage, &instances, own, &pages, Some((nth, how))).await?;
            lists.extend(troubled.map(|it| Listing { names: names.clone(), ..it }));
        }
    }
    Ok(lists)
}

/// The numbers of calls that are pages of one list: the first has no cursor.
fn recorded(stage: &RecordedStage) -> Result<Vec<Vec<usize>>> {
    let mut lists: Vec<Vec<usize>> = Vec::new();
    for number in stage.calls_of("instances.list") {
        let PageInput { cursor, .. } = stage.page(number)?;
        match (cursor, lists.last_mut()) {
            (Some(_), Some(list)) => list.push(number),
            // One without its beginning is no list.
            (Some(_), None) => {}
            (None, _) => lists.push(vec![number]),
        }
    }
    Ok(lists)
}

/// One list; `None` if it asks for what was not recorded.
async fn list(
    stage: &mut RecordedStage,
    instances: &Arc<dyn Instances>,
    own: u32,
    calls: &[usize],
    trouble: Option<(usize, How)>,
) -> Result<Option<Listing>> {
    stage.begin(trouble);
    let (mut pages, mut longest) = (Vec::new(), 1);
    for number in calls {
        let PageInput { cursor, limit } = stage.page(*number)?;
        let limit = limit.unwrap_or(own);
        longest = longest.max(limit);
        stage.call(*number);
        let answer = instances.list(cursor, limit).await.answer;
        if trouble.is_none() && stage.is_unplayed(*number) {
            return Ok(None);
        }
        match answer {
            Err(error) => {
                pages.push(Err(wrong(&error)));
                break;
            }
            Ok(page) => {
                let gaps = page.gaps.into_iter().map(|it| it.reason).collect();
                pages.push(Ok(ListedPage { instances: page.instances, gaps }));
            }
        }
    }
    let requests = stage.asked();
    Ok(Some(Listing { limit: longest, trouble, names: Vec::new(), pages, is_endless: false, requests }))
}
