use std::time::Duration;

use cloud_provider::{LoadBalancerStatus, PendingStatus};
use egress::{Effect, Method};

use super::*;

const FAILED: Ending = Ending::Failed(500);

fn read(path: &str, ending: Ending) -> SeenRequest {
    SeenRequest::new("api", Effect::Read, Method::Get, path, ending)
}

fn deletion_of(path: &str, ending: Ending) -> SeenRequest {
    SeenRequest::new("api", Effect::Delete, Method::Delete, path, ending)
}

fn creation(ending: Ending) -> SeenRequest {
    SeenRequest::new("api", Effect::Write, Method::Post, "/balancers", ending)
}

fn seen<const N: usize>(requests: [SeenRequest; N]) -> Seen {
    Seen::new(requests)
}

#[test]
fn adv_156_none_after_a_read_without_an_answer_is_an_error() {
    let pause = Duration::from_secs(7);
    let answered = |ending| none::<()>(&seen([read("/machines/7", ending)]), Ok(None));
    for ending in
        [FAILED, Ending::Busy(423), Ending::Lost, Ending::NotSent, Ending::Withheld, Ending::Throttled(429, None)]
    {
        assert!(matches!(answered(ending), Err(Error::Unavailable(_))), "{ending:?}");
    }
    for ending in [Ending::Forbidden(401), Ending::Forbidden(403), Ending::Denied] {
        assert!(matches!(answered(ending), Err(Error::Denied(_))), "{ending:?}");
    }
    for ending in [Ending::Throttled(413, Some(pause)), Ending::Paused(pause)] {
        assert!(matches!(answered(ending), Err(Error::RetryAfter { after, .. }) if after == pause), "{ending:?}");
    }
    for ending in [Ending::Success, Ending::Missing(404), Ending::Refused(400)] {
        assert_eq!(answered(ending), Ok(None), "{ending:?}");
    }
    let text = "GET /machines/7 at endpoint api was answered with 500, and the provider answers that it does not exist: that is \
                not believed";
    assert_eq!(answered(FAILED), Err(Error::Unavailable(text.to_owned())));
    assert_eq!(none(&seen([read("/machines/7", FAILED)]), Ok(Some(1))), Ok(Some(1)), "what exists was seen");
}

#[test]
fn adv_156_no_account_after_a_failed_read_is_an_error() {
    let told = |ending| account(&seen([read("/account", ending)]), Ok(None));
    for ending in [FAILED, Ending::Lost, Ending::Throttled(429, None)] {
        assert!(matches!(told(ending), Err(Error::Unavailable(_))), "{ending:?}");
    }
    assert!(matches!(told(Ending::Forbidden(401)), Err(Error::Denied(_))));
    for ending in [Ending::Forbidden(403), Ending::Denied, Ending::Success] {
        assert_eq!(told(ending), Ok(None), "{ending:?}: a credential may be too narrow");
    }
}

#[test]
fn adv_156_a_list_without_one_of_its_pages_is_incomplete() {
    let half = seen([read("/machines?page=1", Ending::Success), read("/machines?page=2", FAILED)]);
    let why = "GET /machines at endpoint api was answered with 500, and the provider does not say what is missing";
    let gap = Gap { zone: None, reason: why.to_owned() };
    assert_eq!(machines(&half, Page::default()).gaps, [gap]);
    assert_eq!(routes(&half, RoutePage::default()).incomplete.as_deref(), Some(why));
    let items = InventoryPage { items: Vec::new(), next: None, incomplete: None };
    assert_eq!(load_balancers(&half, items).incomplete.as_deref(), Some(why));
    let own = Gap { zone: Some("z1".to_owned()), reason: "z1 does not answer".to_owned() };
    let told = Page { gaps: vec![own.clone()], ..Page::default() };
    assert_eq!(machines(&half, told).gaps, [own], "the provider has said what is missing");
    let whole = seen([read("/machines?page=2", FAILED), read("/machines?page=2", Ending::Success)]);
    assert_eq!(machines(&whole, Page::default()), Page::default(), "it was repeated");
}

#[test]
fn adv_156_done_after_a_deletion_that_failed_is_an_error() {
    let answered = |requests: &[SeenRequest]| deletion(&Seen::new(requests.iter().cloned()), Deletion::Done);
    let of = |ending| deletion_of("/balancers/7", ending);
    for ending in
        [FAILED, Ending::Busy(409), Ending::Busy(423), Ending::Throttled(429, None), Ending::Lost, Ending::Withheld]
    {
        assert!(matches!(answered(&[of(ending)]), Err(Error::Unavailable(_))), "{ending:?}");
    }
    assert!(matches!(answered(&[of(Ending::Forbidden(403))]), Err(Error::Denied(_))));
    for ending in [Ending::Success, Ending::Missing(404), Ending::Refused(400)] {
        assert_eq!(answered(&[of(ending)]), Ok(Deletion::Done), "{ending:?}");
    }
    assert_eq!(answered(&[of(Ending::Lost), of(Ending::Success)]), Ok(Deletion::Done), "it was repeated");
    assert_eq!(answered(&[of(Ending::Lost), read("/balancers/7", Ending::Missing(404))]), Ok(Deletion::Done));
    assert!(answered(&[read("/balancers", FAILED)]).is_err(), "nothing was read, and nothing deleted");
    assert_eq!(answered(&[read("/tags", FAILED), of(Ending::Success)]), Ok(Deletion::Done));
    let kept = Deletion::Kept("protected".to_owned());
    assert_eq!(deletion(&seen([of(FAILED)]), kept.clone()), Ok(kept));
}

