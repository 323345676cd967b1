//! The operator's config, as far as it gives rights.

use egress::Endpoint;

/// The operator's config, as far as it gives rights.
pub(crate) struct Config<'a> {
    /// `provider.providerIDPrefixes`.
    pub(crate) prefixes: &'a [String],
    pub(crate) endpoints: &'a [&'a Endpoint],
    /// `provider.settings`.
    pub(crate) settings: &'a [(String, String)],
    /// `provider.nodeLabels`.
    pub(crate) node_labels: &'a [String],
    /// `provider.writesAnnotations`.
    pub(crate) writes_annotations: &'a [String],
    /// `provider.finalizers`.
    pub(crate) finalizers: &'a [String],
    /// `provider.configMaps`.
    pub(crate) config_maps: &'a [String],
    /// `provider.createsConfigMaps`.
    pub(crate) creates_config_maps: &'a [String],
}
