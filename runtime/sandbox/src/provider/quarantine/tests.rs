use super::super::object::Object;
use super::*;
use crate::call::Function;

const fn seconds(it: u64) -> Duration {
    Duration::from_secs(it)
}

fn object(function: Function, name: &str) -> Object {
    Object { key: (function, name.to_owned()), name: String::new(), next: "", marks: Vec::new() }
}

fn service(nth: usize) -> Object {
    object(Function::Ensure, &format!("service-{nth}"))
}

fn node(nth: usize) -> Object {
    object(Function::Get, &format!("node-{nth}"))
}

/// A provider that has just been quarantined.
fn quarantined(now: Instant) -> Quarantine {
    let mut quarantine = Quarantine::new(seconds(30));
    for _ in 1..CRASHES {
        assert_eq!(quarantine.admit(now, Subject::Nothing), CallAdmission::Run);
        assert_eq!(quarantine.ended(now, Subject::Nothing, End::Crashed), CallVerdict::Nothing);
    }
    assert_eq!(quarantine.ended(now, Subject::Nothing, End::Crashed), CallVerdict::LeftAlone(seconds(30)));
    quarantine
}

#[test]
fn only_crashes_in_a_row_count() {
    let now = Instant::now();
    let mut quarantine = Quarantine::new(seconds(30));
    let mut ended = |end| quarantine.ended(now, Subject::Nothing, end);
    for _ in 0..100 {
        for end in [End::Crashed, End::Crashed, End::Crashed, End::Crashed, End::Returned] {
            assert_eq!(ended(end), CallVerdict::Nothing);
        }
    }
    for _ in 0..100 {
        assert_eq!(ended(End::Neither), CallVerdict::Nothing, "a slow cloud is no crash");
    }
    for end in [End::Crashed, End::Neither, End::Crashed, End::Crashed, End::Neither, End::Crashed] {
        assert_eq!(ended(end), CallVerdict::Nothing);
    }
    assert_eq!(ended(End::Crashed), CallVerdict::LeftAlone(seconds(30)), "and a slow cloud breaks no row");
}

#[test]
fn no_call_runs_until_one_has_probed() {
    let start = Instant::now();
    let mut quarantine = quarantined(start);
    let admit = |quarantine: &mut Quarantine, now| quarantine.admit(now, Subject::One(&node(1)));
    assert_eq!(admit(&mut quarantine, start), CallAdmission::Wait(seconds(30)));
    assert_eq!(admit(&mut quarantine, start + seconds(29)), CallAdmission::Wait(seconds(1)));
    let due = start + seconds(30);
    assert_eq!(admit(&mut quarantine, due), CallAdmission::Probe);
    assert_eq!(admit(&mut quarantine, due), CallAdmission::Wait(seconds(1)), "one probe at a time");
    assert_eq!(quarantine.probed(due, End::Returned), None);
    assert_eq!(admit(&mut quarantine, due), CallAdmission::Run);
    assert_eq!(quarantine.ended(due, Subject::One(&node(1)), End::Returned), CallVerdict::Nothing);
    assert_eq!(quarantine.ended(due, Subject::Nothing, End::Crashed), CallVerdict::Nothing, "the row begins again");
    assert_eq!(admit(&mut quarantine, due), CallAdmission::Run);
}

#[test]
fn calls_that_end_in_quarantine_change_nothing() {
    let start = Instant::now();
    let mut quarantine = quarantined(start);
    for end in [End::Returned, End::Crashed, End::Neither] {
        for about in [Subject::Nothing, Subject::Several] {
            assert_eq!(quarantine.ended(start, about, end), CallVerdict::Nothing);
        }
        assert_eq!(quarantine.admit(start, Subject::Nothing), CallAdmission::Wait(seconds(30)));
    }
    for nth in 0..10 {
        let verdict = quarantine.ended(start, Subject::One(&node(nth)), End::Crashed);
        assert_eq!(verdict, CallVerdict::SetAside { probe: false });
    }
}

