//! Why a provider cannot be loaded.

/// Why a provider could not be loaded. Each text names the module or provider, the cause and the next step.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// This machine cannot run WebAssembly.
    #[error("cannot set up the WebAssembly engine; look at the memory limit and provider.limits.memory")]
    Engine(#[source] wasmtime::Error),
    /// The bytes are something else.
    #[error("{module} is {what}, not a WebAssembly component; build it with --target wasm32-wasip2")]
    NotAComponent {
        /// Which module.
        module: String,
        /// The kind of file that it seems to be.
        what: &'static str,
    },
    /// A component that is damaged, or does not compile within its limits.
    #[error("{module} cannot be compiled")]
    Compile {
        /// Which module.
        module: String,
        /// The compiler's error.
        source: wasmtime::Error,
    },
    /// An import that is not offered.
    #[error(
        "{module} imports {import}, which Aerostat does not offer; a provider reaches its cloud through \
         aerostat:cloud/http and nothing else, so remove the dependency that needs it"
    )]
    Import {
        /// Which module.
        module: String,
        /// The import's full name.
        import: String,
    },
    /// One of our interfaces in a version that this host does not know.
    #[error(
        "{module} is built for {interface}, and this Aerostat knows 0.1; use an SDK and an Aerostat of one version"
    )]
    Version {
        /// Which module.
        module: String,
        /// The interface's full name.
        interface: String,
    },
    /// `aerostat:cloud/provider` is missing.
    #[error("{module} does not export aerostat:cloud/provider, so it is no provider; export it with the SDK's macro")]
    NoProvider {
        /// Which module.
        module: String,
    },
    /// An import or an export has another shape than `wit/` says.
    #[error("{module} does not fit the contract aerostat:cloud@0.1; build it with an SDK of this version")]
    Contract {
        /// Which module.
        module: String,
        /// The mismatch.
        source: wasmtime::Error,
    },
    /// It lacks what the version has that was loaded first.
    #[error(
        "{module} does not export aerostat:cloud/{capability}, with which controllers run; take a version that does, or \
         restart to run without them"
    )]
    Capability {
        /// Which module.
        module: String,
        /// The interface that is missing.
        capability: String,
    },
    /// `describe` did not answer, or refused.
    #[error("{module} does not start: {because}")]
    Describe {
        /// Which module.
        module: String,
        /// The reason.
        because: String,
    },
    /// A setting that the provider does not know.
    #[error("provider {provider} has no setting {setting:?}; correct provider.settings: it knows {known}")]
    UnknownSetting {
        /// The provider's name.
        provider: String,
        /// The setting.
        setting: String,
        /// The described settings.
        known: String,
    },
    /// A setting that must be given.
    #[error("provider {provider} needs the setting {setting:?} ({doc}); add it to provider.settings")]
    MissingSetting {
        /// The provider's name.
        provider: String,
        /// The setting.
        setting: String,
        /// The effect of the setting.
        doc: String,
    },
    /// An endpoint that the operator has not defined.
    #[error(
        "provider {provider} needs the endpoint {endpoint:?} ({purpose}); add it to endpoints, for instance with baseUrl {example}, \
         and with allow: [{allow}]"
    )]
    MissingEndpoint {
        /// The provider's name.
        provider: String,
        /// The endpoint.
        endpoint: String,
        /// The use of the endpoint.
        purpose: String,
        /// The value that the operator could write.
        example: String,
        /// The permissions that it needs: YAML.
        allow: String,
    },
}
