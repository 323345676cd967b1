//! Aerostat leaves on Services, on nodes and in the account what the vendor's own controller manager leaves, and asks for no more: the
//! recordings of `tests/golden/alibaba`, played against the simulated account.

use kube::api::DeleteParams;
use tests::alibaba_vendor::story::{CLASSIC, NETWORK};
use tests::alibaba_vendor::{AliStage, inheritances, known};
use tests::beside::Compared;
use tests::vendor::{AlibabaCloud, Vendor as _};
use tests::{services, wait};

use crate::asked::{ELSEWHERE, are_those_of_the_vendors_client};

#[tokio::test(flavor = "multi_thread")]
async fn aerostat_leaves_what_alibabas_own_manager_leaves() {
    let say = |line: String| println!("{line}");
    let classic = async {
        let stage = AliStage::new().await;
        let compared = stage.play(&CLASSIC, &known::TABLE, say).await;
        stage.end().await;
        let asked = are_those_of_the_vendors_client(&stage.cloud.requests()).await;
        stage.cloud.assert_valid();
        (compared, asked)
    };
    let network = async {
        let stage = AliStage::new().await;
        stage.join_nodes().await;
        let compared = stage.play(&NETWORK, &known::TABLE, say).await;
        stage.end().await;
        let asked = are_those_of_the_vendors_client(&stage.cloud.requests()).await;
        stage.cloud.assert_valid();
        (compared, asked)
    };
    let ((classic, asked), (network, asked_too)) = tokio::join!(classic, network);
    let mut compared = Compared::default();
    compared.add(classic);
    compared.add(network);
    let wrong = compared.verdict(&known::TABLE);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    let is_compared = |action: &str| [&asked, &asked_too].iter().any(|it| it.contains(action));
    let others: Vec<&str> = ELSEWHERE.into_iter().filter(|it| !is_compared(it)).collect();
    assert_eq!(others, [""; 0], "they are compared nowhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_alibabas_own_manager_left_is_taken_over_unwritten() {
    let stage = AliStage::resting().await;
    stage.inherit_nodes().await;
    assert_eq!(stage.writes_since(0), [""; 0], "routes and interfaces are as theirs made them");
    let rounds = inheritances();
    let last = rounds.len() - 1;
    for (number, round) in rounds.into_iter().enumerate() {
        if number == last {
            stage.exchange_nodes().await;
        }
        stage.end().await;
        let begun = stage.cloud.requests().len();
        let mut names = Vec::new();
        for state in &round {
            names.push(state.put(&stage).await);
        }
        stage.start().await;
        for name in &names {
            wait::until(&format!("{name} is known"), async || {
                let status = stage.services().get(name).await.unwrap().status?;
                status.conditions?.into_iter().find(|it| it.type_ == "aerostat.dev/memo")
            })
            .await;
        }
        stage.rests().await;
        let steps: Vec<&str> = round.iter().map(|it| &*it.step).collect();
        assert_eq!(stage.writes_since(begun), [""; 0], "{names:?} after {steps:?}");
        println!("{names:?} after {steps:?}: {} requests", stage.cloud.requests().len() - begun);
        for name in &names {
            stage.services().delete(name, &DeleteParams::default()).await.unwrap();
        }
        for name in &names {
            services::gone(&stage.cluster, name).await;
        }
        let left = AlibabaCloud::built(stage.cloud.account());
        assert_eq!(left.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["by-hand"], "{steps:?}");
        let parts = AlibabaCloud::leftovers(stage.cloud.account());
        assert_eq!(parts, ["acl-1 is left"], "{steps:?}");
    }
    stage.end().await;
    stage.cloud.assert_valid();
}
