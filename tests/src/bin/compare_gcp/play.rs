//! The recorded stories, played by one of the two.

use tests::beside::{Compared, ComparedStep, Meant, compare};
use tests::gcp_vendor::story::{EXTERNAL, INTERNAL, NODES, part};
use tests::gcp_vendor::{GcpStage, known};
use tests::manager::Who;

/// A part that was played: each step beside its recording.
pub(crate) struct PlayedPart {
    /// `external`.
    pub(crate) name: &'static str,
    /// Its steps.
    pub(crate) steps: Vec<ComparedStep>,
}

/// Plays nodes and external load balancers, and in another project internal ones.
pub(crate) async fn stories(who: Who) -> Vec<PlayedPart> {
    let table: &[Meant] = if who == Who::Vendor { &known::PACKAGE } else { &known::TABLE };
    let say = |line: String| println!("{line}");
    let external = async {
        let stage = GcpStage::resting().await;
        stage.start_as(who).await;
        let nodes = stage.played(&part(NODES), table, say).await;
        let external = stage.played(&part(EXTERNAL), table, say).await;
        stage.end().await;
        vec![PlayedPart { name: "nodes", steps: nodes }, PlayedPart { name: "external", steps: external }]
    };
    let internal = async {
        let stage = GcpStage::resting().await;
        stage.start_as(who).await;
        stage.join_nodes().await;
        let internal = stage.played(&part(INTERNAL), table, say).await;
        stage.end().await;
        PlayedPart { name: "internal", steps: internal }
    };
    let (mut all, internal) = tokio::join!(external, internal);
    all.push(internal);
    all
}

/// Differences from the recordings that are not meant to be.
pub(crate) fn beside_recordings(parts: &[PlayedPart], table: &[Meant]) -> Vec<String> {
    let mut compared = Compared::default();
    parts.iter().for_each(|it| compared.add(compare(table, it.name, &it.steps)));
    compared.verdict(table)
}
