//! The story: its steps, and what happens in each.

use serde_json::Value;

use super::ground::NODES;
use crate::manager::Who;

/// An event that is made to happen, and the state that is waited for.
pub struct VolumeStep {
    /// In the recording.
    pub name: &'static str,
    /// Whether other processes begin with it.
    pub restart: bool,
    /// One after the other.
    pub(super) changes: Vec<VolumeChange>,
    /// Whether it is over: what is there says so.
    pub(super) is_over: fn(Who, &Value) -> bool,
}

/// One thing that happens.
#[derive(Debug)]
pub(super) enum VolumeChange {
    /// A claim comes: its name, its class and its size.
    Claim(&'static str, &'static str, &'static str),
    /// The scheduler selects a node for a claim.
    Select(&'static str, &'static str),
    /// A pod with two claims comes to a node, gets their disks, and runs.
    Run(&'static str, &'static str, [&'static str; 2]),
    /// The pod of that name on that node ends, and lets go of its disks.
    End(&'static str, &'static str),
    /// A claim asks for this size.
    Ask(&'static str, &'static str),
    /// The node has grown the file system of a claim to this size.
    Grown(&'static str, &'static str),
    /// A claim is deleted.
    Delete(&'static str),
    /// The PersistentVolume of that claim is deleted.
    DeleteVolume(&'static str),
    /// A claim of `csi-now` comes, and goes while its disk is being made. The answer about the disk comes late, or never.
    ComeAndGo(&'static str, LateAnswer),
}

/// The answer about a disk whose claim is gone by then.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LateAnswer {
    /// It says that there is a disk.
    Good,
    /// The connection breaks. There is a disk all the same.
    Lost,
}

use self::VolumeChange::{Ask, Claim, ComeAndGo, Delete, DeleteVolume, End, Grown, Run, Select};

/// The whole story.
#[must_use]
pub fn story() -> Vec<VolumeStep> {
    let [(first, _), (second, _)] = NODES;
    let step = |name, changes, is_over| VolumeStep { name, restart: false, changes, is_over };
    let provision = vec![
        Claim("data", "csi-now", "2Gi"),
        // A part of a gigabyte, which the cloud does not have.
        Claim("odd", "csi-now", "1536Mi"),
        Claim("kept", "csi-later", "1Gi"),
        Select("kept", first),
    ];
    vec![
        step("provision", provision, |_, it| bound(it, &["data", "odd", "kept"])),
        step("attach", vec![Run("web", first, ["data", "kept"])], |_, it| attached_at(it, NODES[0].0, 2)),
        step("move", vec![End("web", first), Run("web-again", second, ["data", "kept"])], |_, it| {
            attached_at(it, NODES[1].0, 2)
        }),
        step("grow", vec![Ask("data", "4Gi")], |_, it| it["claims"]["data"]["growing"] == "NodeResizePending"),
        step("grown", vec![Grown("data", "4Gi")], |_, it| it["claims"]["data"]["capacity"] == "4Gi"),
        VolumeStep { restart: true, ..step("restart", Vec::new(), |_, it| attached_at(it, NODES[1].0, 2)) },
        step("late", vec![ComeAndGo("late", LateAnswer::Good)], |_, it| disks(it) == ["data", "kept", "odd"]),
        step("lost", vec![ComeAndGo("lost", LateAnswer::Lost)], |who, it| {
            // Theirs forgets the disk, and there is nothing to wait for.
            who == Who::Vendor || disks(it) == ["data", "kept", "odd"]
        }),
        step("delete", vec![End("web-again", second), Delete("data"), Delete("odd"), Delete("kept")], |_, it| {
            left(it, "claims").is_empty() && left(it, "attachments").is_empty() && left(it, "volumes") == ["kept"]
        }),
        step("let-go", vec![DeleteVolume("kept")], |_, it| left(it, "volumes").is_empty()),
    ]
}

fn bound(seen: &Value, claims: &[&str]) -> bool {
    claims.iter().all(|it| seen["claims"][it]["phase"] == "Bound")
}

/// Whether so many attachments are there, all at this node and attached.
fn attached_at(seen: &Value, node: &str, count: usize) -> bool {
    let all = seen["attachments"].as_object();
    let is_there =
        |(name, it): (&String, &Value)| name.ends_with(&format!(" at {node}")) && it["status"]["attached"] == true;
    all.is_some_and(|all| all.len() == count && all.iter().all(is_there))
}

/// The names of the disks, but for one that theirs may have forgotten before.
fn disks(seen: &Value) -> Vec<&str> {
    left(seen, "disks")
}

/// The names of the objects of a kind that are there.
fn left<'a>(seen: &'a Value, kind: &str) -> Vec<&'a str> {
    let names = seen[kind].as_object().into_iter().flatten();
    let mut names: Vec<_> = names.map(|(name, _)| name.strip_prefix("pvc-").unwrap_or(name)).collect();
    names.sort_unstable();
    names
}
