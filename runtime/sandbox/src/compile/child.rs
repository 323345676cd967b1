//! The compiler's process, from inside: limits first, then the module.

use std::io::{Read, Write};
use std::thread;

use wasmtime::{Engine, Error};

use super::confine;
use super::scan::{DAMAGED, scan};
use crate::compile_limits::CompileLimits;
use crate::engine::config;

/// The word with which a program is asked to be the compiler; what [`compile_for_another`] reads follows.
pub const COMMAND: &str = "compile-provider";

/// The beginning of a line that the process writes to its standard error for each protection that this machine does
/// not offer. Other lines there tell why it failed.
pub(super) const UNPROTECTED: &str = "unprotected: ";

/// The stack of the thread that compiles: what the compiler needs for types that are nested as deep as WebAssembly
/// allows, several times.
const STACK: usize = 16 << 20;

/// The work of a program that is called with [`COMMAND`](super::COMMAND) and these arguments: gives up every right but
/// to read and write what is open already, reads a component from `input`, and writes machine code for this machine to
/// `output`.
///
/// It must be called before the program starts a thread, and ends with it: the rights do not come back. A program that has
/// inherited descriptors beside these three is started again with its arguments, and without them.
///
/// # Errors
///
/// If it cannot read or write, if the component has more of something than a limit allows, or if this is no component
/// that Aerostat can run.
pub fn compile_for_another(
    arguments: impl IntoIterator<Item = String>,
    input: impl Read + Send,
    output: impl Write + Send,
    mut errors: impl Write + Send,
) -> Result<(), Error> {
    let mut arguments = arguments.into_iter();
    let memory = arguments.next().and_then(|it| it.parse().ok());
    let memory = memory.ok_or_else(|| Error::msg("the first argument is the size of a linear memory in bytes"))?;
    let limits = CompileLimits::parse(arguments).map_err(Error::msg)?;

    confine::limit(&limits)?;
    confine::close_inherited()?;
    let files = confine::forbid_files();
    // A thread, because the main one has the stack that the system gives it.
    thread::scope(|scope| {
        let work = || {
            let calls = confine::forbid_calls();
            for missing in files.into_iter().chain(calls) {
                writeln!(errors, "{UNPROTECTED}{missing}")?;
            }
            translate(memory, &limits, input, output)
        };
        let thread = thread::Builder::new().name("compiler".to_owned()).stack_size(STACK);
        let started = thread.spawn_scoped(scope, work);
        let thread = started.map_err(|it| Error::msg(format!("out of memory for the stack of the compiler: {it}")))?;
        thread.join().unwrap_or_else(|_| Err(Error::msg("the compiler panicked")))
    })
}

fn translate(memory: usize, limits: &CompileLimits, mut input: impl Read, mut output: impl Write) -> Result<(), Error> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    scan(&bytes, limits)?;
    let compiled = Engine::new(&config(memory)?)?.precompile_component(&bytes).map_err(not_compiled)?;
    output.write_all(&compiled)?;
    output.flush()?;
    Ok(())
}

/// The compiler's error about a module that has not too much of anything, and that it does not compile.
pub(super) fn not_compiled(error: Error) -> Error {
    error.context(DAMAGED)
}
