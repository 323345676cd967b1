//! The judge of errors that pass, of load balancers and of routes.

use crate::transcript::Transcript;

use super::{PromiseJudgement, lives, routes};

pub(crate) fn errors_are_tried_again(transcript: &Transcript) -> PromiseJudgement {
    match (lives::final_errors(transcript), transcript.routes.as_ref().map(routes::final_errors)) {
        (PromiseJudgement::Tried(lives), Some(routes)) => {
            PromiseJudgement::Tried(lives.into_iter().chain(routes).collect())
        }
        (PromiseJudgement::Untried(_), Some(routes)) => PromiseJudgement::Tried(routes),
        (lives, None) => lives,
    }
}
