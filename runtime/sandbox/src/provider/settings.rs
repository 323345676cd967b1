use crate::call::CallLimits;

/// The operator's settings of a provider.
#[derive(Clone, Debug, Default)]
pub struct ProviderSettings {
    /// Names and values; checked against the provider's description.
    pub settings: Vec<(String, String)>,
    /// The node labels that the provider may see, if it describes them.
    pub node_labels: Vec<String>,
    /// The annotation keys that the provider may have written on Services, if it describes them.
    pub writes_annotations: Vec<String>,
    /// The finalizers of earlier controllers that are taken off Services, if the provider describes them.
    pub takes_finalizers: Vec<String>,
    /// The limits of one call.
    pub limits: CallLimits,
    /// Whether each question is asked after the answer to the one before it: a load balancer then waits for no others of its batch.
    pub is_asked_in_turn: bool,
}
