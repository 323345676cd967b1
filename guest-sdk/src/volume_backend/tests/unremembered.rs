//! A creation of which no memo tells: a process has died over it.

use std::time::Duration;

use serde_json::json;

use super::cloud::{Acme, Disks};
use super::{CLUSTER, UID, abandon, announces, call, create, desired, mark};
use crate::testing::protocol::{AdminFailure, How, Orders};
use crate::testing::{self, Host, Request, Response, SimulatedCloud};
use crate::{Cluster, DesiredVolume, Error, Method, Result, VolumeCreation, VolumeDeletion};

/// A process dies over the second creation, which the cloud has taken or not, and its list shows half a minute late.
///
/// Cases: csi 20
#[test]
fn a_second_creation_that_nobody_remembers_makes_one_volume() {
    for dies in [How::DiesBefore, How::DiesAfter] {
        let cloud = SimulatedCloud::new(Disks::<false>::default()).shared();
        let host = Host::of(&cloud).cluster(Cluster::of("kubernetes", CLUSTER));
        // The second request of a call is the creation.
        let order = |how: Option<How>, lists_lag: bool| {
            cloud.borrow_mut().order(Orders { fail: how.map(|how| AdminFailure { nth: 2, how }), lists_lag });
        };
        order(Some(How::LostBefore), true);
        let (mut asked, mut died) = (desired().first_create(), None);
        let volume = loop {
            let now = cloud.borrow().now();
            let said = host.clone().at(now).run(|| create(&Acme::<false>, &asked));
            let is_dead = cloud.borrow_mut().asked().dead;
            asked.extra.clear();
            match said {
                // The next process has what was kept before.
                _ if is_dead => died = Some(now),
                Ok(VolumeCreation::Ready(volume)) => break volume,
                Ok(VolumeCreation::Pending(it)) => {
                    if died.is_none() && announces(&it) {
                        order(Some(dies), true);
                    }
                    if asked.memo != it.memo {
                        asked = asked.with_new_memo(it.memo.unwrap());
                    }
                }
                other => panic!("{other:?}"),
            }
            cloud.borrow_mut().advance(Duration::from_secs(10));
            if let Some(died) = died {
                order(None, now < died + 20);
            }
        };
        let disks = cloud.borrow().world().objects;
        assert_eq!((disks.len(), volume.handle.as_str()), (2, "disk-2"), "one is another's: {disks:?}");
        assert!(died.is_some(), "{:?}", host.requests());
    }
}

/// Cases: csi 20
#[test]
fn a_creation_is_sent_again_by_the_first_call_with_its_memo() {
    let asked = |memo: &str| DesiredVolume { memo: Some(memo.to_owned()), ..desired() };
    let (begun, requests, _) = call(Disks::<false>::default(), || create(&Acme::<false>, &asked("lost since 1")));
    let Ok(VolumeCreation::Pending(begun)) = begun else { panic!("{begun:?}") };
    assert!(announces(&begun) && requests.len() == 1, "{begun:?} {requests:?}");
    let memo = begun.memo.unwrap();
    let (sent, requests, _) =
        call(Disks::<false>::default(), || create(&Acme::<false>, &desired().with_new_memo(memo.clone())));
    assert!(matches!(sent, Ok(VolumeCreation::Pending(it)) if !announces(&it)), "{requests:?}");
    assert_eq!(requests.last().unwrap(), "POST api /disks");
    let (looked, requests, _) = call(Disks::<false>::default(), || create(&Acme::<false>, &asked(&memo)));
    let Ok(VolumeCreation::Pending(looked)) = looked else { panic!("{looked:?}") };
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "another call may have sent it: {requests:?}");
    assert!(looked.memo.unwrap().starts_with("lost since ") && looked.wait.milliseconds == 1_000);
    let (unique, requests, _) = call(Disks::<true>::default(), || create(&Acme::<true>, &asked("lost since 1")));
    assert!(unique.is_ok() && requests.last().unwrap() == "POST api /disks", "the cloud refuses a second one");
}

