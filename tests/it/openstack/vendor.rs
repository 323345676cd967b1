//! Aerostat leaves on Services and in OpenStack what OpenStack's own controller manager leaves, and asks for no more: the recordings of
//! `tests/golden/openstack`, played against the simulated region.

use std::collections::BTreeMap;

use futures::future::join_all;
use tests::beside::Compared;
use tests::openstack_vendor::story::{Story, stories};
use tests::openstack_vendor::{Stage, known, parts};

/// Stories whose process begins again, whose region stands still, or in which persons change what lists of other Services would show as it
/// was: each has a stage of its own.
const ALONE: [&str; 7] = ["drift", "groups-g1", "groups-off", "many-nodes", "pending", "rename", "created-in-error"];

/// Cases: openstack 23, openstack 25, openstack 26, openstack 27, openstack 29, openstack 31, openstack 32, openstack 33, openstack 34
/// Cases: openstack 36, openstack 37, openstack 38, openstack 39, openstack 40, openstack 45, openstack 46, openstack 47, openstack 50, openstack 52
#[tokio::test(flavor = "multi_thread")]
async fn aerostat_leaves_what_openstacks_own_manager_leaves() {
    #[expect(clippy::disallowed_methods, reason = "a person plays one of them")]
    let only = std::env::var("AEROSTAT_STORY").ok();
    #[expect(clippy::disallowed_methods, reason = "a person counts what each asks for alone")]
    let one_by_one = std::env::var("AEROSTAT_ONE_BY_ONE").is_ok();
    let mut groups: BTreeMap<String, Vec<Story>> = BTreeMap::new();
    for story in
        stories().into_iter().filter(|it| only.as_ref().is_none_or(|only| only.split(',').any(|name| name == it.name)))
    {
        let alone = (ALONE.contains(&story.name.as_str()) || one_by_one).then_some(&story.name);
        groups.entry(format!("{:?} {:?} {alone:?}", story.nodes, story.settings)).or_default().push(story);
    }
    let played = groups.values().map(async |stories| {
        let stage = Stage::new(&stories[0]).await;
        let compared = stage.play(stories, &known::TABLE, |line| println!("{line}")).await;
        stage.end().await;
        compared.wrong.iter().for_each(|it| println!("{it}"));
        compared
    });
    let mut compared = Compared::default();
    join_all(played).await.into_iter().for_each(|it| compared.add(it));
    let wrong = if only.is_some() { compared.wrong } else { compared.verdict(&known::TABLE) };
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Cases: openstack 5, openstack 6, openstack 41, openstack 42, openstack 60
#[tokio::test(flavor = "multi_thread")]
async fn parts_become_what_openstacks_own_manager_makes_of_them() {
    #[expect(clippy::disallowed_methods, reason = "a person plays one of them")]
    let only = std::env::var("AEROSTAT_STORY").ok();
    let is_played = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let part = async |name: &str, played: futures::future::LocalBoxFuture<'_, Compared>| match is_played(name) {
        true => played.await,
        false => Compared::default(),
    };
    let say = |line: String| println!("{line}");
    let (routes, machines, twenty) = tokio::join!(
        part("routes", Box::pin(parts::routes(&known::PARTS, say))),
        part("machines", Box::pin(parts::machines(&known::PARTS, say))),
        part("twenty", Box::pin(parts::twenty(&known::PARTS, say))),
    );
    let mut compared = Compared::default();
    [routes, machines, twenty].into_iter().for_each(|it| compared.add(it));
    let wrong = if only.is_some() { compared.wrong } else { compared.verdict(&known::PARTS) };
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