#[test]
fn the_pause_doubles_from_thirty_seconds_to_ten_minutes() {
    for answers_probes in [true, false] {
        let mut now = Instant::now();
        let mut quarantine = quarantined(now);
        let mut pauses = Vec::new();
        let mut pause = seconds(30);
        for _ in 0..7 {
            now += pause;
            assert_eq!(quarantine.admit(now, Subject::Nothing), CallAdmission::Probe);
            let next = if answers_probes {
                assert_eq!(quarantine.probed(now, End::Returned), None);
                (0..CRASHES).find_map(|_| match quarantine.ended(now, Subject::Nothing, End::Crashed) {
                    CallVerdict::LeftAlone(pause) => Some(pause),
                    CallVerdict::Nothing | CallVerdict::SetAside { .. } => None,
                })
            } else {
                quarantine.probed(now, End::Crashed)
            };
            pause = next.expect("it crashed again");
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses, [60, 120, 240, 480, 600, 600, 600]);
    }
}

#[test]
fn a_probe_that_was_broken_off_is_made_again() {
    let start = Instant::now();
    let mut quarantine = quarantined(start);
    let due = start + seconds(30);
    assert_eq!(quarantine.admit(due, Subject::Nothing), CallAdmission::Probe);
    assert_eq!(quarantine.admit(due + LOST - seconds(1), Subject::Nothing), CallAdmission::Wait(seconds(1)));
    assert_eq!(quarantine.admit(due + LOST, Subject::Nothing), CallAdmission::Probe);
}

#[test]
fn adv_103_one_object_that_crashes_1000_times_never_quarantines() {
    let mut now = Instant::now();
    let mut quarantine = Quarantine::new(seconds(30));
    let bad = service(1);
    for crashes in 0..1000 {
        assert_eq!(quarantine.admit(now, Subject::One(&bad)), CallAdmission::Run, "after {crashes} crashes");
        let verdict = quarantine.ended(now, Subject::One(&bad), End::Crashed);
        assert_eq!(verdict, CallVerdict::SetAside { probe: false }, "after {crashes} crashes");
        let (pause, _) = quarantine.set_aside(now, &bad.key);
        assert_eq!(quarantine.admit(now, Subject::One(&bad)), CallAdmission::SetAside(pause));
        assert!((seconds(30)..=seconds(600)).contains(&pause), "{pause:?}");
        assert_eq!(quarantine.admit(now, Subject::One(&node(1))), CallAdmission::Run, "others are served");
        now += pause;
    }
}

#[test]
fn adv_103_a_set_aside_service_can_be_deleted() {
    let now = Instant::now();
    let mut quarantine = Quarantine::new(seconds(30));
    let (ensure, delete) = (service(1), object(Function::Delete, "service-1"));
    quarantine.ended(now, Subject::One(&ensure), End::Crashed);
    assert_eq!(quarantine.admit(now, Subject::One(&delete)), CallAdmission::Run);
    quarantine.ended(now, Subject::One(&delete), End::Crashed);
    assert_eq!(quarantine.admit(now, Subject::One(&delete)), CallAdmission::SetAside(seconds(30)));
    assert_eq!(quarantine.admit(now + seconds(30), Subject::One(&delete)), CallAdmission::Run, "it is tried again");
}

#[test]
fn adv_103_a_call_about_several_objects_blames_none() {
    let now = Instant::now();
    let mut quarantine = Quarantine::new(seconds(30));
    for _ in 0..100 {
        assert_eq!(quarantine.ended(now, Subject::Several, End::Crashed), CallVerdict::Nothing);
        assert_eq!(quarantine.admit(now, Subject::Several), CallAdmission::Run);
    }
}

