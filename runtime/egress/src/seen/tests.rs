use super::*;

fn read(path: &str, ending: Ending) -> SeenRequest {
    SeenRequest::new("api", Effect::Read, Method::Get, path, ending)
}

fn deletion(path: &str, ending: Ending) -> SeenRequest {
    SeenRequest::new("api", Effect::Delete, Method::Delete, path, ending)
}

fn write(path: &str, ending: Ending) -> SeenRequest {
    SeenRequest::new("api", Effect::Write, Method::Post, path, ending)
}

#[test]
fn statuses_are_sorted_by_what_they_say_of_the_cloud() {
    for (statuses, ending) in [
        (&[404, 410][..], Ending::Missing as fn(u16) -> Ending),
        (&[401, 403], Ending::Forbidden),
        (&[409, 423], Ending::Busy),
        (&[400, 405, 412, 422], Ending::Refused),
        (&[301, 304, 408, 499, 500, 502, 503, 599], Ending::Failed),
    ] {
        for &status in statuses {
            assert_eq!(Ending::of_refusal(status), ending(status));
        }
    }
}

#[test]
fn a_read_that_was_repeated_with_success_was_answered() {
    let unanswered = |requests: &[SeenRequest]| Seen::new(requests.iter().cloned()).unanswered_reads().count();
    let (failed, success) = (read("/a?page=2", Ending::Failed(500)), read("/a?page=2", Ending::Success));
    assert_eq!(unanswered(&[failed.clone(), success.clone()]), 0);
    assert_eq!(unanswered(&[success, failed.clone()]), 0, "what it was answered once, it knows");
    assert_eq!(unanswered(&[failed.clone(), read("/a?page=3", Ending::Success)]), 1, "another page");
    assert_eq!(unanswered(&[failed.clone(), failed]), 1);
}

#[test]
fn a_deletion_is_settled_by_the_absence_of_its_object() {
    let failed = |requests: &[SeenRequest]| Seen::new(requests.iter().cloned()).failed_deletions().count();
    let lost = deletion("/a/7", Ending::Lost);
    assert_eq!(failed(std::slice::from_ref(&lost)), 1);
    assert_eq!(failed(&[lost.clone(), read("/a/7", Ending::Missing(404))]), 0);
    assert_eq!(failed(&[lost.clone(), deletion("/a/7", Ending::Success)]), 0);
    assert_eq!(failed(&[lost.clone(), read("/a/8", Ending::Missing(404))]), 1);
    assert_eq!(failed(&[read("/a/7", Ending::Missing(404)), lost]), 1, "that was before");
}

#[test]
fn adv_156_members_of_one_object_go_one_by_one() {
    let failed = |requests: &[SeenRequest]| Seen::new(requests.iter().cloned()).failed_deletions().count();
    let member = |body: &str, ending| {
        let path = "/balancers/7/actions/remove_target";
        SeenRequest::new("api", Effect::Detach, Method::Post, path, ending).with_body(body.as_bytes())
    };
    let (gone, lost) = (member("a", Ending::Success), member("b", Ending::Failed(500)));
    assert_eq!(failed(&[gone.clone(), lost.clone()]), 1);
    assert_eq!(failed(&[lost.clone(), gone.clone()]), 1);
    assert_eq!(failed(&[lost.clone(), gone, member("b", Ending::Success)]), 0, "it was repeated");
    let asked = |query: &str| deletion(&format!("/members?id={query}"), Ending::Failed(500));
    assert_eq!(failed(&[asked("1"), read("/members?id=2", Ending::Missing(404))]), 1, "another member is gone");
    assert_eq!(failed(&[asked("1"), read("/members?id=1", Ending::Missing(404))]), 0);
    assert_eq!(failed(&[asked("1"), read("/members", Ending::Missing(404))]), 0, "all of them are");
}

#[test]
fn adv_156_the_last_of_several_puts_to_one_path_counts() {
    let failed = |endings: &[Ending]| {
        let puts = endings.iter().zip(["a", "b"]).map(|(ending, body)| {
            SeenRequest::new("api", Effect::Update, Method::Put, "/7", *ending).with_body(body.as_bytes())
        });
        Seen::new(puts).failed_writes().count()
    };
    assert_eq!(failed(&[Ending::Success, Ending::Failed(500)]), 1);
    assert_eq!(failed(&[Ending::Busy(409), Ending::Success]), 0, "what was read again was written again");
}

#[test]
fn adv_156_a_denied_page_of_an_operation_is_not_optional() {
    let pages = |requests: &[SeenRequest]| Seen::new(requests.iter().cloned()).unanswered_pages().count();
    let request = |known: Recognized| {
        let request = SeenRequest::new("ec2", Effect::Read, Method::Post, "/", Ending::Success);
        request.denied(&Denied::new(Code::Content, "a parameter").knowing(known))
    };
    let describes = |name: &str| Recognized::Operation(name.to_owned(), Some(Effect::Read));
    let page = SeenRequest::new("ec2", Effect::Read, Method::Post, "/", Ending::Success);
    let page = page.with_body(b"MaxResults=100").of_operation("DescribeInstances");
    assert_eq!(pages(&[page.clone(), request(describes("DescribeInstances"))]), 1);
    assert_eq!(pages(&[page.clone(), request(describes("DescribeInstanceTopology"))]), 0);
    assert_eq!(pages(&[page, request(Recognized::Nothing)]), 1);
    let deleted = Seen::new([request(describes("DescribeInstances"))]);
    assert_eq!(deleted.failed_deletions().count(), 0, "a read that is denied deletes nothing");
}

#[test]
fn each_object_has_its_own_requests() {
    let lost = |path: &str| deletion(path, Ending::Lost);
    let seen = Seen::new([lost("/a/one").holding(0), lost("/a/two").holding(2), read("/lists", Ending::Failed(500))]);
    let failed = |own: Range<usize>| {
        let seen = seen.about(&own);
        (seen.failed_deletions().map(ToString::to_string).collect::<String>(), seen.unanswered_reads().count())
    };
    let told = |path: &str| format!("DELETE {path} at endpoint api was left without an answer");
    assert_eq!(failed(0..2), (told("/a/one"), 1));
    assert_eq!(failed(2..4), (told("/a/two"), 1));
    assert_eq!(failed(4..6), (String::new(), 1), "what holds nobody's mark is everybody's");
    let made = Seen::new([write("/b", Ending::Success).holding(2)]);
    assert_eq!(made.about(&(0..2)).written().count(), 0);
    assert!(made.about(&(2..4)).written().all(SeenRequest::is_marked));
}

#[test]
fn a_creation_that_was_repeated_stays_unclear() {
    let seen = Seen::new([write("/a", Ending::Lost), write("/a", Ending::Success)]);
    assert_eq!((seen.unclear_writes().count(), seen.written().count()), (1, 1));
}

#[test]
fn a_forbidden_request_alone_makes_no_list_incomplete() {
    let pages = |requests: &[SeenRequest]| Seen::new(requests.iter().cloned()).unanswered_pages().count();
    let (page, forbidden) = (read("/a?page=1", Ending::Success), Ending::Forbidden(403));
    assert_eq!(pages(&[page.clone(), read("/topology", forbidden)]), 0);
    assert_eq!(pages(&[page.clone(), read("/a?page=2", forbidden)]), 1, "a page of the same list");
    assert_eq!(pages(&[read("/a?page=2", forbidden)]), 1, "nothing was read at all");
    assert_eq!(pages(&[page.clone(), read("/topology", Ending::Failed(500))]), 1);
    assert_eq!(pages(&[page, read("/topology", Ending::Forbidden(401))]), 1);
}
