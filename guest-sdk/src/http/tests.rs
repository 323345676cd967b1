//! Every answer that a cloud can give, as the error that the host sees.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::testing::{self, Failure, Host, Outcome};
use crate::{Change, Error, Result};

#[derive(Debug, Deserialize, PartialEq)]
struct Thing {
    id: u64,
}

fn find(outcome: impl Fn() -> Outcome + 'static) -> Result<Option<Thing>> {
    Host::new().at(1_000_000).answers(move |_| outcome()).run(|| get("api", ["things", "7"]).find())
}

fn refused(status: u16) -> Error {
    let message = r#"{ "message": "no such luck", "request_id": "r-1" }"#;
    find(move || testing::answer(status, message)).unwrap_err()
}

fn paused(status: u16, retry_after: &'static str) -> Error {
    let headers = vec![("Retry-After".to_owned(), retry_after.to_owned())];
    find(move || Ok(testing::Response { status, headers: headers.clone(), body: Vec::new() })).unwrap_err()
}

fn text(status: u16) -> String {
    format!("GET /things/7 at endpoint api: {status} no such luck (request r-1)")
}

#[test]
fn an_object_that_is_there_is_found() {
    assert_eq!(
        find(|| testing::answer(200, r#"{ "id": 7, "colour": "unknown fields are no harm" }"#)),
        Ok(Some(Thing { id: 7 }))
    );
}

#[test]
fn an_object_that_the_cloud_does_not_know_is_none() {
    assert_eq!(find(|| testing::answer(404, "")), Ok(None));
}

#[test]
fn statuses_are_sorted_by_what_the_host_does_next() {
    for status in [400, 422] {
        assert_eq!(refused(status), Error::Invalid(text(status)));
    }
    for status in [401, 403] {
        assert_eq!(refused(status), Error::Denied(text(status)));
    }
    for status in [301, 405, 409, 410, 423, 429, 500, 502, 503, 504] {
        assert_eq!(refused(status), Error::Unavailable(text(status)));
    }
}

#[test]
fn a_pause_that_the_cloud_asks_for_is_passed_on() {
    let asked = |status| format!("GET /things/7 at endpoint api: {status}");
    assert_eq!(paused(429, "20"), Error::retry_after(Duration::from_secs(20), asked(429)));
    assert_eq!(paused(503, "5"), Error::retry_after(Duration::from_secs(5), asked(503)));
    assert_eq!(paused(429, "99999999999"), Error::retry_after(Duration::from_millis(u32::MAX.into()), asked(429)));
    assert_eq!(paused(429, "in a while"), Error::Unavailable(asked(429)));
    assert_eq!(paused(500, "20"), Error::Unavailable(asked(500)));
}

#[test]
fn a_moment_in_a_header_is_counted_from_now() {
    let until = |value: &str| {
        let headers = vec![("x-reset".to_owned(), value.to_owned())];
        let host = Host::new().at(1_000_000);
        let host =
            host.answers(move |_| Ok(testing::Response { status: 429, headers: headers.clone(), body: Vec::new() }));
        host.run(|| get("api", ["things"]).answer().unwrap().until("X-Reset"))
    };
    assert_eq!(until("1000060"), Some(Duration::from_secs(60)));
    assert_eq!(until("999940"), Some(Duration::ZERO));
    assert_eq!(until("soon"), None);
}

#[test]
fn an_unreadable_answer_is_unavailable_and_never_none() {
    for body in ["", "<html>", "{", "null", "[]", r#"{ "id": "seven" }"#, r#"{ "name": 7 }"#] {
        let Error::Unavailable(text) = find(move || testing::answer(200, body)).unwrap_err() else { panic!("{body}") };
        assert!(text.starts_with("GET /things/7 at endpoint api: 200 with an answer that cannot be read: "), "{text}");
    }
}

#[test]
fn a_failure_of_the_host_keeps_its_kind() {
    let fails = |failure: fn() -> Failure| find(move || Err(failure())).unwrap_err();
    let asked = "GET /things/7 at endpoint api";
    assert_eq!(
        fails(|| Failure::Denied("E-EGRESS-PATH: allow it".to_owned())),
        Error::Denied(format!("{asked}: E-EGRESS-PATH: allow it")),
    );
    assert!(matches!(fails(|| Failure::RetryAfter(1500)), Error::RetryAfter(pause) if pause.milliseconds == 1500));
    assert_eq!(
        fails(|| Failure::Unreachable("connection refused".to_owned())),
        Error::Unavailable(format!("{asked}: not sent: connection refused")),
    );
    assert_eq!(
        fails(|| Failure::Interrupted("time-out".to_owned())),
        Error::Unavailable(format!("{asked}: perhaps carried out, but the answer was lost: time-out")),
    );
}

#[test]
fn a_lost_answer_differs_from_a_request_that_was_not_sent() {
    let attempt = |failure: fn() -> Failure| {
        let host = Host::new().answers(move |_| Err(failure()));
        host.run(|| post("api", ["things"]).attempt())
    };
    let Ok(Attempt::Lost(why)) = attempt(|| Failure::Interrupted("time-out".to_owned())) else { panic!("not lost") };
    assert_eq!(why, "POST /things at endpoint api: perhaps carried out, but the answer was lost: time-out");
    let error = attempt(|| Failure::Unreachable("connection refused".to_owned())).unwrap_err();
    assert_eq!(error, Error::unavailable("POST /things at endpoint api: not sent: connection refused"));
    let host = Host::new().answers(|_| testing::answer(500, ""));
    let Ok(Attempt::Answered(response)) = host.run(|| post("api", ["things"]).attempt()) else { panic!("no answer") };
    assert_eq!(response.status(), 500);
}

#[test]
fn a_provider_says_in_one_place_where_its_cloud_differs() {
    const CLIENT: Client<'_> = Client::new("api").refusals(|response| match response.status() {
        403 | 404 => Some(Error::unavailable("busy")),
        _ => None,
    });
    let ask =
        |status| Host::new().answers(move |_| testing::answer(status, "")).run(|| CLIENT.get(["a"]).find::<Thing>());
    assert_eq!(ask(403), Err(Error::unavailable("busy")));
    assert_eq!(ask(404), Err(Error::unavailable("busy")));
    assert_eq!(ask(401), Err(Error::denied("GET /a at endpoint api: 401")));
}

