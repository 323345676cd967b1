//! Questions about volumes: one by one and together, while each request in turn goes wrong.

use std::sync::Arc;

use cloud_provider::{Error, PersistentVolumes, Topology, Volume};

use crate::error::Result;
use crate::protocol::ForeignChange;
use crate::transcript::volumes::{RecordedVolumeQuestion, RecordedVolumes};

use super::reads::{TroubledRead, read_in_each_way};
use super::stage::{Stage, joining, wrong};

/// Everything about volumes; `None` without the capability, or where the simulator has none.
pub(crate) async fn play(stage: &mut Stage) -> Result<Option<RecordedVolumes>> {
    let process = stage.process().await?;
    let Some(volumes) = process.cloud.persistent_volumes.clone() else { return Ok(None) };
    let Some(machine) = stage.names.first().cloned() else { return Ok(None) };
    let (Some(there), Some(gone)) = (added(stage, &volumes, &machine).await?, added(stage, &volumes, &machine).await?)
    else {
        return Ok(None);
    };
    stage.admin.change(&ForeignChange::RemoveVolume { id: gone.handle.clone() }).await?;
    let mut questions = Vec::new();
    for (volume, exists) in [(&there, true), (&gone, false)] {
        let title = match exists {
            true => format!("get-topology of volume {}", volume.handle),
            false => format!("get-topology of volume {}, which is gone", volume.handle),
        };
        ask(stage, &volumes, &mut questions, &title, volume, exists).await?;
    }
    let other = stage.process().await?;
    let mut together = Vec::new();
    if let Some(volumes) = &other.cloud.persistent_volumes {
        let asked = [(gone, false), (there, true)];
        let both: Vec<_> = asked.iter().map(|(volume, _)| volume.clone()).collect();
        let answers = volumes.get_topology(&both).await.answer;
        together = asked.iter().zip(answers).map(|((_, exists), answer)| (*exists, heard(answer))).collect();
    }
    let machine = match &process.cloud.instances {
        Some(instances) => instances.get(&[joining(&machine)]).await.answer.pop(),
        None => None,
    };
    let machine = machine.and_then(|it| it.ok().flatten());
    Ok(Some(RecordedVolumes { questions, machine, together }))
}

/// A volume beside a machine, as a PersistentVolume has it.
async fn added(stage: &Stage, volumes: &Arc<dyn PersistentVolumes>, machine: &str) -> Result<Option<Volume>> {
    let description = volumes.description();
    let source = description.drivers.first().or_else(|| description.sources.first());
    let added = stage.admin.change(&ForeignChange::AddVolume { beside: machine.to_owned() }).await?;
    let (Some(handle), Some(source)) = (added.and_then(|it| it.id), source) else { return Ok(None) };
    Ok(Some(Volume { name: "pv-1".to_owned(), source: source.clone(), handle, attributes: Vec::new() }))
}

/// Asks once, and once more with each of its requests going wrong in each way.
async fn ask(
    stage: &mut Stage,
    volumes: &Arc<dyn PersistentVolumes>,
    questions: &mut Vec<RecordedVolumeQuestion>,
    title: &str,
    volume: &Volume,
    exists: bool,
) -> Result<()> {
    let one = async || {
        let answer = volumes.get_topology(std::slice::from_ref(volume)).await.answer.pop();
        heard(answer.expect("there is one answer for each volume"))
    };
    for TroubledRead { trouble, said, requests } in read_in_each_way(stage, one).await? {
        questions.push(RecordedVolumeQuestion { title: title.to_owned(), trouble, exists, said, requests });
    }
    Ok(())
}

fn heard(
    answer: std::result::Result<Option<Topology>, Error>,
) -> std::result::Result<Option<Topology>, crate::transcript::Wrong> {
    answer.map_err(|error| wrong(&error))
}
