//! The sidecars of CSI, whose work on volumes is done here: what they have left and asked is recorded, and aerostat plays the same story.

use tests::csi_sidecars::{VolumeRecording, VolumeStage, verdict};
use tests::manager::Who;

#[tokio::test(flavor = "multi_thread")]
async fn aerostat_leaves_what_the_sidecars_of_csi_leave() {
    let recording = VolumeRecording::read().unwrap();
    let stage = VolumeStage::new().await;
    let ours = stage.play(Who::Aerostat, |line| println!("{line}")).await;
    stage.end().await;
    let wrong = verdict(&recording, &ours).unwrap();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