#[test]
fn adv_156_a_route_is_not_done_while_its_deletion_failed() {
    let (failed, done) = (seen([deletion_of("/routes/7", FAILED)]), || Ok(RouteOutcome::Done));
    let pending = || Ok(RouteOutcome::Pending { after: Duration::from_secs(1), reason: "locked".to_owned() });
    assert!(matches!(&changes(&failed, 1, vec![done()])[..], [Err(Error::Unavailable(_))]));
    assert_eq!(changes(&failed, 1, vec![done(), pending()]), [done(), pending()], "the other one was it");
    let two = seen([deletion_of("/routes/7", FAILED), deletion_of("/routes/8", Ending::Lost)]);
    assert!(changes(&two, 1, vec![done(), pending()])[0].is_err());
    assert_eq!(changes(&two, 2, vec![done(), pending()]), [done(), pending()], "a route of two entries");
    assert!(changes(&seen([creation(Ending::Lost)]), 1, vec![done()])[0].is_err());
    assert_eq!(changes(&seen([creation(Ending::Success)]), 1, vec![done()]), [done()]);
}

fn ready(memo: Option<&str>) -> Result<Progress> {
    Ok(Progress::Ready(LoadBalancerStatus { memo: memo.map(str::to_owned), ..LoadBalancerStatus::default() }))
}

fn pending(memo: Option<&str>) -> Result<Progress> {
    let status = LoadBalancerStatus { memo: memo.map(str::to_owned), ..LoadBalancerStatus::default() };
    Ok(Progress::Pending(PendingStatus { status, after: Duration::ZERO, reason: String::new() }))
}

fn reasons<const N: usize>(requests: [SeenRequest; N], memo: Option<&str>, answer: &Result<Progress>) -> Vec<String> {
    warnings(&seen(requests), &[], memo, answer).into_iter().map(|it| it.reason).collect()
}

#[test]
fn adv_157_a_creation_without_an_answer_is_always_told() {
    for answer in [ready(None), ready(Some("7")), pending(Some("7")), Err(Error::Unavailable(String::new()))] {
        for ending in [Ending::Lost, FAILED] {
            assert_eq!(reasons([creation(ending)], None, &answer), [UNCLEAR], "{ending:?} {answer:?}");
        }
        assert_eq!(reasons([creation(Ending::Refused(422))], None, &answer), [""; 0]);
    }
    let again = [creation(Ending::Lost), creation(Ending::Success)];
    assert_eq!(reasons(again, None, &ready(Some("8"))), [UNCLEAR], "the first one may be there too");
    let action = SeenRequest::new("api", Effect::Write, Method::Post, "/balancers/7/actions/add", Ending::Lost);
    assert_eq!(reasons([action], Some("7"), &ready(Some("7"))), [""; 0], "it is about what is known");
    let update = SeenRequest::new("api", Effect::Write, Method::Put, "/balancers/7", Ending::Lost);
    assert_eq!(reasons([update.clone()], Some("name"), &ready(Some("name"))), [""; 0]);
    assert_eq!(reasons([update], None, &ready(None)), [UNCLEAR], "a PUT makes what is not there");
    let own = warning(UNCLEAR, "the SDK has told it".to_owned());
    assert_eq!(warnings(&seen([creation(Ending::Lost)]), &[own], None, &pending(Some("7"))), []);
}

#[test]
fn adv_157_a_write_that_leaves_no_memo_is_told() {
    let written = || [creation(Ending::Success)];
    for answer in [ready(None), pending(None), Err(Error::Unavailable(String::new()))] {
        assert_eq!(reasons(written(), None, &answer), ["MemoMissing"], "{answer:?}");
        assert_eq!(reasons(written(), Some("7"), &answer), [""; 0], "it was kept before");
        assert_eq!(reasons([creation(Ending::Refused(422))], None, &answer), [""; 0]);
        assert_eq!(reasons([read("/balancers", Ending::Success)], None, &answer), [""; 0]);
    }
    assert_eq!(reasons(written(), None, &pending(Some("7"))), [""; 0]);
    let marked = || written().map(SeenRequest::marked);
    assert_eq!(reasons(marked(), None, &pending(None)), [""; 0], "it is found by its mark");
    assert_eq!(reasons(marked(), None, &ready(None)), ["MemoMissing"]);
    let named = SeenRequest::new("api", Effect::Write, Method::Put, "/balancers/a1", Ending::Success);
    assert_eq!(reasons([named.clone()], None, &ready(None)), ["MemoMissing"]);
    assert_eq!(reasons([named.marked()], None, &ready(None)), [""; 0], "it is made once");
}

#[test]
fn adv_156_a_volume_is_not_settled_after_a_request_that_failed() {
    let attached = |ending| SeenRequest::new("api", Effect::Update, Method::Post, "/volumes/7/attach", ending);
    for odd in [
        seen([read("/volumes/7", FAILED)]),
        seen([creation(Ending::Lost)]),
        seen([deletion_of("/volumes/7", FAILED)]),
        seen([read("/volumes/7", Ending::Success), attached(Ending::Busy(423))]),
    ] {
        assert!(settled(&odd, ()).is_err(), "{odd:?}");
    }
    for even in [
        seen([]),
        seen([read("/volumes/7", Ending::Missing(404))]),
        seen([read("/tags", FAILED), deletion_of("/volumes/7", Ending::Success)]),
        seen([read("/tags", FAILED), creation(Ending::Success)]),
    ] {
        assert_eq!(settled(&even, ()), Ok(()), "{even:?}");
    }
    let half = volumes(&seen([read("/volumes?page=2", FAILED)]), VolumePage::default());
    assert!(half.incomplete.is_some());
}
