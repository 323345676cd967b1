//! Stories of modules, step by step.

use super::*;

const TRIAL: Duration = Duration::from_secs(600);
const MINUTE: Duration = Duration::from_secs(60);

fn digest(nth: u8) -> Digest {
    Digest::of(&[nth])
}

/// A process that serves module 1, and its clock.
struct Story {
    modules: Modules,
    now: Instant,
}

impl Story {
    fn new() -> Self {
        Self { modules: Modules::new(digest(1), TRIAL), now: Instant::now() }
    }

    #[track_caller]
    fn on(&mut self, event: Event, expected: &[Action]) -> &mut Self {
        assert_eq!(self.modules.on(event, self.now), expected);
        self
    }

    /// As [`Story::on`], without looking at the texts.
    fn says(&mut self, event: Event) -> Vec<Action> {
        self.modules.on(event, self.now)
    }

    #[track_caller]
    fn is(&mut self, state: State, nth: u8) -> &mut Self {
        let (found, of, _) = self.modules.state();
        assert_eq!((found, of), (state, digest(nth)));
        self
    }

    #[track_caller]
    fn serves(&mut self, nth: u8) -> &mut Self {
        assert_eq!(self.modules.serving(), digest(nth));
        self
    }

    fn pass(&mut self, time: Duration, leads: bool) -> Vec<Action> {
        self.now += time;
        self.says(Event::Tick { leads })
    }

    /// Lets a module come as far as its trial.
    #[track_caller]
    fn swapped(&mut self, nth: u8) -> &mut Self {
        self.on(Event::Configured(digest(nth)), &[Action::Fetch]).is(State::Named, nth);
        self.on(Event::Fetched, &[Action::Load]).is(State::Verified, nth);
        self.on(Event::Loaded, &[Action::Probe]).is(State::Described, nth);
        self.on(Event::Probed, &[Action::Swap]).is(State::OnTrial, nth).serves(nth)
    }
}

fn text(it: &str) -> String {
    it.to_owned()
}

#[test]
fn a_module_serves_after_ten_minutes_of_leading() {
    let mut story = Story::new();
    story.swapped(2);
    assert_eq!(story.pass(5 * MINUTE, true), []);
    assert_eq!(story.pass(60 * MINUTE, false), [], "whoever does not lead tries nothing");
    assert_eq!(story.modules.trial(), Some(5 * MINUTE));
    assert_eq!(story.pass(5 * MINUTE, true), [Action::Forget]);
    story.is(State::Serving, 2);
    story.on(Event::Quarantined(text("in quarantine")), &[]).serves(2);
}

#[test]
fn what_is_not_there_is_fetched_again_later_and_later() {
    let mut story = Story::new();
    story.on(Event::Configured(digest(2)), &[Action::Fetch]);
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
        story.on(Event::Unavailable(text("no route to host")), &[]).is(State::Named, 2);
        assert_eq!(story.modules.state().2, Some("no route to host"));
        assert_eq!(story.pass(minutes * MINUTE - Duration::from_secs(1), true), []);
        assert_eq!(story.pass(Duration::from_secs(1), true), [Action::Fetch]);
    }
    story.on(Event::Fetched, &[Action::Load]);
    story.on(Event::Loaded, &[Action::Probe]);
    story.on(Event::Unavailable(text("the cloud is slow")), &[]).is(State::Described, 2);
    assert_eq!(story.pass(MINUTE, true), [Action::Probe], "another step begins with the first pause");
    story.on(Event::Probed, &[Action::Swap]).serves(2);
}

#[test]
fn a_refused_module_waits_for_another_config() {
    let mut story = Story::new();
    story.on(Event::Configured(digest(2)), &[Action::Fetch]);
    story.on(Event::Fetched, &[Action::Load]);
    story.on(Event::Refused(text("another name")), &[Action::SayRefused(text("another name"))]);
    story.is(State::Refused, 2).serves(1);
    assert_eq!(story.pass(1000 * MINUTE, true), []);
    story.on(Event::Loaded, &[]).is(State::Refused, 2);
    story.swapped(3);
}

