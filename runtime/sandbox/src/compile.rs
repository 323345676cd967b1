//! From WebAssembly to machine code.
//!
//! The compiler needs several times the memory that a running host does, and an allocator gives little of it back. And
//! it is a large program that reads bytes of unknown origin. So the binary compiles in a process of its own, which is the
//! same program with limits and without rights, and takes over what comes out of it.

mod child;
mod confine;
mod process;
mod scan;

use wasmtime::component::Component;
use wasmtime::{Engine, Error};

pub use self::child::{COMMAND, compile_for_another};
use crate::compile_limits::CompileLimits;
use crate::engine::{Compiled, Sandbox};
use crate::error::LoadError;
use crate::source::Module;

/// Compiles a module, after a look at what it is.
pub(crate) async fn compile(sandbox: &Sandbox, module: Module) -> Result<Component, LoadError> {
    check_kind(&module)?;
    let name = module.name().to_owned();
    let compiled = match sandbox.compiled() {
        Some(compiled) => once(compiled, sandbox, module).await,
        None => now(sandbox, module).await,
    };
    compiled.map_err(|source| LoadError::Compile { module: name, source })
}

/// Refuses whatever does not begin as a component does.
pub(crate) fn check_kind(module: &Module) -> Result<(), LoadError> {
    let what = match module.bytes() {
        // The magic number, then the version and the layer: 0 is a core module, 1 a component.
        [0, b'a', b's', b'm', _, _, 1, 0, ..] => return Ok(()),
        [0, b'a', b's', b'm', ..] => "a core WebAssembly module",
        [] => "empty",
        _ => "no WebAssembly",
    };
    Err(LoadError::NotAComponent { module: module.name().to_owned(), what })
}

/// Compiles, unless the module was compiled before.
async fn once(compiled: &Compiled, sandbox: &Sandbox, module: Module) -> Result<Component, Error> {
    let (mut compiled, digest) = (compiled.lock().await, module.digest());
    if let Some(component) = compiled.get(&digest) {
        return Ok(component.clone());
    }
    let component = now(sandbox, module).await?;
    compiled.insert(digest, component.clone());
    Ok(component)
}

/// Compiles in the process that the sandbox has for it, or in this one.
async fn now(sandbox: &Sandbox, module: Module) -> Result<Component, Error> {
    let (engine, limits) = (sandbox.engine().clone(), *sandbox.compile_limits());
    match sandbox.compiler() {
        Some(program) => {
            let compiled = process::run(program, sandbox.memory(), &limits, module.bytes()).await?;
            load(&engine, &compiled)
        }
        None => inside(engine, limits, module).await,
    }
}

/// Compiles in this process, which no limit of the kernel protects.
async fn inside(engine: Engine, limits: CompileLimits, module: Module) -> Result<Component, Error> {
    let compile = move || {
        scan::scan(module.bytes(), &limits)?;
        Component::from_binary(&engine, module.bytes()).map_err(child::not_compiled)
    };
    let compiled = tokio::task::spawn_blocking(compile).await;
    compiled.unwrap_or_else(|panic| Err(Error::msg(format!("the compiler panicked: {panic}"))))
}

#[expect(unsafe_code, reason = "the one place that takes over machine code")]
fn load(engine: &Engine, compiled: &[u8]) -> Result<Component, Error> {
    // SAFETY: these bytes are what this same program wrote into a pipe that nobody else holds, compiled from the module
    // whose digest was checked. The engine refuses what was made by another version or with another configuration.
    unsafe { Component::deserialize(engine, compiled) }
}
