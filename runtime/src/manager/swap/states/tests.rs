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
    fn on(&mut self, event: ModuleEvent, expected: &[SwapAction]) -> &mut Self {
        assert_eq!(self.modules.on(event, self.now), expected);
        self
    }

    /// As [`Story::on`], without looking at the texts.
    fn says(&mut self, event: ModuleEvent) -> Vec<SwapAction> {
        self.modules.on(event, self.now)
    }

    #[track_caller]
    fn is(&mut self, state: SwapState, nth: u8) -> &mut Self {
        let (found, of, _) = self.modules.state();
        assert_eq!((found, of), (state, digest(nth)));
        self
    }

    #[track_caller]
    fn serves(&mut self, nth: u8) -> &mut Self {
        assert_eq!(self.modules.serving(), digest(nth));
        self
    }

    fn pass(&mut self, time: Duration, leads: bool) -> Vec<SwapAction> {
        self.now += time;
        self.says(ModuleEvent::Tick { leads })
    }

    /// Lets a module come as far as its trial.
    #[track_caller]
    fn swapped(&mut self, nth: u8) -> &mut Self {
        self.on(ModuleEvent::Configured(digest(nth)), &[SwapAction::Fetch]).is(SwapState::Named, nth);
        self.on(ModuleEvent::Fetched, &[SwapAction::Load]).is(SwapState::Verified, nth);
        self.on(ModuleEvent::Loaded, &[SwapAction::Probe]).is(SwapState::Described, nth);
        self.on(ModuleEvent::Probed, &[SwapAction::Swap]).is(SwapState::OnTrial, nth).serves(nth)
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
    assert_eq!(story.pass(5 * MINUTE, true), [SwapAction::Forget]);
    story.is(SwapState::Serving, 2);
    story.on(ModuleEvent::Quarantined(text("in quarantine")), &[]).serves(2);
}

#[test]
fn an_unavailable_module_is_fetched_again_later_and_later() {
    let mut story = Story::new();
    story.on(ModuleEvent::Configured(digest(2)), &[SwapAction::Fetch]);
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
        story.on(ModuleEvent::Unavailable(text("no route to host")), &[]).is(SwapState::Named, 2);
        assert_eq!(story.modules.state().2, Some("no route to host"));
        assert_eq!(story.pass(minutes * MINUTE - Duration::from_secs(1), true), []);
        assert_eq!(story.pass(Duration::from_secs(1), true), [SwapAction::Fetch]);
    }
    story.on(ModuleEvent::Fetched, &[SwapAction::Load]);
    story.on(ModuleEvent::Loaded, &[SwapAction::Probe]);
    story.on(ModuleEvent::Unavailable(text("the cloud is slow")), &[]).is(SwapState::Described, 2);
    assert_eq!(story.pass(MINUTE, true), [SwapAction::Probe], "another step begins with the first pause");
    story.on(ModuleEvent::Probed, &[SwapAction::Swap]).serves(2);
}

#[test]
fn a_refused_module_waits_for_another_config() {
    let mut story = Story::new();
    story.on(ModuleEvent::Configured(digest(2)), &[SwapAction::Fetch]);
    story.on(ModuleEvent::Fetched, &[SwapAction::Load]);
    story.on(ModuleEvent::Refused(text("another name")), &[SwapAction::SayRefused(text("another name"))]);
    story.is(SwapState::Refused, 2).serves(1);
    assert_eq!(story.pass(1000 * MINUTE, true), []);
    story.on(ModuleEvent::Loaded, &[]).is(SwapState::Refused, 2);
    story.swapped(3);
}

#[test]
fn the_newest_config_wins() {
    let mut story = Story::new();
    story.on(ModuleEvent::Configured(digest(2)), &[SwapAction::Fetch]);
    story.on(ModuleEvent::Fetched, &[SwapAction::Load]);
    story.on(ModuleEvent::Configured(digest(3)), &[SwapAction::Abandon, SwapAction::Fetch]).is(SwapState::Named, 3);
    story.on(ModuleEvent::Loaded, &[]).is(SwapState::Named, 3);
    story.on(ModuleEvent::Configured(digest(1)), &[SwapAction::Abandon]).is(SwapState::Serving, 1);
    for late in [ModuleEvent::Fetched, ModuleEvent::Loaded, ModuleEvent::Probed, ModuleEvent::Refused(text("late"))] {
        story.on(late, &[]).is(SwapState::Serving, 1);
    }
    story.on(ModuleEvent::Unfit(digest(4), text("endpoints too")), &[SwapAction::SayRefused(text("endpoints too"))]);
    story.is(SwapState::Refused, 4).on(ModuleEvent::Configured(digest(1)), &[]).is(SwapState::Serving, 1);
}

