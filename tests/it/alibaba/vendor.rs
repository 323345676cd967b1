//! Aerostat leaves on Services, on nodes and in the account what the vendor's own controller manager leaves, and asks for no more: the
//! recordings of `tests/golden/alibaba`, played against the simulated account.

use tests::alibaba_vendor::story::{CLASSIC, NETWORK};
use tests::alibaba_vendor::{AliStage, known};
use tests::beside::Compared;

use crate::asked::are_those_of_the_vendors_client;

#[tokio::test(flavor = "multi_thread")]
async fn aerostat_leaves_what_alibabas_own_manager_leaves() {
    let say = |line: String| println!("{line}");
    let classic = async {
        let stage = AliStage::new().await;
        let compared = stage.play(&CLASSIC, &known::TABLE, say).await;
        stage.end().await;
        are_those_of_the_vendors_client(&stage.cloud.requests()).await;
        stage.cloud.assert_valid();
        compared
    };
    let network = async {
        let stage = AliStage::new().await;
        stage.join_nodes().await;
        let compared = stage.play(&NETWORK, &known::TABLE, say).await;
        stage.end().await;
        are_those_of_the_vendors_client(&stage.cloud.requests()).await;
        stage.cloud.assert_valid();
        compared
    };
    let (classic, network) = tokio::join!(classic, network);
    let mut compared = Compared::default();
    compared.add(classic);
    compared.add(network);
    let wrong = compared.verdict(&known::TABLE);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
