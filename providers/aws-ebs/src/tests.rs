//! The mapping, natively: what is described, asked and read. The whole way through the sandbox is tested elsewhere.

mod answers;
mod described;
mod recorded;

use aerostat_sdk::testing::{Host, Outcome, Request};

/// A host with the settings that are required.
pub(crate) fn host(answers: impl Fn(&Request) -> Outcome + 'static) -> Host {
    aws_api::testing::required().answers(answers)
}
