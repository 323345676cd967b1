//! Answers requests from a conversation.

use egress::{GuestResponse, LeavingRequest, RequestWatcher, SendError, WatchedRequest};
use parking_lot::Mutex;

use super::exchange::RecordedExchange;

/// Which requests are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReplayOrder {
    /// In each call exactly those that were recorded, in their order.
    Strict,
    /// Each that asks for what some recorded one asked for; of several equal ones the next, and the last one again.
    ByKey,
}

/// Answers requests from a conversation, and says what was asked that is not in it.
#[derive(Debug)]
pub struct Replayer {
    order: ReplayOrder,
    calls: Vec<Vec<RecordedExchange>>,
    state: Mutex<ReplayState>,
}

#[derive(Debug, Default)]
struct ReplayState {
    call: usize,
    /// Those of the present call that were played.
    played: Vec<usize>,
    unknown: Vec<String>,
}

impl Replayer {
    /// Answers from the requests of these calls.
    #[must_use]
    pub fn new(calls: Vec<Vec<RecordedExchange>>, order: ReplayOrder) -> Self {
        Self { order, calls, state: Mutex::default() }
    }

    /// The recorded call with this number is made now, from its first request on.
    pub fn begin(&self, call: usize) {
        *self.state.lock() = ReplayState { call, ..ReplayState::default() };
    }

    /// The requests of the present call to which there is no answer, a sentence each; and played strictly those that are missing.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let state = self.state.lock();
        let mut told = state.unknown.clone();
        let recorded = self.calls.get(state.call).map_or(&[][..], Vec::as_slice);
        if self.order == ReplayOrder::Strict && told.is_empty() {
            let missing = recorded.iter().skip(state.played.len());
            told.extend(missing.map(|it| format!("{} was recorded, and is not asked", it.line())));
        }
        told
    }

    /// The recorded request that answers this one.
    fn find<'a>(&'a self, state: &mut ReplayState, request: &RecordedExchange) -> Result<&'a RecordedExchange, String> {
        let own = self.calls.get(state.call).map_or(&[][..], Vec::as_slice);
        let next = own.get(state.played.len());
        match (self.order, next) {
            (ReplayOrder::Strict, Some(next)) if next.asks_as(request) => {
                state.played.push(state.played.len());
                Ok(next)
            }
            (ReplayOrder::Strict, Some(next)) => {
                let (asked, recorded) = (request.line(), next.line());
                let body = if asked == recorded { ", with another body" } else { "" };
                Err(format!("request {} is {asked}{body}, and was {recorded}", state.played.len() + 1))
            }
            (ReplayOrder::Strict, None) => {
                Err(format!("{} is asked after all {} that were recorded", request.line(), own.len()))
            }
            (ReplayOrder::ByKey, _) => {
                let mut equal = own.iter().enumerate().filter(|(_, it)| it.asks_as(request)).peekable();
                if equal.peek().is_some() {
                    let unplayed = equal.clone().find(|(at, _)| !state.played.contains(at));
                    let (at, found) = unplayed.or_else(|| equal.last()).expect("there is one");
                    state.played.push(at);
                    return Ok(found);
                }
                let others = self.calls.iter().flatten();
                let found = others.clone().rfind(|it| it.asks_as(request));
                found.ok_or_else(|| format!("{} was not recorded", request.line()))
            }
        }
    }
}

impl RequestWatcher for Replayer {
    fn may_leave(&self, _request: &LeavingRequest) -> bool {
        true
    }

    fn answer(&self, request: &LeavingRequest) -> Option<Result<GuestResponse, SendError>> {
        let request = RecordedExchange::asked(request);
        let mut state = self.state.lock();
        let answer = match self.find(&mut state, &request) {
            Ok(found) => found.replayed(),
            Err(sentence) => {
                state.unknown.push(sentence.clone());
                Err(SendError::Unreachable(format!("the recording has no answer: {sentence}")))
            }
        };
        Some(answer)
    }

    fn ended(&self, _request: &WatchedRequest) {}
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use egress::{Effect, Method};

    use super::*;

    fn leaving(url: &str, body: &str) -> LeavingRequest {
        LeavingRequest {
            endpoint: "api".to_owned(),
            method: Method::Get,
            url: format!("https://api.acme.example/v1{url}"),
            operation: None,
            effect: Effect::Read,
            rule: String::new(),
            body: Bytes::from(body.to_owned()),
        }
    }

    fn recorded(url: &str, body: &str, status: u16) -> RecordedExchange {
        RecordedExchange { status: Some(status), ..RecordedExchange::asked(&leaving(url, body)) }
    }

    fn status(replayer: &Replayer, url: &str) -> Option<u16> {
        replayer.answer(&leaving(url, "")).and_then(Result::ok).map(|it| it.status)
    }

    #[test]
    fn a_strict_replay_keeps_the_order() {
        let calls = vec![vec![recorded("/a", "", 201), recorded("/b", "", 202)]];
        let replayer = Replayer::new(calls, ReplayOrder::Strict);
        replayer.begin(0);
        assert_eq!([status(&replayer, "/a"), status(&replayer, "/b")], [Some(201), Some(202)]);
        assert_eq!(replayer.differences(), [""; 0]);
        replayer.begin(0);
        assert_eq!(status(&replayer, "/b"), None);
        assert_eq!(replayer.differences(), ["request 1 is GET /v1/b, and was GET /v1/a"]);
        replayer.begin(0);
        assert_eq!(status(&replayer, "/a"), Some(201));
        assert_eq!(replayer.differences(), ["GET /v1/b was recorded, and is not asked"]);
    }

    #[test]
    fn a_replay_by_key_goes_by_query_and_body() {
        let mut calls = vec![vec![recorded("/a?x=1&y=2", "", 201), recorded("/a?x=1&y=2", "", 202)]];
        calls.push(vec![recorded("/b", r#"{"a":1}"#, 203)]);
        let replayer = Replayer::new(calls, ReplayOrder::ByKey);
        replayer.begin(0);
        let both = [status(&replayer, "/a?y=2&x=1"), status(&replayer, "/a?x=1&y=2"), status(&replayer, "/a?x=1&y=2")];
        assert_eq!(both, [Some(201), Some(202), Some(202)], "the last one again");
        assert!(replayer.answer(&leaving("/b", r#"{ "a": 1 }"#)).unwrap().is_ok(), "another call's");
        assert_eq!(replayer.differences(), [""; 0], "fewer are right, too");
        assert_eq!(status(&replayer, "/b"), None);
        assert_eq!(replayer.differences(), ["GET /v1/b was not recorded"]);
    }
}
