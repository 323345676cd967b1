//! Keys that end: sessions of a role for a token of a service account, and of the machine's role.

use std::sync::Arc;
use std::time::Duration;

use egress::{Acs3Keys, KeyServiceUrl, RamArn};
use tests::clouds::alibaba::{
    ACCOUNT, EcsMetadata, OIDC_TOKEN, OTHER_ACCOUNT, Options, Owner, PROVIDER, ROLE, Simulator, VPC,
};
use tests::published::{Served, alibaba};
use tests::vendor::loading::Secret;

use crate::setup::Rig;

/// A provider with a role for the ServiceAccount.
async fn with_role() -> Rig {
    let Served { url, simulator } = alibaba::serve(0, Some(Duration::ZERO)).await.unwrap();
    let token = Secret::write(OIDC_TOKEN);
    let keys = Acs3Keys::Oidc {
        role_arn: RamArn::parse_role(ROLE).unwrap(),
        provider_arn: RamArn::parse_provider(PROVIDER).unwrap(),
        token_file: token.path(),
    };
    Rig::over(simulator, Some(&url), keys, &[], vec![token]).await
}

/// Cases: alibaba 40
#[tokio::test]
async fn alibaba_040_a_session_that_has_ended_is_renewed() {
    let rig = with_role().await;
    assert_eq!(rig.list_all(100).await.len(), 3);
    rig.cloud.ram().end_sessions();
    let begun = rig.cloud.requests().len();
    assert_eq!(rig.list_all(100).await.len(), 3, "behind the guest");
    let asked = rig.asked_since(begun);
    let expected = ["ecs/DescribeInstances → 400", "sts/AssumeRoleWithOIDC → 200", "ecs/DescribeInstances → 200"];
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn a_clock_that_differs_is_corrected_once() {
    let rig = Rig::instant().await;
    rig.cloud.ram().set_clock_ahead(Duration::from_secs(3_600));
    let begun = rig.cloud.requests().len();
    assert_eq!(rig.list_all(100).await.len(), 3);
    assert_eq!(rig.list_all(100).await.len(), 3);
    let asked = rig.asked_since(begun);
    assert_eq!(asked, ["ecs/DescribeInstances → 400", "ecs/DescribeInstances → 200", "ecs/DescribeInstances → 200"]);
}

#[tokio::test]
async fn keys_of_the_machines_role_sign_too() {
    let cloud = Simulator::start(Options::instant()).await.unwrap();
    let metadata = EcsMetadata::start(Arc::clone(cloud.ram())).await;
    let url = KeyServiceUrl::parse(&metadata.url()).unwrap();
    let rig = Rig::over(cloud, None, Acs3Keys::InstanceMetadata { url }, &[], Vec::new()).await;
    assert_eq!(rig.list_all(100).await.len(), 3);
    rig.cloud.assert_valid();
}

/// The host writes and deletes nothing with it.
#[tokio::test]
async fn the_key_of_another_account_is_another_identity() {
    let rig = Rig::instant().await;
    let here = rig.abilities.identity.identity().await.unwrap().unwrap();
    assert!(here.contains(&ACCOUNT.to_string()) && here.contains(VPC), "{here}");
    rig.cloud.set_owner(Owner::Other);
    let there = rig.abilities.identity.identity().await.unwrap().unwrap();
    assert!(there.contains(&OTHER_ACCOUNT.to_string()), "{there}");
    assert_ne!(here, there);
}