#[test]
fn the_clouds_own_words_are_kept_in_the_forms_that_clouds_use() {
    for (body, words) in [
        (r#"{ "error": { "message": "a" } }"#, " a"),
        (r#"{ "error": "b" }"#, " b"),
        (r#"{ "errors": [{ "detail": "c" }] }"#, " c"),
        (r#"{ "title": "d" }"#, " d"),
        ("plain\nwords", " plain words"),
        ("<html>a page</html>", ""),
        (r#"{ "cut": "#, ""),
    ] {
        let Error::Denied(text) = find(move || testing::answer(403, body)).unwrap_err() else { panic!("{body}") };
        assert_eq!(text, format!("GET /things/7 at endpoint api: 403{words}"));
    }
}

#[test]
fn a_long_complaint_is_cut() {
    let Error::Invalid(text) = find(|| testing::answer(422, "x".repeat(100_000))).unwrap_err() else { panic!("422") };
    assert_eq!(text.len(), "GET /things/7 at endpoint api: 422 ".len() + 400);
}

#[test]
fn a_request_carries_what_was_said() {
    let host = Host::new().answers(|_| testing::answer(204, ""));
    let spec = BTreeMap::from([("size", "small")]);
    host.run(|| {
        patch("api", ["a b", "c"]).query("page", 2).json(&spec).header("If-Match", "etag").send()?;
        delete("api", ["a"]).send_or_gone()
    })
    .unwrap();
    assert_eq!(host.requests(), ["PATCH api /a b/c?page=2", "DELETE api /a"]);
    assert_eq!(host.bodies(), [r#"{"size":"small"}"#]);
}

#[test]
fn a_form_is_sent_as_names_and_values() {
    let host = Host::new().answers(|_| testing::answer(200, ""));
    host.run(|| post("api", [""; 0]).form([("Action", "Describe".to_owned()), ("Page", 2.to_string())]).send())
        .unwrap();
    assert_eq!(host.bodies(), ["Action=Describe&Page=2"]);
}

#[test]
fn a_busy_object_is_no_failure() {
    const CLIENT: Client<'_> = Client::new("api").busy(|it| it.status() == 403);
    let host = |status| Host::new().answers(move |_| testing::answer(status, ""));
    let change = |status, client: Client<'_>| host(status).run(|| client.put(["a"]).change()).map(|it| it.map(drop));
    let busy = |status| Ok(Change::Busy(format!("PUT /a at endpoint api: {status}")));
    assert_eq!(change(409, Client::new("api")), busy(409));
    assert_eq!(change(423, Client::new("api")), busy(423));
    assert_eq!(change(403, CLIENT), busy(403));
    assert_eq!(change(409, CLIENT), Err(Error::unavailable("PUT /a at endpoint api: 409")));
    assert_eq!(change(200, CLIENT), Ok(Change::Done(())));
    let gone = |status| host(status).run(|| CLIENT.delete(["a"]).change_or_gone());
    assert_eq!((gone(404), gone(204)), (Ok(Change::Done(())), Ok(Change::Done(()))));
    assert_eq!(gone(403), Ok(Change::Busy("DELETE /a at endpoint api: 403".to_owned())));
    assert!(matches!(gone(500), Err(Error::Unavailable(_))));
}

#[test]
fn a_url_stands_for_a_place_at_an_endpoint() {
    let place = Location { endpoint: "api".to_owned(), path: vec!["a".to_owned()], query: Vec::new() };
    Host::new().resolves("https://api.example.com/v1/a", place.clone()).run(|| {
        assert_eq!(resolve_url("https://api.example.com/v1/a"), Some(place));
        assert_eq!(resolve_url("https://elsewhere.example.com/"), None);
    });
}

#[test]
fn an_object_is_read_out_of_its_field() {
    let find = |body: &'static str| {
        Host::new().answers(move |_| testing::answer(200, body)).run(|| get("api", ["a"]).find_in::<Thing>("thing"))
    };
    assert_eq!(find(r#"{ "links": { "a": [1] }, "thing": { "id": 7 } }"#), Ok(Some(Thing { id: 7 })));
    for body in ["{}", "[]", r#"{ "thing": {} }"#, "{"] {
        assert!(matches!(find(body), Err(Error::Unavailable(_))), "{body}");
    }
    assert!(matches!(find("{}"), Err(Error::Unavailable(why)) if why.contains("missing field `thing`")));
}

#[test]
fn a_deleted_object_may_be_gone_already() {
    let ask =
        |status| Host::new().answers(move |_| testing::answer(status, "")).run(|| delete("api", ["a"]).send_or_gone());
    assert_eq!(ask(404), Ok(()));
    assert_eq!(ask(409), Err(Error::unavailable("DELETE /a at endpoint api: 409")));
}

#[test]
fn something_to_be_done_to_what_is_not_there_is_unavailable() {
    let sent = Host::new().answers(|_| testing::answer(404, "")).run(|| put("api", ["a"]).send().map(drop));
    assert_eq!(sent, Err(Error::unavailable("PUT /a at endpoint api: 404")));
}

#[test]
fn a_body_that_cannot_be_written_is_not_sent() {
    let spec = BTreeMap::from([((1, 2), 3)]);
    let sent = Host::new().run(|| post("api", ["a"]).json(&spec).send().map(drop));
    assert_eq!(sent, Err(Error::invalid("POST /a at endpoint api: the body cannot be written: key must be a string")));
}

#[test]
fn only_a_404_of_the_api_itself_is_none() {
    let api = Client::new("api").not_found(|it| it.says("no such thing"));
    let ask = |body: &'static str| {
        let host = Host::new().answers(move |_| testing::answer(404, body));
        let found = host.run(|| api.get(["a"]).find_response().map(|it| it.is_some()));
        (found, host.run(|| api.delete(["a"]).change_or_gone()))
    };
    assert_eq!(ask(r#"{ "message": "no such thing" }"#), (Ok(false), Ok(Change::Done(()))));
    for body in ["", "<html>nginx</html>", r#"{ "message": "no route" }"#] {
        let (Err(Error::Unavailable(why)), Err(Error::Unavailable(_))) = ask(body) else { panic!("{body}") };
        assert!(why.ends_with("but not in the API's words: does baseUrl lead to it?"), "{why}");
    }
}

#[test]
fn a_limit_ends_when_its_header_says_so() {
    let paused = |headers: &'static [(&str, &str)]| {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let host = Host::new()
            .at(1_000)
            .answers(move |_| Ok(testing::Response { status: 429, headers: headers.clone(), body: Vec::new() }));
        host.run(|| Client::new("api").limit_ends("reset").get(["a"]).send()).unwrap_err()
    };
    let pause = |seconds| Error::retry_after(Duration::from_secs(seconds), "GET /a at endpoint api: 429");
    assert_eq!(paused(&[("Reset", "1090")]), pause(90));
    assert_eq!(paused(&[("reset", "900")]), pause(1));
    assert_eq!(paused(&[("retry-after", "20"), ("reset", "4600")]), pause(20));
    assert_eq!(paused(&[]), Error::unavailable("GET /a at endpoint api: 429"));
}

#[test]
fn an_endpoint_pauses_while_its_reserve_is_used_up() {
    let throttled = |left: &'static str| {
        let headers = vec![("RateLimit-Remaining".to_owned(), left.to_owned())];
        let host =
            Host::new().answers(move |_| Ok(testing::Response { status: 200, headers: headers.clone(), body: vec![] }));
        host.run(|| Client::new("api").reserve("ratelimit-remaining", 20).get(["a"]).send()).unwrap();
        host.throttles()
    };
    assert_eq!(throttled("17"), ["api 3000 ms: 17 requests of the quota are left"]);
    assert_eq!(throttled("20"), [""; 0]);
    assert_eq!(throttled("many"), [""; 0]);
}

#[test]
fn one_object_of_a_list_is_found() {
    const PAGES: NumberedPages<'_> = NumberedPages { largest: 2, next: &["links", "next"], ..NumberedPages::USUAL };
    let host = Host::new().answers(|request| match request.query[0].1.as_str() {
        "1" => {
            testing::answer(200, r#"{ "links": { "next": 2 }, "a": [{ "b": [{ "id": 3 }], "id": 1 }, { "c": 3 }] }"#)
        }
        _ => testing::answer(200, r#"{ "a": [{ "id": 2 }, { "b": { "c": [4] }, "id": 3 }, { "id": 3 }] }"#),
    });
    let find = |id: u8| host.run(|| PAGES.find(&get("api", ["a"]), "a", "id", &json!(id)));
    assert_eq!(find(3), Ok(Some(json!({ "b": { "c": [4] }, "id": 3 }))));
    assert_eq!(find(1), Ok(Some(json!({ "b": [{ "id": 3 }], "id": 1 }))));
    assert_eq!(find(7), Ok(None));
    assert_eq!(host.requests().len(), 2 + 1 + 2);
    for body in ["{}", r#"{ "a": {} }"#, r#"{ "a": [1] }"#, "[]"] {
        let host = Host::new().answers(move |_| testing::answer(200, body));
        let found = host.run(|| PAGES.find(&get("api", ["a"]), "a", "id", &json!(1)));
        assert!(matches!(found, Err(Error::Unavailable(_))), "{body}");
    }
}

#[test]
fn a_page_without_its_list_is_no_empty_page() {
    const PAGES: NumberedPages<'_> = NumberedPages { largest: 50, next: &["links", "next"], ..NumberedPages::USUAL };
    let ask = |body: &'static str| {
        Host::new().answers(move |_| testing::answer(200, body)).run(|| PAGES.page::<u8>(get("api", ["a"]), "a", 1, 50))
    };
    assert_eq!(ask(r#"{ "a": [1], "links": {} }"#), Ok(NumberedPage { items: vec![1], is_last: true }));
    assert_eq!(ask(r#"{ "links": { "next": "x" }, "a": [1] }"#), Ok(NumberedPage { items: vec![1], is_last: false }));
    for body in ["{}", r#"{ "a": null }"#, r#"{ "links": {} }"#, "[]"] {
        assert!(matches!(ask(body), Err(Error::Unavailable(_))), "{body}");
    }
}

#[test]
fn pages_of_other_shapes_are_read_to_their_end() {
    let all = |pages: NumberedPages<'static>, bodies: [&'static str; 2]| {
        let host = Host::new().answers(move |request| match request.query[0].1.as_str() {
            "1" => testing::answer(200, bodies[0]),
            "2" => testing::answer(200, bodies[1]),
            _ => testing::answer(200, r#"{ "a": [], "count": 3 }"#),
        });
        (host.run(|| pages.all::<u8>(&get("api", ["a"]), "a")), host.requests())
    };
    let usual = NumberedPages { largest: 2, size: "page_size", next: &["count"], ..NumberedPages::USUAL };
    let (read, requests) = all(
        NumberedPages { end: PageEnd::Pages, ..usual },
        [r#"{ "a": [1, 2], "count": 2 }"#, r#"{ "a": [3], "count": 2 }"#],
    );
    assert_eq!((read, &*requests[1], requests.len()), (Ok(vec![1, 2, 3]), "GET api /a?page=2&page_size=2", 2));
    let items = [r#"{ "a": [1, 2], "count": 3 }"#, r#"{ "a": [3], "count": 3 }"#];
    assert_eq!(all(NumberedPages { end: PageEnd::Items, ..usual }, items).0, Ok(vec![1, 2, 3]));
    assert_eq!(all(NumberedPages { end: PageEnd::NotFull, ..usual }, items).0, Ok(vec![1, 2, 3]));
    let renamed = NumberedPages { end: PageEnd::Pages, next: &["total"], ..usual };
    let Err(Error::Unavailable(why)) = all(renamed, items).0 else { panic!("the list ended") };
    assert!(why.ends_with("no number in total"), "{why}");
}

#[test]
fn no_page_is_smaller_than_the_cloud_takes() {
    let pages = NumberedPages { smallest: 25, largest: 500, ..NumberedPages::USUAL };
    let host = Host::new().answers(|_| testing::answer(200, r#"{ "a": [] }"#));
    for size in [10, 30, 900] {
        host.run(|| pages.page::<u8>(get("api", ["a"]), "a", 1, size)).unwrap();
    }
    let sizes = ["30", "30", "500"].map(|it| format!("GET api /a?page=1&per_page={it}"));
    assert_eq!(host.requests(), sizes);
}

#[test]
fn pages_smaller_than_the_clouds_are_parts_of_them() {
    let pages = NumberedPages { smallest: 5, end: PageEnd::NotFull, ..NumberedPages::USUAL };
    let host = Host::new().answers(|request| match (request.query[0].1.as_str(), request.query[1].1.as_str()) {
        ("1", "6") => testing::answer(200, r#"{ "a": [1, 2, 3, 4, 5, 6] }"#),
        ("2", "6") => testing::answer(200, r#"{ "a": [7, 8, 9] }"#),
        other => panic!("{other:?}"),
    });
    let mut all = Vec::new();
    for number in 1.. {
        let page = host.run(|| pages.page::<u8>(get("api", ["a"]), "a", number, 2)).unwrap();
        all.push(page.items);
        if page.is_last {
            break;
        }
    }
    assert_eq!(all, [vec![1, 2], vec![3, 4], vec![5, 6], vec![7, 8], vec![9]]);
    let more = Host::new().answers(|_| testing::answer(200, r#"{ "a": [1, 2, 3] }"#));
    let page = more.run(|| NumberedPages::USUAL.page::<u8>(get("api", ["a"]), "a", 1, 2)).unwrap();
    assert_eq!(page.items, [1, 2, 3], "nothing that the cloud shows is lost");
}

#[test]
fn reasons_of_a_cloud_are_told() {
    let complaint = |body: &'static str| {
        let host = Host::new().answers(move |_| testing::answer(400, body));
        host.run(|| get("api", ["a"]).send()).unwrap_err().why().to_owned()
    };
    for body in
        [r#"{ "errors": [{ "field": "label", "reason": "is taken" }] }"#, r#"{ "error": { "reason": "is taken" } }"#]
    {
        assert_eq!(complaint(body), "GET /a at endpoint api: 400 is taken");
    }
    assert_eq!(complaint(r#"{ "reason": "Invalid", "message": "is taken" }"#), "GET /a at endpoint api: 400 is taken");
}
