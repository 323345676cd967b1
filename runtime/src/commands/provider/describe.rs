//! `aerostat provider describe`.

use std::path::Path;

use anyhow::{Error, Result};

use super::module_file;
use crate::commands::answer::CommandAnswer;
use crate::commands::described::{DescribedModule, page};
use crate::commands::examined::examined;
use crate::config::CloudConfig;
use crate::flags::DescribeFlags;

pub(crate) async fn run(flags: DescribeFlags, compiler: Option<&Path>) -> Result<CommandAnswer> {
    let DescribeFlags { file, format, cloud_config, output } = flags;
    let config = cloud_config.as_deref().map(CloudConfig::read).transpose()?;
    let module = module_file::read(&file).await?;
    let (name, digest) = (module.name().to_owned(), module.digest());
    let description = examined(module, config.as_ref(), compiler).await?.description();
    let described = DescribedModule { name: &name, digest, description: &description };
    let page = page(&described, format, config.as_ref()).map_err(Error::msg)?;
    Ok(CommandAnswer::good(&page, output))
}
