//! Questions on a terminal, for what no flag has said.

use std::io::{BufRead, Write};

use anyhow::{Result, bail};
use clap::ValueEnum as _;

use crate::flags::{IdOrigin, NewProviderFlags};

/// Asks for what is missing. An empty answer is the default.
pub(super) fn ask(flags: &mut NewProviderFlags, input: &mut impl BufRead, output: &mut impl Write) -> Result<()> {
    let mut question = |text: &str, default: &str| -> Result<String> {
        write!(output, "{text} [{default}] ")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            bail!("the input ended before the last answer: nothing was made; answer, or write flags");
        }
        let answer = line.trim();
        Ok(if answer.is_empty() { default } else { answer }.to_owned())
    };
    if flags.url.is_none() {
        let default = format!("https://api.{}.example/v1", flags.name);
        flags.url = Some(question("Where is the cloud's API?", &default)?);
    }
    if flags.ids.is_none() {
        let answer = question(
            "Does the cloud give a load balancer its id, or is it a name that you choose (cloud, name)?",
            "cloud",
        )?;
        let Ok(origin) = IdOrigin::from_str(&answer, true) else { bail!("{answer:?} is neither cloud nor name") };
        flags.ids = Some(origin);
    }
    if flags.tags.is_none() && flags.ids == Some(IdOrigin::Cloud) {
        let answer = question("How many characters has a tag at most?", "255")?;
        let Ok(number) = answer.parse() else { bail!("{answer:?} is no number of characters") };
        flags.tags = Some(number);
    }
    if flags.pages.is_none() {
        let text = "How does a page say whether it is the last (next:FIELD, pages:FIELD, items:FIELD, not-full)?";
        flags.pages = Some(question(text, "next:next_page")?);
    }
    if flags.page_items.is_none() {
        flags.page_items = Some(question("Which field of a page holds its items?", "items")?);
    }
    if flags.errors.is_none() {
        flags.errors = Some(question("Which field of an error can people read?", "message")?);
    }
    Ok(())
}
