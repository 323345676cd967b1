//! Questions about machines: one by one and in lists, while each request in turn goes wrong.

use std::sync::Arc;

use cloud_provider::{Instances, Node};

use crate::error::Result;
use crate::host::HostProcess;
use crate::protocol::ForeignChange;
use crate::transcript::{ListedPage, Listing, RecordedMachines, RecordedQuestion, Truth};

use super::reads::{ReadPages, TroubledRead, lists_in_each_way, pages, read_in_each_way};
use super::stage::{Stage, initialised, joining, wrong};

/// How many machines are asked about one by one.
const ASKED: usize = 2;
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
    let one = async || {
        let said = instances.get(std::slice::from_ref(node)).await.answer.pop();
        said.expect("there is one answer for each node").map_err(|error| wrong(&error))
    };
    for TroubledRead { trouble, said, requests } in read_in_each_way(stage, one).await? {
        questions.push(RecordedQuestion { title: title.to_owned(), trouble, truth, said, requests });
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
    let lists = lists_in_each_way(stage, own, async |limit| {
        pages(async |cursor| {
            let page = instances.list(cursor, limit).await.answer.map_err(|error| wrong(&error))?;
            let gaps = page.gaps.into_iter().map(|it| it.reason).collect();
            Ok((ListedPage { instances: page.instances, gaps }, page.next))
        })
        .await
    });
    let lists = lists.await?.into_iter().map(|(limit, TroubledRead { trouble, said, requests })| {
        let ReadPages { pages, is_endless } = said;
        Listing { limit, trouble, names: stage.names.clone(), pages, is_endless, requests }
    });
    Ok(lists.collect())
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
