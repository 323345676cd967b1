//! `aerostat provider conformance`.

use std::path::Path;

use anyhow::Result;
use conformance::Suite;
use sandbox::{CallLimits, Digest, Module, Sandbox};

use super::answer::CommandAnswer;
use super::file;
use crate::flags::Conformance;

pub(super) async fn run(command: Conformance, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let Conformance { file: path, cloud, every, junit, output } = command;
    let bytes = file::read(&path).await?;
    let digest = Digest::of(&bytes);
    let module = Module::new(&path.display().to_string(), bytes, digest)?;
    let sandbox = Sandbox::new(CallLimits::default().memory)?;
    let sandbox = compiler.map_or(sandbox.clone(), |program| sandbox.compiling_with(program)).keeping_modules();
    let report =
        conformance::run(Suite { sandbox, module, cloud, every: every.into(), patience: conformance::PATIENCE })
            .await?;
    if let Some(path) = junit {
        file::write(&path, report.junit().as_bytes(), true).await?;
    }
    Ok(if report.is_good() { CommandAnswer::good(&report, output) } else { CommandAnswer::found_bad(&report, output) })
}
