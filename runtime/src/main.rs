//! The binary: command line, log, run, exit code.

use std::io::{Write, stdout};
use std::process::ExitCode;

use aerostat::{CommandAnswer, Failure, FlagsError, Invocation, Overrides, RunSettings};
use tokio::signal::unix::{SignalKind, signal};
use tracing::error;

/// This program, also where its file has been replaced meanwhile.
const MYSELF: &str = "/proc/self/exe";

fn main() -> ExitCode {
    // Before any secret is read, and in the process that compiles providers as well.
    if let Err(sentence) = aerostat::forbid_core_dumps() {
        eprintln!("{sentence}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    let failed = ExitCode::from(aerostat::failure_code(&arguments));
    let failure = match Invocation::parse(arguments) {
        Ok(Invocation::Run(settings)) => return run(*settings),
        Ok(Invocation::Module(command)) => return ask(aerostat::module(*command, Some(MYSELF.into())), failed),
        Ok(Invocation::Bundle(command)) => return ask(aerostat::bundle(*command), failed),
        Ok(Invocation::Provider(command)) => return ask(aerostat::provider(*command, Some(MYSELF.into())), failed),
        Ok(Invocation::CompileProvider(arguments)) => match aerostat::compile(arguments) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(sentence) => sentence,
        },
        Err(FlagsError::Asked(text)) => {
            print(&text);
            return ExitCode::SUCCESS;
        }
        Err(FlagsError::Invalid(sentences)) => sentences,
    };
    eprintln!("{failure}");
    failed
}

#[tokio::main]
async fn run(settings: RunSettings) -> ExitCode {
    // Some of our libraries would choose otherwise.
    rustls::crypto::ring::default_provider().install_default().expect("nothing was installed before");
    aerostat::start_log(settings.log);
    let overrides = Overrides { compiler: Some(MYSELF.into()), ..Overrides::default() };
    match aerostat::run(settings, overrides, asked_to_end()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            error!("{failure}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn ask(question: impl Future<Output = Result<CommandAnswer, Failure>>, failed: ExitCode) -> ExitCode {
    rustls::crypto::ring::default_provider().install_default().expect("nothing was installed before");
    aerostat::start_warnings();
    match question.await {
        Ok(CommandAnswer::Good(text)) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Ok(CommandAnswer::Bad { text, complaint }) => {
            print(&text);
            eprint!("{complaint}");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("{failure}");
            failed
        }
    }
}

/// Prints what was asked for.
fn print(text: &str) {
    // A reader that has seen enough closes the pipe; that is no error.
    let _ = stdout().write_all(text.as_bytes());
}

/// SIGTERM from Kubernetes, SIGINT from a terminal.
async fn asked_to_end() {
    let [mut terminate, mut interrupt] = [SignalKind::terminate(), SignalKind::interrupt()]
        .map(|kind| signal(kind).expect("a process can handle these signals"));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
