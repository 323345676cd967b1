//! Ids of requests, pages, and the warnings of lists.

use serde_json::Value;

use crate::fields::{text, word};

/// Items that a page is asked for: the most that the API takes.
pub const PAGE: u32 = 500;

/// The warning of a scope that has nothing on this page: that is no gap.
const NOTHING_HERE: &str = "NO_RESULTS_ON_PAGE";

/// The id of a request, a UUID, of two texts with 16 hexadecimal digits each. A request that is sent twice with one id is carried out once. The
/// first 20 characters are those of the first text.
#[must_use]
pub fn request_id(first: &str, second: &str) -> String {
    let digits = format!("{first}{second}");
    // Version 4, variant 1: others are refused.
    format!("{}-{}-4{}-8{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..])
}

/// The warning of a scope of a list that may lack something: its code and its message.
#[must_use]
pub fn warned(shown: &Value) -> Option<String> {
    let code = word(&shown["warning"], "code").filter(|it| it != NOTHING_HERE)?;
    Some(format!("{code} {}", text(&shown["warning"], "message")))
}

#[cfg(test)]
mod tests {
    use super::request_id;

    #[test]
    fn ids_of_requests_are_uuids_that_begin_with_the_first_text() {
        let id = request_id("0123456789abcdef", "fedcba9876543210");
        assert_eq!(id, "01234567-89ab-4def-8edc-ba9876543210");
        assert_eq!(request_id("0123456789abcdef", "0000000000000000")[..20], id[..20]);
    }
}