/// Plays `services` Services that always crash beside one node after the other that joins, for an hour.
fn play_poisonous_services(services: usize) {
    let start = Instant::now();
    let mut quarantine = Quarantine::new(seconds(30));
    let mut crashes = vec![0; services];
    let mut probes = 0;
    for second in 0..3600 {
        let now = start + seconds(second);
        for (nth, crashes) in crashes.iter_mut().enumerate() {
            match quarantine.admit(now, Subject::One(&service(nth))) {
                CallAdmission::Run => {
                    *crashes += 1;
                    match quarantine.ended(now, Subject::One(&service(nth)), End::Crashed) {
                        // The rest of the provider answers.
                        CallVerdict::SetAside { probe: true } => {
                            probes += 1;
                            assert_eq!(quarantine.doubted(now, End::Returned), CallVerdict::Nothing);
                        }
                        CallVerdict::SetAside { probe: false } => {}
                        other => panic!("{other:?}"),
                    }
                }
                CallAdmission::SetAside(_) => {}
                other => panic!("{other:?} in second {second}"),
            }
        }
        // A node that joins every ten minutes: there is nothing in between that could return.
        if second % 600 == 300 {
            let joining = node(second as usize);
            assert_eq!(quarantine.admit(now, Subject::One(&joining)), CallAdmission::Run);
            assert_eq!(quarantine.ended(now, Subject::One(&joining), End::Returned), CallVerdict::Nothing);
        }
    }
    assert!(crashes.iter().all(|it| *it <= 10), "{crashes:?}: each runs ten times an hour at most");
    assert!(probes <= 2 * services, "{probes} probes");
}

#[test]
fn adv_103_fifty_poisonous_services_stop_no_joining_node() {
    for services in [6, 50] {
        play_poisonous_services(services);
    }
}

#[test]
fn adv_103_a_provider_that_crashes_in_its_probe_too_is_stopped() {
    let now = Instant::now();
    let mut quarantine = Quarantine::new(seconds(30));
    for nth in 1..=CRASHES {
        assert_eq!(quarantine.admit(now, Subject::One(&service(nth))), CallAdmission::Run);
        let verdict = quarantine.ended(now, Subject::One(&service(nth)), End::Crashed);
        assert_eq!(verdict, CallVerdict::SetAside { probe: nth == CRASHES });
    }
    assert_eq!(quarantine.doubted(now, End::Neither), CallVerdict::Nothing, "a slow cloud is no crash");
    assert_eq!(quarantine.doubted(now, End::Crashed), CallVerdict::LeftAlone(seconds(30)));
    assert_eq!(quarantine.admit(now, Subject::One(&node(1))), CallAdmission::Wait(seconds(30)));
}

#[test]
fn adv_67_a_provider_that_always_traps_runs_a_few_times_an_hour() {
    // A hundred objects that come back as soon as they may, and at most one call every 100 ms.
    let start = Instant::now();
    let mut quarantine = Quarantine::new(seconds(30));
    let mut runs = Vec::new();
    let mut next = [start; 100];
    let mut free = start;
    while let Some(object) = (0..next.len()).min_by_key(|&it| next[it]).filter(|&it| next[it] < start + seconds(3600)) {
        let now = next[object].max(free);
        let node = node(object);
        match quarantine.admit(now, Subject::One(&node)) {
            CallAdmission::Wait(pause) | CallAdmission::SetAside(pause) => next[object] = now + pause,
            CallAdmission::Run => {
                runs.push(now - start);
                free = now + Duration::from_millis(100);
                if quarantine.ended(now, Subject::One(&node), End::Crashed) == (CallVerdict::SetAside { probe: true }) {
                    runs.push(now - start);
                    quarantine.doubted(now, End::Crashed);
                }
            }
            CallAdmission::Probe => {
                runs.push(now - start);
                quarantine.probed(now, End::Crashed);
            }
        }
    }
    let within = |from: u64, to: u64| runs.iter().filter(|it| (from..to).contains(&it.as_secs())).count();
    assert!(within(0, 60) <= 12, "{} runs in the first minute", within(0, 60));
    for minute in 1..60 {
        let runs = within(minute * 60, minute * 60 + 60);
        assert!(runs <= 8, "{runs} runs in minute {minute}");
    }
    assert!((10..=80).contains(&runs.len()), "{} runs in an hour", runs.len());
}
