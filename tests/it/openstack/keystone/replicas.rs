//! Two replicas with a login that Keystone refuses: it hears of the leader alone, since it counts the attempts of both.

use std::time::{Duration, Instant};

use tests::control_plane::cluster;
use tests::{kubelet, operator, wait};

use super::place::Place;

/// How long a standby is watched. Whoever asks when the process starts has asked by then.
const WATCHED: Duration = Duration::from_secs(3);
/// How long a login that was refused is not tried again.
const REFUSED: Duration = Duration::from_mins(1);

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
    let begun = Instant::now();
    let repeats = || usize::try_from(begun.elapsed().as_secs() / REFUSED.as_secs()).unwrap();
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
    // On a slow machine the leader itself asks again meanwhile.
    let more = wait::within(WATCHED, async || {
        let all = logins();
        (all.len() > 1 + repeats()).then_some(all)
    })
    .await;
    assert_eq!(more, None, "a standby has asked for a token");

    let asked = logins().len();
    leader.stop().await;
    standby.says("started cloud-node-controller").await;
    wait::until("the new leader asks", async || (logins().len() > asked).then_some(())).await;
    second.folder.write("secret", &project.credential.secret);
    operator::initialized(&cluster, "web-1").await;
    let mut all = logins();
    assert_eq!(all.pop(), Some(201));
    assert!(all.iter().all(|it| *it == 401) && (2..=2 + repeats()).contains(&all.len()), "{all:?}");
    standby.stop().await;
}
