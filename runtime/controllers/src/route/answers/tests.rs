use super::*;
use crate::route::plan::DesiredTarget;

fn cidr(nth: usize) -> Cidr {
    Cidr::parse(&format!("10.244.{nth}.0/24")).unwrap()
}

fn creation(nth: usize) -> DestinationChange {
    let after = Some(DesiredTarget { node: format!("n{nth}"), hop: format!("hop-{nth}") });
    DestinationChange { cidr: cidr(nth), before: None, after, is_braked: false }
}

fn there(nth: usize, hop: &str) -> ListedRoute {
    let destination = cidr(nth).to_string();
    let route = Route {
        id: destination.clone(),
        destination,
        next_hop: Some(hop.to_owned()),
        ownership: RouteOwnership::Ours,
        state: RouteState::Active,
        extra: Vec::new(),
    };
    ListedRoute { cidr: cidr(nth), route, is_guess: false }
}

fn deletion(nth: usize, hop: &str) -> DestinationChange {
    DestinationChange { cidr: cidr(nth), before: Some(there(nth, hop).route), after: None, is_braked: true }
}

fn unavailable() -> Result<RouteOutcome> {
    Err(Error::Unavailable("down".to_owned()))
}

fn pending(after: Duration) -> Result<RouteOutcome> {
    Ok(RouteOutcome::Pending { after, reason: "the network is locked".to_owned() })
}

const SECOND: Duration = Duration::from_secs(1);

/// A pass with one answer.
fn note(rests: &mut Rests, change: &DestinationChange, answer: &Result<RouteOutcome>, now: Instant, jitter: f64) {
    rests.answered(&[(change.clone(), answer.clone())], now, || jitter);
}

/// The pauses of a change that is answered like this again and again, in seconds, and whether a list comes first.
fn pauses(answer: &Result<RouteOutcome>) -> Vec<(u64, bool)> {
    let (mut rests, mut now) = (Rests::default(), Instant::now());
    let far = now + 100 * FULL_PAUSE;
    let mut pauses = Vec::new();
    for _ in 0..8 {
        note(&mut rests, &creation(1), answer, now, 0.0);
        let next = rests.next(far, None).unwrap();
        pauses.push(((next.at - now).as_secs(), next.lists));
        now = next.at;
        rests.listed();
        assert!(rests.resting(now).is_empty(), "its time has come");
    }
    pauses
}

#[test]
fn case_196_a_failed_route_is_tried_after_longer_pauses() {
    let doubling = [5, 10, 20, 40, 80, 160, 300, 300];
    assert_eq!(pauses(&unavailable()), doubling.map(|it| (it, true)));
    assert_eq!(pauses(&Err(Error::Invalid("something else is there".to_owned()))), doubling.map(|it| (it, true)));
    assert_eq!(pauses(&Err(Error::Denied("no".to_owned()))), [(300, false); 8]);
    let throttled = Err(Error::RetryAfter { after: 7 * SECOND, reason: "slow down".to_owned() });
    assert_eq!(pauses(&throttled), [(7, false); 8]);
    assert_eq!(pauses(&pending(900 * SECOND)), [(300, false); 8]);
}

#[test]
fn a_pending_route_is_asked_about_later_and_later() {
    const QUICK: Duration = Duration::from_millis(200);
    let in_seconds = |it: &Result<RouteOutcome>| pauses(it).into_iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(in_seconds(&pending(2 * SECOND)), [2, 2, 2, 3, 4, 6, 10, 10]);
    assert_eq!(in_seconds(&pending(20 * SECOND)), [20; 8], "what the provider asks for is obeyed");
    let (mut rests, start) = (Rests::default(), Instant::now());
    let mut pause = |at: u64, answers: &[Answered]| {
        let now = start + Duration::from_millis(at);
        rests.answered(answers, now, || 0.0);
        rests.next(now + FULL_PAUSE, None).map(|it| (it.at - now).as_millis())
    };
    let waits = |nth: usize| (creation(nth), pending(QUICK));
    let done = |nth: usize| (creation(nth), Ok(RouteOutcome::Done));
    assert_eq!(pause(0, &[(creation(1), pending(Duration::ZERO))]), Some(100), "no busy loop");
    assert_eq!(pause(100, &[waits(1), waits(2)]), Some(200), "as the provider asks");
    assert_eq!(pause(800, &[waits(1), waits(2)]), Some(400));
    assert_eq!(pause(1_600, &[waits(1), waits(2)]), Some(800));
    assert_eq!(pause(2_000, &[done(1), waits(2)]), Some(200), "the cloud gets on");
    assert_eq!(pause(3_000, &[waits(2)]), Some(500));
    assert_eq!(pause(4_000, &[done(2)]), None);
    assert_eq!(pause(5_000, &[waits(3)]), Some(200), "nothing is left of earlier changes");
}

