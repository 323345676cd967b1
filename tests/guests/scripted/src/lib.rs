//! A provider whose cloud is whatever a script says: a server of the test, asked through the real egress.
//!
//! Machines are asked about by the name of their node, load balancers by namespace and name of their Service. An answer
//! may be an error of any kind.

mod load_balancers;
mod machines;

use std::time::Duration;

use aerostat_sdk::{Annotation, Description, Endpoint, Error, Method, Provider, Result, Setting, settings};
use serde::Deserialize;

const ENDPOINT: &str = "script";

/// The provider.
pub struct Scripted;

aerostat_sdk::export!(Scripted: Provider, Instances, LoadBalancers);

impl Provider for Scripted {
    fn describe() -> Result<Description> {
        let script = Endpoint::new(ENDPOINT, "the script", "http://127.0.0.1:8080")
            .allow([Method::Get], ["/machines", "/machines/*"], [])
            .allow([Method::Put, Method::Delete], ["/load-balancers/*/*"], []);
        let list_page_size = Setting::optional("listPage", "Machines in one page of a list.").default("100");
        let annotations = Setting::optional("annotations", "Keys of Service annotations that are read, with commas.");
        let mut description = Description::new("fakecloud", "1.0.0")
            .provider_id_prefix("fakecloud://")
            .endpoint(script)
            .setting(list_page_size)
            .setting(annotations)
            .load_balancers_have_vips()
            .load_balancers_share_addresses()
            .list_page_size(settings::find("listPage")?.unwrap_or(100));
        let keys: String = settings::find("annotations")?.unwrap_or_default();
        for key in keys.split(',').filter(|key| !key.is_empty()) {
            description = description.annotation(Annotation::new(key, "anything", "A part of what is desired."));
        }
        Ok(description)
    }
}

/// The script's refusal to answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Refusal {
    Unavailable { text: String },
    RetryAfter { text: String, milliseconds: u64 },
}

/// Either, in the script's words.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Refusal(Refusal),
    Said(T),
}

impl<T> Answer<T> {
    fn told(self) -> Result<T> {
        match self {
            Self::Said(answer) => Ok(answer),
            Self::Refusal(Refusal::Unavailable { text }) => Err(Error::unavailable(text)),
            Self::Refusal(Refusal::RetryAfter { text, milliseconds }) => {
                Err(Error::retry_after(Duration::from_millis(milliseconds), text))
            }
        }
    }
}