/// Cases: csi 20
#[test]
fn an_error_spends_no_announcement_before_it_is_sent() {
    /// The answer to the first call with a memo that has announced a creation at 990, where requests of this method fail so.
    fn created(at: u64, fails: Method, status: u16, pause: Option<u32>) -> Result<VolumeCreation> {
        let headers: Vec<_> = pause.map(|it| ("retry-after".to_owned(), it.to_string())).into_iter().collect();
        let answers = move |request: &Request| match request.method == fails {
            true => Ok(Response { status, headers: headers.clone(), body: Vec::new() }),
            false => testing::answer(200, "[]"),
        };
        let host = Host::new().cluster(Cluster::of("kubernetes", CLUSTER)).at(at).answers(answers);
        let said = host.run(|| create(&Acme::<false>, &desired().with_new_memo("lost since 990 number +2")));
        let told: Vec<_> = host.events().into_iter().map(|it| it.reason).collect();
        assert_eq!(told, vec!["ProvisioningFailed"; usize::from(said.is_ok())]);
        said
    }
    for (at, fails, status, pause, expected) in [
        (990, Method::Get, 500, None, 1),
        (1_000, Method::Get, 503, None, 10),
        (9_000, Method::Get, 503, None, 300),
        (1_000, Method::Get, 429, Some(40), 40),
        (1_100, Method::Get, 429, Some(40), 110),
        (1_000, Method::Post, 429, None, 10),
    ] {
        let said = created(at, fails, status, pause);
        let Ok(VolumeCreation::Pending(again)) = said else { panic!("{fails:?} {status}: {said:?}") };
        assert!(announces(&again) && again.wait.reason.contains(&status.to_string()), "{again:?}");
        let told = (again.memo.as_deref(), again.wait.milliseconds / 1_000);
        assert_eq!(told, (Some("lost since 991 number +2"), expected), "{fails:?} {status} at {at}");
    }
    for status in [401, 422] {
        let refused = created(1_000, Method::Get, status, None);
        assert!(refused.as_ref().is_err_and(Error::is_refusal), "{refused:?}");
    }
    // Another call may have sent it, and a cloud that refuses a second one needs no announcement.
    let host = Host::new().cluster(Cluster::of("kubernetes", CLUSTER)).answers(|_| testing::answer(503, ""));
    let announced = desired().with_new_memo("lost since 990 number +2");
    let known = host.run(|| create(&Acme::<false>, &DesiredVolume { extra: Vec::new(), ..announced.clone() }));
    let unique = host.run(|| create(&Acme::<true>, &announced));
    assert!(
        matches!((&known, &unique), (Err(Error::Unavailable(_)), Err(Error::Unavailable(_)))),
        "{known:?} {unique:?}"
    );
}

/// Cases: csi 27
#[test]
fn the_recorded_one_of_two_volumes_with_a_mark_is_kept() {
    let ours = || json!({ "size": 10, "mark": mark(CLUSTER, UID), "at": null });
    let two = || Disks::<false>::default().with(&desired().name, ours()).with(&desired().name, ours());
    let recorded = DesiredVolume { memo: Some("made disk-3 since 1".to_owned()), ..desired() };
    for (asked, handle, events) in [(recorded, "disk-3", 0), (desired(), "disk-2", 1)] {
        let (found, requests, told) = call(two(), || create(&Acme::<false>, &asked));
        assert!(matches!(&found, Ok(VolumeCreation::Ready(it)) if it.handle == handle), "{found:?}");
        assert!(requests.iter().all(|it| it.starts_with("GET ")), "nothing is deleted: {requests:?}");
        assert_eq!(told, vec!["VolumeDoubled"; events]);
    }
}

/// Cases: csi 21
#[test]
fn a_creation_that_nobody_remembers_is_waited_for() {
    let abandoned = |memo: &str| {
        let memo = Some(memo.to_owned());
        call(Disks::<true>::default(), || abandon(&Acme::<true>, &DesiredVolume { memo, ..desired() })).0
    };
    // A process may have sent another creation, and died before it could keep a memo of that.
    for memo in ["lost since 1", "made disk-9 since 1"] {
        let Ok(VolumeDeletion::Pending(left)) = abandoned(memo) else { panic!("{memo} is believed") };
        assert_eq!(left.wait.milliseconds, 60_000, "{memo}");
        let looked = left.memo.unwrap();
        assert!(looked.ends_with(" number 0"), "{looked}");
        let Ok(VolumeDeletion::Pending(again)) = abandoned(&looked) else { panic!("{looked} is over at once") };
        assert_eq!(again.memo.as_deref(), Some(looked.as_str()), "it goes on from there");
    }
    assert_eq!(abandoned("lost since 1 number 0"), Ok(VolumeDeletion::Done));
}
