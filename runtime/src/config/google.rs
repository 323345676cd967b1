//! `credentials[].google`: tokens for Google Cloud.

use egress::{AllowedAddresses, GoogleSettings, GoogleTokens, KeyServiceUrl};

use super::file;

/// The address of the metadata server of each machine ("About VM metadata" of the Compute Engine documentation).
const METADATA: &str = "http://169.254.169.254";

const SOURCES: &str = "serviceAccountKey: { file: … }, federation: { file: … } or metadata: {}";

/// The settings of a source of tokens. The error is a sentence that says what to write.
pub(super) fn settings(section: file::GoogleSection) -> Result<GoogleSettings, String> {
    let file::GoogleSection { service_account_key, federation, metadata, token_origins, addresses, tls, proxy } =
        section;
    let mut sources = Vec::new();
    sources.extend(
        service_account_key
            .map(|file::GoogleKey { file, exchange }| GoogleTokens::ServiceAccountKey { file, exchange }),
    );
    sources.extend(federation.map(|file::GoogleFederation { file }| GoogleTokens::Federation { file }));
    if let Some(file::GoogleMetadata { url }) = metadata {
        let url = url.map_or_else(|| KeyServiceUrl::parse(METADATA), |it| Ok(it.0))?;
        sources.push(GoogleTokens::Metadata { url });
    }
    let tokens = match (sources.pop(), sources.is_empty()) {
        (Some(tokens), true) => tokens,
        (None, _) => return Err(format!("`google` says not where tokens come from; write {SOURCES}")),
        (Some(_), false) => return Err(format!("`google` has several sources of tokens; write one of {SOURCES}")),
    };
    Ok(GoogleSettings {
        tokens,
        origins: token_origins.into_iter().map(|it| it.0).collect(),
        addresses: addresses.map_or(AllowedAddresses::Public, |it| it.0),
        ca_file: tls.map(|it| it.ca_file),
        proxy: proxy.map(file::ProxySection::proxy),
    })
}
