//! A volume at a provider, asked for step by step until nothing is pending.

use std::sync::Arc;

use cloud_provider::{
    AccessMode, AttachMode, CloudVolume, CloudVolumes, DesiredVolume, KnownVolume, VolumeAttachment, VolumeCreation,
    VolumeDetachment,
};

/// The most steps of one wait.
const STEPS: usize = 20;

/// Asks again until the answer is no step any more.
///
/// # Panics
///
/// Panics if it is pending after twenty steps.
pub async fn settled<A>(mut step: impl AsyncFnMut() -> A, is_pending: impl Fn(&A) -> bool) -> A {
    for _ in 0..STEPS {
        let answer = step().await;
        if !is_pending(&answer) {
            return answer;
        }
    }
    panic!("it is pending after {STEPS} steps");
}

/// A new volume, once it can be used.
///
/// # Panics
///
/// Panics if it is refused, or pending after twenty steps.
pub async fn made(volumes: &Arc<dyn CloudVolumes>, mut desired: DesiredVolume) -> CloudVolume {
    for step in 0..STEPS {
        match volumes.create(&desired, step == 0).await.answer {
            Ok(VolumeCreation::Ready(volume)) => return *volume,
            Ok(VolumeCreation::Pending(it)) => keep(&mut desired, it.memo),
            other => panic!("{other:?}"),
        }
    }
    panic!("it is pending after {STEPS} steps");
}

/// Keeps the memo of a pending creation, as the host does: the next call is the first one with it, if it is another.
pub fn keep(desired: &mut DesiredVolume, memo: Option<String>) {
    desired.memo_is_new = memo.is_some() && memo != desired.memo;
    desired.memo = memo;
}

/// The last answer about the attachment of a volume to one node's machine.
///
/// # Panics
///
/// Panics if it is refused, or pending after twenty steps.
pub async fn attached(volumes: &Arc<dyn CloudVolumes>, volume: &KnownVolume, node: &str) -> VolumeAttachment {
    let mode = AttachMode { access_modes: vec![AccessMode::OneNode], ..AttachMode::default() };
    let step = async || volumes.attach(volume, node, &mode).await.answer.expect("it is attached");
    settled(step, |it| matches!(it, VolumeAttachment::Pending(_))).await
}

/// The last answer about its detachment.
///
/// # Panics
///
/// Panics if it is refused, or pending after twenty steps.
pub async fn detached(volumes: &Arc<dyn CloudVolumes>, volume: &KnownVolume, node: &str) -> VolumeDetachment {
    let step = async || volumes.detach(volume, node).await.answer.expect("it is detached");
    settled(step, |it| matches!(it, VolumeDetachment::Pending(_))).await
}