#[test]
fn pending_routes_for_other_reasons_get_on() {
    let (mut rests, start) = (Rests::default(), Instant::now());
    let mut pause = |at: u64, reasons: [&str; 2]| {
        let now = start + Duration::from_secs(at);
        let answer = |reason: &str| Ok(RouteOutcome::Pending { after: 2 * SECOND, reason: reason.to_owned() });
        rests.answered(&[(creation(1), answer(reasons[0])), (creation(2), answer(reasons[1]))], now, || 0.0);
        (rests.next(now + FULL_PAUSE, None).unwrap().at - now).as_secs()
    };
    assert_eq!(pause(0, ["it waits", "it waits"]), 2);
    assert_eq!(pause(10, ["it waits", "it waits"]), 5);
    assert_eq!(pause(20, ["it was sent", "it waits"]), 2, "one was sent");
    assert_eq!(pause(30, ["it was sent", "it waits"]), 5);
    assert_eq!(pause(40, ["it was sent", "it was sent"]), 2);
    assert_eq!(pause(60, ["it was sent", "it was sent"]), 10);
}

#[test]
fn while_the_cloud_works_its_reason_is_remembered() {
    let (mut rests, now) = (Rests::default(), Instant::now());
    note(&mut rests, &creation(1), &pending(SECOND), now, 0.0);
    assert!(rests.is_busy(now) && !rests.is_busy(now + SECOND));
    assert_eq!(rests.reason(&creation(1)).map(String::as_str), Some("the network is locked"));
    let other = DestinationChange {
        after: Some(DesiredTarget { node: "n9".to_owned(), hop: "hop-9".to_owned() }),
        ..creation(1)
    };
    assert_eq!(rests.reason(&other), None, "of another change it says nothing");
    note(&mut rests, &creation(1), &unavailable(), now + SECOND, 0.0);
    assert_eq!((rests.reason(&creation(1)), rests.is_busy(now + SECOND)), (None, false), "a failure is no work");
}

#[test]
fn a_change_that_is_done_forgets_its_failures() {
    let (mut rests, now) = (Rests::default(), Instant::now());
    note(&mut rests, &creation(1), &unavailable(), now, 0.0);
    note(&mut rests, &creation(1), &Ok(RouteOutcome::Done), now, 0.0);
    assert_eq!(rests.next(now, None), None);
    note(&mut rests, &creation(1), &unavailable(), now, 1.0);
    let pause = rests.next(now + FULL_PAUSE, None).unwrap().at - now;
    assert_eq!(pause, Duration::from_millis(5500), "the first pause, and up to a tenth more");
}

#[test]
fn only_the_change_that_failed_rests() {
    let (mut rests, now) = (Rests::default(), Instant::now());
    note(&mut rests, &creation(1), &unavailable(), now, 0.0);
    assert_eq!(rests.resting(now), BTreeMap::from([(cidr(1), Some("hop-1".to_owned()))]));
    let other = DestinationChange {
        after: Some(DesiredTarget { node: "n9".to_owned(), hop: "hop-9".to_owned() }),
        ..creation(1)
    };
    note(&mut rests, &other, &unavailable(), now, 0.0);
    assert_eq!(
        rests.next(now + FULL_PAUSE, None).map(|it| it.at - now),
        Some(5 * SECOND),
        "another change, another count"
    );
    rests.retain(|it| *it != cidr(1));
    assert!(rests.resting(now).is_empty());
}

#[test]
fn a_list_that_is_needed_waits_for_one_that_is_due_soon() {
    let (mut rests, now) = (Rests::default(), Instant::now());
    note(&mut rests, &creation(1), &unavailable(), now, 0.0);
    let next = |list: u64| {
        rests.next(now + Duration::from_secs(list), None).map(|it| ((it.at - now).as_secs(), it.lists)).unwrap()
    };
    assert_eq!(next(10), (10, true));
    assert_eq!(next(15), (15, true));
    assert_eq!(next(16), (5, true), "that is too long");
    assert_eq!(next(600), (5, true));
    rests.listed();
    assert_eq!(
        rests.next(now + 10 * SECOND, None).map(|it| it.at - now),
        Some(5 * SECOND),
        "no list is needed any more"
    );
}

#[test]
fn a_route_that_keeps_changing_is_reported_after_a_while() {
    let (mut rests, start) = (Rests::default(), Instant::now());
    let changing = BTreeSet::from([cidr(1)]);
    let (mut now, mut looks, mut told) = (start, Vec::new(), 0);
    while now < start + Duration::from_secs(3600) {
        told += rests.changing(&changing, now).len();
        let next = rests.next(start + 100 * FULL_PAUSE, None).unwrap();
        assert!(next.lists, "only a list shows what has become of it");
        looks.push((next.at - now).as_secs());
        now = next.at;
    }
    assert_eq!(&looks[..8], [5, 10, 20, 40, 80, 160, 300, 300]);
    assert_eq!(told, 1);
    assert!(rests.resting(start).is_empty(), "its change is no failure");
    rests.changing(&BTreeSet::new(), now);
    assert_eq!(rests.next(now, None), None, "it is done");
}