#[test]
fn the_newest_config_wins() {
    let mut story = Story::new();
    story.on(Event::Configured(digest(2)), &[Action::Fetch]);
    story.on(Event::Fetched, &[Action::Load]);
    story.on(Event::Configured(digest(3)), &[Action::Abandon, Action::Fetch]).is(State::Named, 3);
    story.on(Event::Loaded, &[]).is(State::Named, 3);
    story.on(Event::Configured(digest(1)), &[Action::Abandon]).is(State::Serving, 1);
    for late in [Event::Fetched, Event::Loaded, Event::Probed, Event::Refused(text("late"))] {
        story.on(late, &[]).is(State::Serving, 1);
    }
    story.on(Event::Unfit(digest(4), text("endpoints too")), &[Action::SayRefused(text("endpoints too"))]);
    story.is(State::Refused, 4).on(Event::Configured(digest(1)), &[]).is(State::Serving, 1);
}

#[test]
fn a_quarantine_during_the_trial_rolls_back_once() {
    let mut story = Story::new();
    story.swapped(2);
    let actions = story.says(Event::Quarantined(text("in quarantine, because")));
    assert_eq!(actions[..2], [Action::SwapBack, Action::Note(digest(2))]);
    let Action::SayRolledBack(said) = &actions[2] else { panic!("{actions:?}") };
    for part in [&*digest(1).to_string(), &digest(2).to_string(), "in quarantine, because", ANNOTATION] {
        assert!(said.contains(part), "{said}");
    }
    story.is(State::RolledBack, 2).serves(1);
    story.on(Event::Quarantined(text("again")), &[]).serves(1);
    let again = story.says(Event::Configured(digest(2)));
    assert!(matches!(&again[..], [Action::SayRefused(text)] if text.contains("was rolled back")), "{again:?}");
    story.swapped(3);
}

#[test]
fn removing_the_annotation_allows_another_attempt() {
    let mut story = Story::new();
    story.swapped(2);
    story.says(Event::Quarantined(text("in quarantine")));
    story.on(Event::OnLease(None), &[]).is(State::RolledBack, 2);
    story.on(Event::OnLease(Some(digest(2))), &[]).is(State::RolledBack, 2);
    story.on(Event::OnLease(None), &[Action::Fetch]).is(State::Named, 2);
}

#[test]
fn a_replica_honours_what_another_has_rolled_back() {
    let mut waiting = Story::new();
    waiting.on(Event::OnLease(Some(digest(2))), &[]);
    let refused = waiting.says(Event::Configured(digest(2)));
    assert!(matches!(&refused[..], [Action::SayRefused(_)]), "{refused:?}");
    waiting.is(State::Refused, 2).serves(1);
    waiting.on(Event::OnLease(None), &[Action::Fetch]);
    let refused = waiting.says(Event::OnLease(Some(digest(2))));
    assert!(matches!(&refused[..], [Action::Abandon, Action::SayRefused(_)]), "{refused:?}");

    let mut swapped = Story::new();
    let actions = swapped.swapped(2).says(Event::OnLease(Some(digest(2))));
    assert!(matches!(&actions[..], [Action::SwapBack, Action::SayRefused(_)]), "nothing is noted twice: {actions:?}");
    swapped.is(State::Refused, 2).serves(1);

    let mut started = Story::new();
    started.on(Event::OnLease(Some(digest(1))), &[Action::SayServesRefused(digest(1))]).serves(1);
    started.on(Event::OnLease(Some(digest(1))), &[]).is(State::Serving, 1);
}

#[test]
fn another_module_may_come_during_a_trial() {
    let mut story = Story::new();
    story.swapped(2);
    story.on(Event::Configured(digest(3)), &[Action::Fetch]).is(State::Named, 3).serves(2);
    let actions = story.says(Event::Quarantined(text("in quarantine")));
    assert_eq!(actions.len(), 3);
    story.is(State::Named, 3).serves(1);
    story.on(Event::Fetched, &[Action::Load]).on(Event::Loaded, &[Action::Probe]);
    story.on(Event::Probed, &[Action::Swap]).serves(3);
    story.says(Event::Quarantined(text("in quarantine")));
    story.serves(1);
}

#[test]
fn whatever_happens_nothing_serves_that_was_not_probed() {
    let events = [
        Event::Configured(digest(2)),
        Event::Unfit(digest(3), text("unfit")),
        Event::Fetched,
        Event::Loaded,
        Event::Unavailable(text("later")),
        Event::Refused(text("never")),
        Event::Quarantined(text("in quarantine")),
        Event::OnLease(None),
        Event::OnLease(Some(digest(2))),
        Event::Tick { leads: true },
    ];
    // All stories of four events.
    for story in 0..events.len().pow(4) {
        let mut told = Story::new();
        let mut rest = story;
        for _ in 0..4 {
            told.now += MINUTE;
            told.says(events[rest % events.len()].clone());
            rest /= events.len();
        }
        told.serves(1);
    }
}
