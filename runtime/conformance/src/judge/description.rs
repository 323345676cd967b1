//! Judges of what a provider says of itself, and of how it speaks.

use crate::transcript::Transcript;

use super::{PromiseJudgement, finding};

/// Words in the name of a setting that would hold a secret.
const SECRET: [&str; 5] = ["token", "secret", "password", "apikey", "privatekey"];

pub(crate) fn settings_hold_no_secret(transcript: &Transcript) -> PromiseJudgement {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    let names = transcript.description.settings.iter().map(|it| it.name.as_str());
    let secret = names.filter(|it| SECRET.iter().any(|word| plain(it).ends_with(word)));
    let told = secret.map(|name| {
        finding("the description", format!("the setting {name} would hold a secret; let an endpoint name a credential"))
    });
    PromiseJudgement::Tried(told.collect())
}

pub(crate) fn requests_are_the_vendors(transcript: &Transcript) -> PromiseJudgement {
    PromiseJudgement::Tried(transcript.wrong.iter().map(|it| finding("all stories", it.clone())).collect())
}
