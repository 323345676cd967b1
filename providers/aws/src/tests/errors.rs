//! Answers that are errors, sorted by what the host does next.

use std::time::Duration;

use aerostat_sdk::Error;
use aerostat_sdk::testing::{Failure, answer};

use super::{Outcome, answer_with, get, host, node, refused};

fn error(outcome: fn() -> Outcome) -> Error {
    get(&host(move |_| outcome()), &node("i-1")).unwrap_err()
}

#[test]
fn a_missing_right_is_named_by_its_action() {
    let error = error(|| refused(403, "UnauthorizedOperation"));
    assert!(matches!(&error, Error::Denied(why) if why.ends_with("needs ec2:DescribeInstances")), "{error:?}");
}

#[test]
fn keys_that_aws_does_not_accept_are_told_from_missing_rights() {
    for outcome in
        [|| refused(401, "AuthFailure"), || refused(400, "RequestExpired"), || refused(403, "SignatureDoesNotMatch")]
    {
        let error = error(outcome);
        assert!(matches!(&error, Error::Denied(why) if why.ends_with("check where they come from")), "{error:?}");
    }
}

#[test]
fn a_wrong_question_is_invalid() {
    let text = "DescribeInstances at endpoint ec2: 400 InvalidParameterValue: It is so. (request r-1)";
    assert_eq!(error(|| refused(400, "InvalidParameterValue")), Error::invalid(text));
    assert!(matches!(error(|| refused(400, "InvalidVpcID.NotFound")), Error::Unavailable(_)));
    assert!(matches!(error(|| refused(400, "IncorrectState")), Error::Unavailable(_)));
}

#[test]
fn every_word_for_throttling_is_a_pause() {
    for outcome in [
        || refused(400, "Throttling"),
        || refused(400, "ThrottlingException"),
        || refused(400, "TooManyRequestsException"),
        || answer(429, ""),
    ] {
        let error = error(outcome);
        assert!(matches!(&error, Error::RetryAfter(pause) if pause.milliseconds == 5_000), "{error:?}");
    }
    let said = error(|| {
        answer_with(503, &[("retry-after", "7")], "<R><Errors><Error><Code>SlowDown</Code></Error></Errors></R>")
    });
    let text = "DescribeInstances at endpoint ec2: 503 SlowDown";
    assert_eq!(said, Error::retry_after(Duration::from_secs(7), text));
}

#[test]
fn an_answer_that_is_not_of_aws_is_told_apart() {
    let html = error(|| answer(404, "<html>nginx</html>"));
    assert!(matches!(&html, Error::Unavailable(why) if why.ends_with("does baseUrl lead to it?")), "{html:?}");
    assert!(matches!(error(|| answer(200, "<html><br></html>")), Error::Unavailable(_)));
    assert!(matches!(error(|| answer(200, "{}")), Error::Unavailable(_)));
    assert!(matches!(error(|| answer(503, "")), Error::Unavailable(_)));
    assert!(matches!(error(|| answer(403, "")), Error::Denied(_)));
    assert!(matches!(error(|| Err(Failure::Interrupted("lost".to_owned()))), Error::Unavailable(_)));
    assert!(matches!(error(|| Err(Failure::Denied("E-EGRESS-OPERATION".to_owned()))), Error::Denied(_)));
}

#[test]
fn the_errors_of_load_balancing_are_read_too() {
    let text = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>a\nb</Message></Error>\
                <RequestId>q</RequestId></ErrorResponse>";
    let expected = "DescribeInstances at endpoint ec2: 400 ValidationError: a b (request q)";
    assert_eq!(get(&host(move |_| answer(400, text)), &node("i-1")), Err(Error::invalid(expected)));
}

#[test]
fn adv_167_a_used_up_quota_is_told_as_such() {
    for code in ["TooManyLoadBalancers", "SecurityGroupLimitExceeded", "InsufficientFreeAddressesInSubnet"] {
        let quota = get(&host(move |_| refused(400, code)), &node("i-1")).unwrap_err();
        assert!(quota.is_quota() && !format!("{quota:?}").contains("credential"), "{quota:?}");
    }
}
