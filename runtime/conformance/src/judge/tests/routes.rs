//! Routes and volumes, each beside what would be right.

use cloud_provider::{Route, RouteChange, RouteOwnership, RouteState, RouteTarget, Topology};
use serde_json::json;

use super::{object, sentences, transcript};
use crate::judge::{routes, volumes};
use crate::transcript::Transcript;
use crate::transcript::Wrong;
use crate::transcript::routes::{
    ApplyCall, MistakenChange, MixedChanges, RecordedRoutes, RouteListing, RoutePart, RouteStory, SaidOfRoute,
};
use crate::transcript::volumes::{RecordedVolumeQuestion, RecordedVolumes};
use crate::trouble::Phase;

const ONE: &str = "10.244.1.0/24";

fn route(hop: &str) -> Route {
    Route {
        destination: ONE.to_owned(),
        next_hop: Some(hop.to_owned()),
        ownership: RouteOwnership::Ours,
        state: RouteState::Active,
        id: "route-1".to_owned(),
        extra: Vec::new(),
    }
}

fn listing(routes: Vec<Route>) -> RouteListing {
    RouteListing { limit: 10, trouble: None, pages: vec![Ok((routes, None))], is_endless: false }
}

/// Routes of which one is made and deleted, as it should be.
fn played() -> RecordedRoutes {
    let target = RouteTarget { next_hop: "10.0.0.7".to_owned(), node: cloud_provider::Node::default() };
    let change = |before, after| RouteChange { destination: ONE.to_owned(), before, after, pending: None };
    let done = || ApplyCall { said: vec![(0, SaidOfRoute::Done)], requests: Vec::new() };
    let made = RoutePart {
        phase: Phase::Create,
        changes: vec![change(None, Some(target))],
        calls: vec![done()],
        again: Some(done()),
        listed: listing(vec![route("10.0.0.7")]),
        after: vec![object("1", json!(ONE))],
    };
    let gone = RoutePart {
        phase: Phase::Delete,
        changes: vec![change(Some(route("10.0.0.7")), None)],
        calls: vec![done()],
        again: None,
        listed: listing(Vec::new()),
        after: Vec::new(),
    };
    RecordedRoutes {
        stories: vec![RouteStory { trouble: None, before: Vec::new(), parts: vec![made, gone] }],
        lists: vec![listing(vec![route("10.0.0.7")])],
        mistaken: vec![MistakenChange {
            title: "a mistake".to_owned(),
            said: Some(refused()),
            before: Vec::new(),
            after: Vec::new(),
        }],
        mixed: Some(MixedChanges {
            destinations: vec![ONE.to_owned(), "10.244.2.0/24".to_owned()],
            bad: 1,
            said: vec![SaidOfRoute::Done, refused()],
        }),
        foreign: None,
        unreached: Vec::new(),
    }
}

fn refused() -> SaidOfRoute {
    SaidOfRoute::Error(Wrong { is_final: true, text: "it leads elsewhere".to_owned() })
}

/// Everything that judges say of routes.
fn of(change: impl FnOnce(&mut RecordedRoutes)) -> Vec<String> {
    let mut played = played();
    change(&mut played);
    let transcript = Transcript { routes: Some(played), ..transcript() };
    let all = [
        routes::changes_converge,
        routes::route_is_made_once,
        routes::routes_are_listed,
        routes::route_list_tells_its_gaps,
        routes::done_route_is_not_written,
        routes::deleted_route_is_gone,
        routes::other_routes_stay,
        routes::changed_route_is_refused,
        routes::bad_change_stands_alone,
    ];
    all.iter().flat_map(|judge| sentences(judge(&transcript))).collect()
}

#[test]
fn routes_that_come_and_go_break_nothing() {
    assert_eq!(of(|_| ()), [""; 0]);
}

#[test]
fn routes_that_end_otherwise_are_told() {
    let open = of(|it| it.stories[0].parts[0].calls[0].said[0].1 = SaidOfRoute::Pending("it waits".to_owned()));
    assert_eq!(open[0], "create: after 1 calls the route to 10.244.1.0/24 is not done, but pending (it waits)");
    let elsewhere = of(|it| it.stories[0].parts[0].listed = listing(vec![route("10.0.0.9")]));
    assert!(elsewhere[0].contains("lead to Some(\"10.0.0.9\"), and not to 10.0.0.7"), "{elsewhere:?}");
    let left = of(|it| it.stories[0].parts[1].after = vec![object("1", json!(ONE))]);
    assert!(left.iter().any(|it| it == "done, and load balancer 1  is left"), "{left:?}");
    let taken = of(|it| it.mistaken[0].said = Some(SaidOfRoute::Done));
    assert_eq!(taken, ["it is not invalid, but done"]);
    let held_up = of(|it| it.mixed.as_mut().unwrap().said[0] = refused());
    assert_eq!(held_up, ["the route to 10.244.1.0/24 can be made, and is an error (it leads elsewhere)"]);
    let twice = of(|played| {
        let after = vec![object("1", json!(ONE)), object("2", json!(ONE))];
        let moved = RoutePart { phase: Phase::Change, after, again: None, ..played.stories[0].parts[0].clone() };
        played.stories[0].parts.insert(1, moved);
    });
    assert_eq!(twice, ["after change: 2 of load balancer, where 1 is right"]);
    let harmed = of(|it| it.mistaken[0].before = vec![object("7", json!(1))]);
    assert_eq!(harmed, ["it has deleted load balancer 7 "]);
}

#[test]
fn volumes_that_are_certain_break_nothing_and_others_are_told() {
    let judge = |exists, said: Result<Option<Topology>, Wrong>, trouble| {
        let question =
            RecordedVolumeQuestion { title: "volume".to_owned(), trouble, exists, said, requests: Vec::new() };
        let volumes = RecordedVolumes { questions: vec![question], machine: None, together: Vec::new() };
        let transcript = Transcript { volumes: Some(volumes), ..transcript() };
        let all = [volumes::volume_is_found, volumes::volume_none_only_when_certain, volumes::volume_none_when_gone];
        all.iter().flat_map(|judge| sentences(judge(&transcript))).collect::<Vec<_>>()
    };
    let there = || Topology { zones: vec!["north-1".to_owned()], ..Topology::default() };
    let lost = Some((1, crate::protocol::How::LostBefore));
    assert_eq!(judge(true, Ok(Some(there())), None), [""; 0]);
    assert_eq!(judge(false, Ok(None), None), [""; 0]);
    assert_eq!(judge(true, Ok(None), None), ["it answers that the volume does not exist"]);
    assert_eq!(judge(true, Ok(None), lost), ["it answers that the volume does not exist, which it does"]);
    let failed = Wrong { is_final: false, text: "busy".to_owned() };
    assert_eq!(judge(false, Err(failed), None), ["it answers with an error: busy"]);
}