#[test]
fn the_known_routes_are_corrected_by_answers() {
    let known = vec![there(1, "old"), there(2, "hop-2"), there(3, "hop-3")];
    let moved = DestinationChange { before: Some(there(1, "old").route), ..creation(1) };
    let answers = [
        (moved, Ok(RouteOutcome::Done)),
        (deletion(2, "hop-2"), Ok(RouteOutcome::Done)),
        (deletion(3, "hop-3"), unavailable()),
        (creation(4), Ok(RouteOutcome::Done)),
        (creation(5), pending(SECOND)),
    ];
    let mut known: Vec<_> = corrected(known, &answers)
        .iter()
        .map(|it| format!("{} {}", it.cidr, it.route.next_hop.as_deref().unwrap()))
        .collect();
    known.sort();
    assert_eq!(known, ["10.244.1.0/24 hop-1", "10.244.3.0/24 hop-3", "10.244.4.0/24 hop-4"]);
}

#[test]
fn a_named_route_that_no_list_has_shown_is_a_guess() {
    let made = |known: Vec<ListedRoute>| {
        let known = corrected(known, &[(creation(4), Ok(RouteOutcome::Done))]);
        let before = known.iter().find(|it| it.cidr == cidr(4)).unwrap().route.clone();
        let change = DestinationChange { cidr: cidr(4), before: Some(before.clone()), after: None, is_braked: false };
        (rests_on_a_guess(&[change], &known), before.ownership)
    };
    let named = |name: &str, ownership| {
        let ListedRoute { cidr, route, is_guess } = there(1, "hop-1");
        ListedRoute { cidr, route: Route { id: name.to_owned(), ownership, ..route }, is_guess }
    };
    assert_eq!(made(vec![there(1, "hop-1")]), (false, RouteOwnership::Ours), "the id is the destination");
    let unmarked = named("10.244.1.0/24", RouteOwnership::Unmarked);
    assert_eq!(made(vec![unmarked]), (false, RouteOwnership::Unmarked), "as the others");
    assert!(made(vec![named("k8s-route-1", RouteOwnership::Ours)]).0);
    assert!(made(Vec::new()).0, "nobody knows what ids are like here");
    assert!(!rests_on_a_guess(&[creation(5)], &[named("k8s-route-1", RouteOwnership::Ours)]));
}

#[test]
fn a_table_is_full_if_new_routes_of_all_nodes_are_refused() {
    let full = || Err(Error::Invalid("the route table is full".to_owned()));
    let is_full = |refusals: &mut RouteRefusals, answers: &[Answered]| refusals.answered(answers).is_some();
    let check =
        |answers: &[Answered], expected: bool| assert_eq!(is_full(&mut RouteRefusals::default(), answers), expected);
    check(&[(creation(1), full()), (creation(2), full())], true);
    check(&[(creation(1), full())], false);
    check(&[(creation(1), full()), (creation(2), full()), (creation(3), Ok(RouteOutcome::Done))], false);
    check(&[(creation(1), full()), (creation(2), unavailable())], false);
    check(&[(creation(1), full()), (creation(2), full()), (deletion(3, "a"), Ok(RouteOutcome::Done))], true);
    check(&[], false);
    assert!(makes_room(&[(deletion(3, "a"), Ok(RouteOutcome::Done))]));
    assert!(!makes_room(&[(deletion(3, "a"), unavailable()), (creation(1), Ok(RouteOutcome::Done))]));

    // One after the other, whatever fails in another way in between.
    let after = |between: &[Answered]| {
        let mut refusals = RouteRefusals::default();
        assert!(!is_full(&mut refusals, &[(creation(1), full())]));
        assert!(!is_full(&mut refusals, &[(creation(1), full())]), "it is the same node again");
        assert!(!is_full(&mut refusals, between));
        (is_full(&mut refusals, &[(creation(2), full())]), refusals.count())
    };
    assert_eq!(after(&[]), (true, 2));
    assert_eq!(after(&[(creation(3), unavailable())]), (true, 2));
    assert_eq!(after(&[(creation(3), Ok(RouteOutcome::Done))]), (false, 1), "there was room");
    assert_eq!(after(&[(deletion(3, "a"), Ok(RouteOutcome::Done))]), (false, 1), "there may be room");
    let mut refusals = RouteRefusals::default();
    refusals.answered(&[(creation(1), full())]);
    refusals.retain(|_| false);
    assert!(!is_full(&mut refusals, &[(creation(2), full())]), "nobody asks for the first any more");
}
