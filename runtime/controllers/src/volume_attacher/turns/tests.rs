use super::*;

fn places(volume: &str, machine: &str) -> Vec<TurnPlace> {
    vec![TurnPlace::Volume(volume.to_owned()), TurnPlace::Machine(machine.to_owned())]
}

/// Turns, and a clock that stands still.
struct Rig {
    all: Turns,
    now: Instant,
}

impl Rig {
    fn new() -> Self {
        Self { all: Turns::default(), now: Instant::now() }
    }

    fn comes(&mut self, attachment: &str, volume: &str, machine: &str) -> bool {
        self.all.enter(attachment, places(volume, machine), false, self.now)
    }

    fn goes(&mut self, attachment: &str, volume: &str, machine: &str) -> bool {
        self.all.enter(attachment, places(volume, machine), true, self.now)
    }
}

/// Cases: csi 59
#[test]
fn attachments_at_one_machine_come_one_after_the_other() {
    let mut rig = Rig::new();
    assert!(rig.comes("a", "v1", "m1") && rig.comes("a", "v1", "m1"), "its own");
    assert!(!rig.comes("b", "v2", "m1") && !rig.comes("c", "v1", "m2"));
    assert!(rig.comes("d", "v4", "m3"), "what waits holds nothing");
    assert_eq!(rig.all.leave("a"), ["b", "c"]);
    assert!(rig.comes("b", "v2", "m1") && rig.comes("c", "v1", "m2"));
    assert_eq!(rig.all.leave("d"), [""; 0]);
}

/// Cases: csi 58
#[test]
fn the_attachment_that_goes_comes_first() {
    let mut rig = Rig::new();
    assert!(rig.comes("a", "v1", "m1"));
    assert!(!rig.comes("b", "v2", "m1") && !rig.goes("z", "v3", "m1"));
    assert_eq!(rig.all.leave("a"), ["z"]);
    assert!(!rig.comes("b", "v2", "m1"), "it would need the room that is made");
    assert!(rig.goes("z", "v3", "m1"));
    assert_eq!(rig.all.leave("z"), ["b"]);
    assert!(rig.comes("b", "v2", "m1"));
}

#[test]
fn an_attachment_that_cannot_go_yet_holds_up_nobody() {
    let mut rig = Rig::new();
    assert!(rig.comes("a", "v3", "m2"));
    assert!(!rig.goes("z", "v3", "m1"), "its volume is on its way to another machine");
    assert!(rig.comes("b", "v2", "m1"));
}

#[test]
fn attachments_come_in_the_order_in_which_they_were_made() {
    let mut rig = Rig::new();
    assert!(rig.comes("a", "v1", "m1"));
    for (name, volume) in [("z", "v2"), ("y", "v3"), ("x", "v4")] {
        assert!(!rig.comes(name, volume, "m1"));
    }
    assert!(!rig.comes("y", "v3", "m1"), "asking again is no arrival");
    for (left, next) in [("a", "z"), ("z", "y"), ("y", "x")] {
        assert_eq!(rig.all.leave(left), [next], "one alone is woken");
        assert!(!rig.comes("new", "v9", "m1"), "and nobody gets in before it");
        assert!(rig.comes(next, &format!("v{}", 2 + ["z", "y", "x"].iter().position(|it| *it == next).unwrap()), "m1"));
    }
    assert_eq!(rig.all.leave("x"), ["new"]);
}

#[test]
fn a_waiting_attachment_is_asked_about_only_once_it_could_go_on() {
    let mut rig = Rig::new();
    let now = rig.now;
    assert!(rig.all.may_enter("b", false, now), "nothing is known of it");
    assert!(rig.comes("a", "v1", "m1") && !rig.comes("b", "v2", "m1") && !rig.comes("c", "v3", "m1"));
    assert!(rig.all.may_enter("a", false, now) && !rig.all.may_enter("b", false, now));
    rig.all.leave("a");
    assert!(rig.all.may_enter("b", false, now) && !rig.all.may_enter("c", false, now), "one after the other");
    assert!(rig.all.may_enter("c", true, now), "it goes by now");
}

#[test]
fn attachments_that_waited_for_one_that_is_gone_go_on() {
    let mut rig = Rig::new();
    assert!(rig.comes("a", "v1", "m1") && !rig.goes("z", "v3", "m1"));
    assert_eq!(rig.all.leave("a"), ["z"]);
    assert!(!rig.comes("b", "v2", "m1"));
    assert_eq!(rig.all.leave("z"), ["b"]);
    assert!(rig.comes("b", "v2", "m1"));
}

#[test]
fn an_action_that_never_ends_gives_the_machine_back() {
    let mut rig = Rig::new();
    let began = rig.now;
    assert!(rig.comes("a", "v1", "m1") && !rig.comes("b", "v2", "m1"));
    rig.now = began + PATIENCE - Duration::from_secs(1);
    assert!(rig.comes("a", "v1", "m1") && !rig.comes("b", "v2", "m1") && !rig.all.is_late("a", rig.now));
    rig.now = began + PATIENCE;
    assert!(rig.all.may_enter("b", false, rig.now) && rig.all.is_late("a", rig.now));
    assert!(rig.comes("b", "v2", "m1") && rig.comes("a", "v1", "m1"), "it is looked at beside the other one");
    assert!(!rig.comes("c", "v1", "m2"), "its volume is still its own");
    assert!(!rig.comes("d", "v4", "m1"), "and the machine is the other one's");
    assert_eq!(rig.all.leave("a"), ["c"]);
    assert!(!rig.comes("a", "v5", "m1"), "the next time it waits as everybody");
}

#[test]
fn places_are_kept_until_the_outcome_is_known() {
    let mut rig = Rig::new();
    rig.all.keep("a");
    assert!(!rig.all.is_kept("a"), "it has none");
    assert!(rig.comes("a", "v1", "m1"));
    rig.all.keep("a");
    assert!(rig.all.is_kept("a") && !rig.comes("b", "v2", "m1"));
    assert!(rig.comes("a", "v1", "m1") && !rig.all.is_kept("a"), "it has asked again");
    rig.all.keep("a");
    rig.now += PATIENCE;
    assert!(rig.all.is_late("a", rig.now) && !rig.all.is_kept("a"), "not for ever");
    assert!(rig.comes("b", "v2", "m1"));
}