#[test]
fn a_quarantine_during_the_trial_rolls_back_once() {
    let mut story = Story::new();
    story.swapped(2);
    let actions = story.says(ModuleEvent::Quarantined(text("in quarantine, because")));
    assert_eq!(actions[..2], [SwapAction::SwapBack, SwapAction::Note(digest(2))]);
    let SwapAction::SayRolledBack(said) = &actions[2] else { panic!("{actions:?}") };
    for part in [&*digest(1).to_string(), &digest(2).to_string(), "in quarantine, because", ANNOTATION] {
        assert!(said.contains(part), "{said}");
    }
    story.is(SwapState::RolledBack, 2).serves(1);
    story.on(ModuleEvent::Quarantined(text("again")), &[]).serves(1);
    let again = story.says(ModuleEvent::Configured(digest(2)));
    assert!(matches!(&again[..], [SwapAction::SayRefused(text)] if text.contains("was rolled back")), "{again:?}");
    story.swapped(3);
}

#[test]
fn removing_the_annotation_allows_another_attempt() {
    let mut story = Story::new();
    story.swapped(2);
    story.says(ModuleEvent::Quarantined(text("in quarantine")));
    story.on(ModuleEvent::OnLease(None), &[]).is(SwapState::RolledBack, 2);
    story.on(ModuleEvent::OnLease(Some(digest(2))), &[]).is(SwapState::RolledBack, 2);
    story.on(ModuleEvent::OnLease(None), &[SwapAction::Fetch]).is(SwapState::Named, 2);
}

#[test]
fn a_replica_honours_what_another_has_rolled_back() {
    let mut waiting = Story::new();
    waiting.on(ModuleEvent::OnLease(Some(digest(2))), &[]);
    let refused = waiting.says(ModuleEvent::Configured(digest(2)));
    assert!(matches!(&refused[..], [SwapAction::SayRefused(_)]), "{refused:?}");
    waiting.is(SwapState::Refused, 2).serves(1);
    waiting.on(ModuleEvent::OnLease(None), &[SwapAction::Fetch]);
    let refused = waiting.says(ModuleEvent::OnLease(Some(digest(2))));
    assert!(matches!(&refused[..], [SwapAction::Abandon, SwapAction::SayRefused(_)]), "{refused:?}");

    let mut swapped = Story::new();
    let actions = swapped.swapped(2).says(ModuleEvent::OnLease(Some(digest(2))));
    assert!(
        matches!(&actions[..], [SwapAction::SwapBack, SwapAction::SayRefused(_)]),
        "nothing is noted twice: {actions:?}"
    );
    swapped.is(SwapState::Refused, 2).serves(1);

    let mut started = Story::new();
    started.on(ModuleEvent::OnLease(Some(digest(1))), &[SwapAction::SayServesRefused(digest(1))]).serves(1);
    started.on(ModuleEvent::OnLease(Some(digest(1))), &[]).is(SwapState::Serving, 1);
}

#[test]
fn another_module_may_come_during_a_trial() {
    let mut story = Story::new();
    story.swapped(2);
    story.on(ModuleEvent::Configured(digest(3)), &[SwapAction::Fetch]).is(SwapState::Named, 3).serves(2);
    let actions = story.says(ModuleEvent::Quarantined(text("in quarantine")));
    assert_eq!(actions.len(), 3);
    story.is(SwapState::Named, 3).serves(1);
    story.on(ModuleEvent::Fetched, &[SwapAction::Load]).on(ModuleEvent::Loaded, &[SwapAction::Probe]);
    story.on(ModuleEvent::Probed, &[SwapAction::Swap]).serves(3);
    story.says(ModuleEvent::Quarantined(text("in quarantine")));
    story.serves(1);
}

#[test]
fn whatever_happens_nothing_serves_that_was_not_probed() {
    let events = [
        ModuleEvent::Configured(digest(2)),
        ModuleEvent::Unfit(digest(3), text("unfit")),
        ModuleEvent::Fetched,
        ModuleEvent::Loaded,
        ModuleEvent::Unavailable(text("later")),
        ModuleEvent::Refused(text("never")),
        ModuleEvent::Quarantined(text("in quarantine")),
        ModuleEvent::OnLease(None),
        ModuleEvent::OnLease(Some(digest(2))),
        ModuleEvent::Tick { leads: true },
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
