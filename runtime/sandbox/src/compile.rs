//! From WebAssembly to machine code.
//!
//! The compiler needs several times the memory that a running host does, and an allocator gives little of it back. So
//! the binary compiles in a process of its own, which is the same program, and takes over what comes out of it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use wasmtime::component::Component;
use wasmtime::{Engine, Error};

use crate::engine::{Sandbox, config};
use crate::provider::LoadError;
use crate::source::Module;

/// The word with which a program is asked to be the compiler; the size of a linear memory in bytes follows.
pub const COMMAND: &str = "compile-provider";

/// How long the compiler may take: many times what the largest module needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// What a program does that is called with [`COMMAND`] and `memory`: reads a component from `input`, and writes machine
/// code for this machine to `output`.
///
/// # Errors
///
/// If it cannot read or write, or if this is no component that Aerostat can run.
pub fn compile_for_another(memory: usize, mut input: impl Read, mut output: impl Write) -> Result<(), Error> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let compiled = Engine::new(&config(memory)?)?.precompile_component(&bytes)?;
    output.write_all(&compiled)?;
    output.flush()?;
    Ok(())
}

/// Compiles a module, after a look at what it is.
pub(crate) async fn compile(sandbox: &Sandbox, module: Module) -> Result<Component, LoadError> {
    let name = module.name().to_owned();
    let not = |what| LoadError::NotAComponent { module: name.clone(), what };
    match module.bytes() {
        // The magic number, then the version and the layer: 0 is a core module, 1 a component.
        [0, b'a', b's', b'm', _, _, 1, 0, ..] => {}
        [0, b'a', b's', b'm', ..] => return Err(not("a core WebAssembly module")),
        [] => return Err(not("empty")),
        _ => return Err(not("no WebAssembly")),
    }
    let engine = sandbox.engine().clone();
    let compiled = match sandbox.compiler() {
        Some(program) => outside(program, sandbox.memory(), module.bytes()).await.and_then(|it| load(&engine, &it)),
        None => inside(engine, module).await,
    };
    compiled.map_err(|source| LoadError::Compile { module: name, source })
}

async fn inside(engine: Engine, module: Module) -> Result<Component, Error> {
    let compiled = tokio::task::spawn_blocking(move || Component::from_binary(&engine, module.bytes())).await;
    compiled.unwrap_or_else(|panic| Err(Error::msg(format!("the compiler panicked: {panic}"))))
}

/// Compiles in a process of its own, and returns the machine code.
async fn outside(program: &Path, memory: usize, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut child = Command::new(program)
        .arg(COMMAND)
        .arg(memory.to_string())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Error::msg(format!("{} cannot be started as the compiler: {error}", program.display())))?;
    let mut input = child.stdin.take();
    let write = async move {
        // A compiler that stops reading says why on its standard error.
        if let Some(input) = &mut input {
            let _ = input.write_all(bytes).await;
        }
    };
    let both = async { tokio::join!(write, child.wait_with_output()).1 };
    let Ok(output) = tokio::time::timeout(LIMIT, both).await else {
        return Err(Error::msg(format!("the compiler was stopped after {} s", LIMIT.as_secs())));
    };
    let Output { status, stdout, stderr } = output?;
    if status.success() {
        return Ok(stdout);
    }
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    Err(Error::msg(if said.is_empty() { format!("the compiler ended with {status}") } else { said }))
}

#[expect(unsafe_code, reason = "the one place that takes over machine code")]
fn load(engine: &Engine, compiled: &[u8]) -> Result<Component, Error> {
    // SAFETY: these bytes are what this same program wrote into a pipe that nobody else holds, compiled from the module
    // whose digest was checked. The engine refuses what was made by another version or with another configuration.
    unsafe { Component::deserialize(engine, compiled) }
}
