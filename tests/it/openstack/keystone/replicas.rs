//! Two replicas with a login that Keystone refuses: it hears of the leader alone, since it counts the attempts of both.

use std::time::Duration;

use tests::control_plane::cluster;
use tests::{kubelet, operator, wait};

use super::place::Place;

/// How long a standby is watched. Whoever asks when the process starts has asked by then.
const WATCHED: Duration = Duration::from_secs(3);

#[tokio::test]
async fn bad_logins_of_two_replicas_are_the_leaders_alone() {
    let place = Place::alone().await;
    let (cluster, project) = tokio::join!(cluster(), place.project());
    let [first, second] = [(); 2].map(|()| place.setup(&cluster, &project));
    for setup in [&first, &second] {
        setup.folder.write("secret", "a-wrong-word");
    }
    let before = place.keystone.logins().len();
    let logins = || place.keystone.logins().split_off(before);
    let leader = first.started().await;
    kubelet::join(&cluster.admin, "web-1").await.unwrap();
    let parts = [
        "E-EGRESS-CREDENTIAL",
        "credential openstack: Keystone (",
        "the application credential whose id is in ",
        "(401",
        "make a new one",
    ];
    operator::event(&cluster, "web-1", &parts).await;
    // Keystone writes its log once it has answered.
    wait::until("its login is known", async || (logins() == [401]).then_some(())).await;

    let mut standby = second.start();
    standby.says("standing by").await;
    let more = wait::within(WATCHED, async || (logins().len() > 1).then(logins)).await;
    assert_eq!(more, None, "a standby has asked for a token");

    leader.stop().await;
    standby.says("started cloud-node-controller").await;
    wait::until("the new leader asks", async || (logins() == [401, 401]).then_some(())).await;
    second.folder.write("secret", &project.credential.secret);
    operator::initialized(&cluster, "web-1").await;
    assert_eq!(logins(), [401, 401, 201]);
    standby.stop().await;
}
