//! Questions about machines, volumes and the account, made again while each of their requests goes wrong.

use std::collections::BTreeSet;

use cloud_provider::Node;

use crate::conversation::{NodeInput, NodesInput, VolumeInput};
use crate::error::Result;
use crate::play::reads::TroubledRead;
use crate::play::stage::wrong;
use crate::transcript::volumes::{RecordedVolumeQuestion, RecordedVolumes};
use crate::transcript::{Listing, RecordedQuestion, Truth, Wrong};

use super::stage::{RecordedStage, TROUBLES};

/// Each question about machines, as it was recorded and with each of its requests going wrong.
pub(super) async fn machines(stage: &mut RecordedStage) -> Result<Vec<RecordedQuestion>> {
    let process = stage.process().await?;
    let Some(instances) = process.cloud.instances.clone() else { return Ok(Vec::new()) };
    let mut questions: Vec<RecordedQuestion> = Vec::new();
    for number in stage.calls_of("instances.get") {
        let nodes = nodes(stage, number)?;
        let heard = asked(stage, number, async || instances.get(&nodes).await.answer).await;
        let Some(usual) = heard.first() else { continue };
        let truths: Vec<_> =
            usual.said.iter().map(|it| if matches!(it, Ok(None)) { Truth::Gone } else { Truth::Runs }).collect();
        for TroubledRead { trouble, said, requests } in heard {
            for ((node, truth), said) in nodes.iter().zip(&truths).zip(said) {
                let title = format!("{}, {}", stage.title(number), node.name);
                let requests = requests.clone();
                questions.push(RecordedQuestion { title, trouble, truth: *truth, said, requests });
            }
        }
    }
    Ok(questions)
}

/// The answers as they were recorded, and with each request of the call going wrong. None, if it asks for what was not recorded.
async fn asked<T>(
    stage: &mut RecordedStage,
    number: usize,
    ask: impl AsyncFn() -> Vec<cloud_provider::Result<T>>,
) -> Vec<TroubledRead<Vec<std::result::Result<T, Wrong>>>> {
    let one = async |stage: &mut RecordedStage, trouble| {
        stage.begin(trouble);
        stage.call(number);
        let said = ask().await.into_iter().map(|it| it.map_err(|error| wrong(&error))).collect();
        TroubledRead { trouble, said, requests: stage.asked() }
    };
    let usual = one(stage, None).await;
    if stage.is_unplayed(number) {
        return Vec::new();
    }
    let troubles: Vec<_> = (1..=usual.requests.len()).flat_map(|nth| TROUBLES.map(|how| (nth, how))).collect();
    let mut heard = vec![usual];
    for trouble in troubles {
        heard.push(one(stage, Some(trouble)).await);
    }
    heard
}

fn nodes(stage: &RecordedStage, number: usize) -> Result<Vec<Node>> {
    let all = match stage.argument(number)? {
        NodesInput::One(node) => vec![*node],
        NodesInput::Several(nodes) => nodes,
    };
    all.into_iter().map(NodeInput::node).collect::<std::result::Result<_, _>>().map_err(|it| stage.unusable(number, it))
}

/// The canonical word of every provider id that was answered, as two processes say it.
pub(super) async fn words(
    stage: &RecordedStage,
    questions: &[RecordedQuestion],
    lists: &[Listing],
) -> Result<Vec<(String, [std::result::Result<String, String>; 2])>> {
    let asked = questions.iter().filter_map(|it| it.said.as_ref().ok()?.as_ref());
    let all = asked.chain(lists.iter().flat_map(Listing::instances));
    let ids: BTreeSet<String> = all.filter_map(|it| it.provider_id.clone()).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let mut answers = Vec::new();
    for process in [stage.process().await?, stage.process().await?] {
        let Some(instances) = &process.cloud.instances else { return Ok(Vec::new()) };
        let words = instances.canonical_ids(&ids).await;
        answers.push(words.into_iter().map(|it| it.map_err(|error| error.to_string())).collect::<Vec<_>>());
    }
    let (second, first) = (answers.pop().unwrap_or_default(), answers.pop().unwrap_or_default());
    Ok(ids.into_iter().zip(first.into_iter().zip(second)).map(|(id, (one, two))| (id, [one, two])).collect())
}

/// The account, each time that it was asked.
pub(super) async fn accounts(stage: &mut RecordedStage) -> Result<Vec<std::result::Result<Option<String>, String>>> {
    let process = stage.process().await?;
    let mut accounts = Vec::new();
    for number in stage.calls_of("provider.identity") {
        stage.begin(None);
        stage.call(number);
        let account = process.cloud.identity.identity().await.map_err(|error| error.to_string());
        if !stage.is_unplayed(number) {
            accounts.push(account);
        }
    }
    Ok(accounts)
}

/// Each question about volumes, as it was recorded and with each of its requests going wrong; `None` if there is none.
pub(super) async fn volumes(stage: &mut RecordedStage) -> Result<Option<RecordedVolumes>> {
    let process = stage.process().await?;
    let Some(volumes) = process.cloud.persistent_volumes.clone() else { return Ok(None) };
    let mut questions: Vec<RecordedVolumeQuestion> = Vec::new();
    for number in stage.calls_of("persistent-volumes.get-topology") {
        let inputs: Vec<VolumeInput> = stage.argument(number)?;
        let several: Vec<_> = inputs.into_iter().map(VolumeInput::volume).collect();
        let heard = asked(stage, number, async || volumes.get_topology(&several).await.answer).await;
        let Some(usual) = heard.first() else { continue };
        let exist: Vec<_> = usual.said.iter().map(|it| !matches!(it, Ok(None))).collect();
        for TroubledRead { trouble, said, requests } in heard {
            for ((volume, exists), said) in several.iter().zip(&exist).zip(said) {
                let title = format!("{}, {}", stage.title(number), volume.handle);
                questions.push(RecordedVolumeQuestion {
                    title,
                    trouble,
                    exists: *exists,
                    said,
                    requests: requests.clone(),
                });
            }
        }
    }
    let has_any = !questions.is_empty();
    Ok(has_any.then_some(RecordedVolumes { questions, machine: None, together: Vec::new() }))
}
