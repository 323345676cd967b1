//! Aerostat leaves on Services, on nodes and in the account what the vendor's own controller manager leaves, and asks for no more: the
//! recordings of `tests/golden/ibm`, played against the simulated account.

use kube::api::DeleteParams;
use tests::ibm_vendor::{LEFTOVER, VpcStage, inheritances};
use tests::services;
use tests::vendor::{IbmCloud, Vendor as _};

use crate::known;

#[tokio::test(flavor = "multi_thread")]
async fn aerostat_leaves_what_ibms_own_manager_leaves() {
    let stage = VpcStage::resting().await;
    let compared = stage.play(&known::TABLE, &known::MOST, |line| println!("{line}")).await;
    stage.end().await;
    stage.cloud.assert_valid();
    let wrong = compared.verdict(&known::TABLE);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_ibms_own_manager_left_is_taken_over_unwritten() {
    let stage = VpcStage::resting().await;
    for (step, nodes, round) in inheritances() {
        stage.start().await;
        stage.have_nodes(&nodes).await;
        stage.end().await;
        let begun = stage.cloud.requests().len();
        let mut names = Vec::new();
        for state in &round {
            names.push(state.put(&stage).await);
        }
        stage.start().await;
        for name in &names {
            services::remembered(&stage.cluster, name).await;
        }
        stage.rests().await;
        assert_eq!(stage.writes_since(begun), [""; 0], "{names:?} after {step}");
        println!("{names:?} after {step}: {} requests", stage.cloud.requests().len() - begun);
        for name in &names {
            stage.services().delete(name, &DeleteParams::default()).await.unwrap();
        }
        for name in &names {
            services::gone(&stage.cluster, name).await;
        }
        let left = IbmCloud::built(stage.cloud.account());
        assert_eq!(left.len(), 1, "{step}: {left:?}");
        assert_eq!(left[0].name, LEFTOVER, "{step}");
    }
    stage.end().await;
    stage.cloud.assert_valid();
}
