use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use sha256::Digest;
use tokio::sync::Mutex;
use wasmtime::component::Component;
use wasmtime::{
    Config, Engine, ModuleVersionStrategy, OptLevel, RegallocAlgorithm, Strategy, WasmBacktraceDetails, WasmFeatures,
};

use crate::compile_limits::CompileLimits;
use crate::error::LoadError;
use crate::ticker::{Ticker, Ticking};

/// The features that wasm32-wasip2 code does not need. Each of these has appeared in security advisories, or is young.
const OFF: WasmFeatures = WasmFeatures::THREADS
    .union(WasmFeatures::SHARED_EVERYTHING_THREADS)
    .union(WasmFeatures::MEMORY64)
    .union(WasmFeatures::GC)
    .union(WasmFeatures::FUNCTION_REFERENCES)
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::RELAXED_SIMD)
    .union(WasmFeatures::STACK_SWITCHING)
    .union(WasmFeatures::CUSTOM_PAGE_SIZES)
    .union(WasmFeatures::WIDE_ARITHMETIC)
    .union(WasmFeatures::EXCEPTIONS)
    .union(WasmFeatures::LEGACY_EXCEPTIONS)
    .union(WasmFeatures::CM_ASYNC);

/// Where providers are compiled and run: one per process, so that all of them share one ticking epoch.
///
/// The thread that ticks ends when the sandbox and every provider loaded into it are gone.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    ticker: Ticker,
    memory: usize,
    compiler: Option<Arc<Path>>,
    compile_limits: CompileLimits,
    compiled: Option<Compiled>,
}

/// Modules that were compiled in this process.
pub(crate) type Compiled = Arc<Mutex<HashMap<Digest, Component>>>;

impl Sandbox {
    /// Makes the engine and starts its ticker.
    ///
    /// `memory` is how many bytes of address space one linear memory gets, the same as the limit of one call.
    ///
    /// # Errors
    ///
    /// If this machine cannot run WebAssembly, or gives no thread.
    pub fn new(memory: usize) -> Result<Self, LoadError> {
        Self::with(memory, config(memory))
    }

    /// As [`new`](Self::new), and makes the machine code that a released program makes, in this process alone: for tests, whose
    /// build is one for developers.
    ///
    /// # Errors
    ///
    /// If this machine cannot run WebAssembly, or gives no thread.
    pub fn as_released(memory: usize) -> Result<Self, LoadError> {
        let mut released = config(memory);
        if let Ok(config) = &mut released {
            config.cranelift_opt_level(RELEASED.0).cranelift_regalloc_algorithm(RELEASED.1);
        }
        Self::with(memory, released)
    }

    fn with(memory: usize, config: wasmtime::Result<Config>) -> Result<Self, LoadError> {
        let engine = config.and_then(|it| Engine::new(&it)).map_err(LoadError::Engine)?;
        let ticked = engine.clone();
        let ticker = Ticker::start(move || ticked.increment_epoch()).map_err(|it| LoadError::Engine(it.into()))?;
        let compile_limits = CompileLimits::default();
        Ok(Self { engine, ticker, memory, compiler: None, compile_limits, compiled: None })
    }

    /// Keeps each compiled module, and has it compiled once: for tests, which load the same few modules hundreds of times.
    #[must_use]
    pub fn keeping_modules(self) -> Self {
        Self { compiled: Some(Arc::default()), ..self }
    }

    /// Compiles providers in a process of its own, and not in this one, which would keep the memory that the compiler
    /// needs. `program` must do what [`compile_for_another`](crate::compile_for_another) says.
    #[must_use]
    pub fn compiling_with(self, program: &Path) -> Self {
        Self { compiler: Some(program.into()), ..self }
    }

    /// Lets a module cost this much to compile, and not the default.
    #[must_use]
    pub fn with_compile_limits(self, compile_limits: CompileLimits) -> Self {
        // A module that was compiled under other limits is looked at again.
        let compiled = self.compiled.map(|_| Arc::default());
        Self { compile_limits, compiled, ..self }
    }

    /// Where compiled modules are kept, if they are.
    pub(crate) fn compiled(&self) -> Option<&Compiled> {
        self.compiled.as_ref()
    }

    /// The limits of compiling a module.
    pub(crate) fn compile_limits(&self) -> &CompileLimits {
        &self.compile_limits
    }

    /// The program that compiles; `None` is this process.
    pub(crate) fn compiler(&self) -> Option<&Path> {
        self.compiler.as_deref()
    }

    /// How many bytes of address space one linear memory gets.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Lets the epoch advance until what this returns is dropped.
    pub(crate) fn tick(&self) -> Ticking {
        self.ticker.tick()
    }
}

/// How a released program compiles a module.
const RELEASED: (OptLevel, RegallocAlgorithm) = (OptLevel::Speed, RegallocAlgorithm::Backtracking);

/// How a build for developers does, as rustc does it: in half the time, to code that is slower and half as large again. Tests
/// start such a program a thousand times.
const DEVELOPED: (OptLevel, RegallocAlgorithm) = (OptLevel::None, RegallocAlgorithm::SinglePass);

/// The config with which a provider is compiled and run: both have to be the same.
pub(crate) fn config(memory: usize) -> wasmtime::Result<Config> {
    let effort = if cfg!(debug_assertions) { DEVELOPED } else { RELEASED };
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(effort.0)
        .cranelift_regalloc_algorithm(effort.1)
        .epoch_interruption(true)
        .concurrency_support(false)
        .wasm_features(OFF, false)
        .wasm_component_model(true)
        .max_wasm_stack(512 << 10)
        .async_stack_size(2 << 20)
        // A second ceiling, independent of the limiter: a memory cannot outgrow what is reserved for it.
        .memory_reservation(memory as u64)
        .memory_reservation_for_growth(0)
        .memory_may_move(false)
        .memory_guard_size(64 << 10)
        .wasm_backtrace_max_frames(NonZeroUsize::new(20))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .module_version(ModuleVersionStrategy::Custom(concat!("aerostat ", env!("CARGO_PKG_VERSION")).into()))?;
    Ok(config)
}
