//! `aerostat provider conformance`.

use std::path::Path;

use anyhow::Result;
use conformance::{RecordedSuite, Suite, SuitePart};
use sandbox::{CallLimits, Digest, Module, Sandbox};

use super::answer::CommandAnswer;
use super::file;
use super::provider::call::record;
use crate::flags::{AskedPart, Conformance};

pub(super) async fn run(command: Conformance, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let Conformance { file: path, cloud, recording, every, older, only, junit, output } = command;
    let module = module(&path).await?;
    let older = match older {
        Some(path) => Some(self::module(&path).await?),
        None => None,
    };
    let conversation = match &recording {
        Some(path) => Some((record::read(path).await?, path.display().to_string())),
        None => None,
    };
    let sandbox = Sandbox::new(CallLimits::default().memory)?;
    let sandbox = compiler.map_or(sandbox.clone(), |program| sandbox.compiling_with(program)).keeping_modules();
    let report = match conversation {
        Some((conversation, file)) => {
            conformance::run_recorded(RecordedSuite { sandbox, module, conversation, file }).await?
        }
        None => {
            let patience = conformance::PATIENCE;
            let (every, only) = (every.into(), only.map(part));
            conformance::run(Suite { sandbox, module, clouds: cloud, every, older, patience, only }).await?
        }
    };
    if let Some(path) = junit {
        file::write(&path, report.junit().as_bytes(), true).await?;
    }
    Ok(if report.is_good() { CommandAnswer::good(&report, output) } else { CommandAnswer::found_bad(&report, output) })
}

fn part(asked: AskedPart) -> SuitePart {
    match asked {
        AskedPart::Machines => SuitePart::Machines,
        AskedPart::LoadBalancers => SuitePart::LoadBalancers,
        AskedPart::Inventory => SuitePart::Inventory,
        AskedPart::Routes => SuitePart::Routes,
        AskedPart::Volumes => SuitePart::Volumes,
    }
}

async fn module(path: &Path) -> Result<Module> {
    let bytes = file::read(path).await?;
    let digest = Digest::of(&bytes);
    Ok(Module::new(&path.display().to_string(), bytes, digest)?)
}
