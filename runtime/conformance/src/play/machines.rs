//! Questions about machines: one by one and in lists, while each request in turn goes wrong.

use std::sync::Arc;

use cloud_provider::{Instances, Node};

use crate::error::Result;
use crate::host::HostProcess;
use crate::protocol::{AdminFailure, ForeignChange, How, Orders};
use crate::transcript::{ListedPage, Listing, RecordedMachines, RecordedQuestion, Truth};

use super::stage::{Stage, initialised, joining, wrong};

/// No list here has more pages.
const MOST_PAGES: usize = 50;
/// How many machines are asked about one by one.
const ASKED: usize = 2;
/// The troubles of reads.
const TROUBLES: [How; 2] = [How::LostBefore, How::Failed];
/// A node that no machine stands behind.
const NOBODY: &str = "nobody";
/// The machine that goes.
const LEAVING: &str = "leaving";
/// The machine that has its addresses then.
const SUCCESSOR: &str = "next-98";

/// Everything about machines; `None` without the capability.
pub(crate) async fn play(stage: &mut Stage) -> Result<Option<RecordedMachines>> {
    let process = stage.process().await?;
    let Some(instances) = process.cloud.instances.clone() else { return Ok(None) };
    let mut questions = Vec::new();
    let nodes = stage.nodes(&process).await;
    for (name, node) in stage.names.clone().iter().zip(&nodes).take(ASKED) {
        ask(stage, &instances, &mut questions, &format!("get {name} by its name"), &joining(name), Truth::Runs).await?;
        ask(stage, &instances, &mut questions, &format!("get {name} by its id"), node, Truth::Runs).await?;
    }
    let title = format!("get {NOBODY}, which never was");
    ask(stage, &instances, &mut questions, &title, &joining(NOBODY), Truth::Gone).await?;
    leave(stage, &instances, &mut questions).await?;
    let lists = lists(stage, &instances, &process).await?;
    let other = stage.process().await?;
    let words = words(&[&process, &other], &nodes).await;
    let mut accounts = Vec::new();
    for process in [&process, &other, &process] {
        accounts.push(process.cloud.identity.identity().await.map_err(|error| error.to_string()));
    }
    Ok(Some(RecordedMachines { questions, lists, words, accounts }))
}

/// Asks once, and once more with each of its requests going wrong in each way.
async fn ask(
    stage: &mut Stage,
    instances: &Arc<dyn Instances>,
    questions: &mut Vec<RecordedQuestion>,
    title: &str,
    node: &Node,
    truth: Truth,
) -> Result<()> {
    let mut one = async |stage: &mut Stage, trouble: Option<(usize, How)>| -> Result<usize> {
        stage.asked().await?;
        stage
            .admin
            .order(Orders { fail: trouble.map(|(nth, how)| AdminFailure { nth, how }), lists_lag: false })
            .await?;
        let said = instances.get(std::slice::from_ref(node)).await.answer.pop();
        let said = said.expect("there is one answer for each node").map_err(|error| wrong(&error));
        stage.admin.order(Orders::default()).await?;
        let (requests, _) = stage.asked().await?;
        let count = requests.len();
        questions.push(RecordedQuestion { title: title.to_owned(), trouble, truth, said, requests });
        Ok(count)
    };
    let count = one(stage, None).await?;
    for nth in 1..=count {
        for how in TROUBLES {
            one(stage, Some((nth, how))).await?;
        }
    }
    Ok(())
}

/// A machine comes, is shut down, and goes.
async fn leave(stage: &mut Stage, instances: &Arc<dyn Instances>, questions: &mut Vec<RecordedQuestion>) -> Result<()> {
    let name = || LEAVING.to_owned();
    stage.admin.change(&ForeignChange::AddMachine { name: name() }).await?;
    let found = instances.get(&[joining(LEAVING)]).await.answer.pop();
    let node = match found {
        Some(Ok(Some(instance))) => initialised(LEAVING, instance),
        _ => joining(LEAVING),
    };
    if stage.admin.change(&ForeignChange::StopMachine { name: name() }).await?.is_some() {
        let title = format!("get {LEAVING}, which was shut down");
        ask(stage, instances, questions, &title, &node, Truth::Stopped).await?;
    }
    if stage.admin.change(&ForeignChange::RemoveMachine { name: name() }).await?.is_some() {
        let title = format!("get {LEAVING}, which is gone");
        ask(stage, instances, questions, &title, &node, Truth::Gone).await?;
        let successor = ForeignChange::AddSuccessor { name: SUCCESSOR.to_owned(), of: name() };
        if stage.admin.change(&successor).await?.is_some() {
            for (by, node) in [("id", &node), ("name", &joining(LEAVING))] {
                let title = format!("get {LEAVING}, whose addresses {SUCCESSOR} has, by its {by}");
                ask(stage, instances, questions, &title, node, Truth::Gone).await?;
            }
            stage.admin.change(&ForeignChange::RemoveMachine { name: SUCCESSOR.to_owned() }).await?;
        }
    }
    Ok(())
}

async fn lists(stage: &mut Stage, instances: &Arc<dyn Instances>, process: &HostProcess) -> Result<Vec<Listing>> {
    let own = process.cloud.description.now().list_page_size;
    let mut lists = Vec::new();
    for limit in [1, 2, own] {
        lists.push(list(stage, instances, limit.min(own), None).await?);
    }
    let count = lists.last().map_or(0, |it| it.requests.len());
    for nth in 1..=count {
        for how in TROUBLES {
            lists.push(list(stage, instances, own, Some((nth, how))).await?);
        }
    }
    Ok(lists)
}

async fn list(
    stage: &mut Stage,
    instances: &Arc<dyn Instances>,
    limit: u32,
    trouble: Option<(usize, How)>,
) -> Result<Listing> {
    stage.asked().await?;
    stage.admin.order(Orders { fail: trouble.map(|(nth, how)| AdminFailure { nth, how }), lists_lag: false }).await?;
    let (mut pages, mut cursor, mut is_endless) = (Vec::new(), None, true);
    while pages.len() < MOST_PAGES {
        match instances.list(cursor, limit).await.answer {
            Err(error) => {
                pages.push(Err(wrong(&error)));
                is_endless = false;
                break;
            }
            Ok(page) => {
                let gaps = page.gaps.into_iter().map(|it| it.reason).collect();
                pages.push(Ok(ListedPage { instances: page.instances, gaps }));
                cursor = page.next;
            }
        }
        if cursor.is_none() {
            is_endless = false;
            break;
        }
    }
    stage.admin.order(Orders::default()).await?;
    let (requests, _) = stage.asked().await?;
    Ok(Listing { limit, trouble, names: stage.names.clone(), pages, is_endless, requests })
}

/// The canonical word of each node's id, as each of two processes says it.
async fn words(
    processes: &[&HostProcess; 2],
    nodes: &[Node],
) -> Vec<(String, [std::result::Result<String, String>; 2])> {
    let ids: Vec<_> = nodes.iter().filter_map(|it| it.provider_id.clone()).collect();
    let mut answers = Vec::new();
    for process in processes {
        let Some(instances) = &process.cloud.instances else { return Vec::new() };
        let words = instances.canonical_ids(&ids).await;
        answers.push(words.into_iter().map(|it| it.map_err(|error| error.to_string())).collect::<Vec<_>>());
    }
    let second = answers.pop().unwrap_or_default();
    let first = answers.pop().unwrap_or_default();
    ids.into_iter().zip(first.into_iter().zip(second)).map(|(id, (one, two))| (id, [one, two])).collect()
}
