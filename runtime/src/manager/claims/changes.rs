//! Differences of two modules, and which of them an operator has to look at. Pure.

mod list;
mod names;
mod requests;

use cloud_provider::Description;

use self::list::ChangeList;
pub(crate) use self::list::ModuleChange;
use self::names::named;
use self::requests::endpoints;
use super::config::Config;

/// A module that is compared with another one.
pub(crate) struct ModuleSide<'a> {
    pub(crate) description: &'a Description,
    /// As the interfaces of the contract are called, beside `provider`.
    pub(crate) capabilities: Vec<&'static str>,
    /// In bytes; `None` where it is not known any more.
    pub(crate) size: Option<usize>,
}

/// All differences, in the order in which an operator asks. What `config` allows already does not matter.
pub(crate) fn changes(old: &ModuleSide<'_>, new: &ModuleSide<'_>, config: Option<&Config<'_>>) -> Vec<ModuleChange> {
    let mut found = ChangeList::default();
    let (before, after) = (old.description, new.description);
    if before.name != after.name {
        found.add("provider", true, format!("{} becomes {}: another provider", before.name, after.name));
    }
    if before.version != after.version {
        found.add("version", false, format!("{} becomes {}", before.version, after.version));
    }
    for (sign, all, others, matters) in
        [("-", &old.capabilities, &new.capabilities, true), ("+", &new.capabilities, &old.capabilities, false)]
    {
        for it in all.iter().filter(|it| !others.contains(it)) {
            found.add("capability", matters, format!("{sign} {it}"));
        }
    }
    named(before, after, config, &mut found);
    endpoints(before, after, config, &mut found);
    if let (Some(old), Some(new)) = (old.size, new.size)
        && old != new
    {
        let kibibytes = |it: usize| it.div_ceil(1 << 10);
        found.add("size", false, format!("{} KiB becomes {} KiB", kibibytes(old), kibibytes(new)));
    }
    found.into_vec()
}

#[cfg(test)]
mod tests;
