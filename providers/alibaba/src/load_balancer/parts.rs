//! The groups of a Service in a load balancer, its own or somebody's own.

use aerostat_sdk::{Error, SortedSet};

use super::annotations::GROUPS;
use super::desired::DesiredSlbGroup;
use super::names::OTHERS;
use super::update::SlbUpdate;
use crate::api::AcsRefusal;
use crate::api::listeners::{self, SlbListener};
use crate::api::server_groups::{self as groups, SlbGroup};

/// The most groups of others that a deletion looks into for machines of the Service.
const MOST_SEARCHED: usize = 40;

impl SlbUpdate<'_> {
    /// The group that a port sends to, if it is there: of several with its name the one that a listener sends to.
    ///
    /// # Errors
    ///
    /// `invalid`, if an annotation names a group that the load balancer does not have, or that a cluster has made for a Service.
    pub(super) fn group_of<'g>(
        &self,
        wanted: &DesiredSlbGroup<'_>,
        all: &'g [SlbGroup],
        live: &[SlbListener],
    ) -> Result<Option<&'g SlbGroup>, AcsRefusal> {
        let Some(given) = wanted.given else {
            let mut named = all.iter().filter(|it| it.name == wanted.name);
            let used = named.clone().find(|group| live.iter().any(|it| it.group == group.id));
            return Ok(used.or_else(|| named.next()));
        };
        let found = all.iter().find(|it| it.id == given);
        let why = match found {
            Some(group) if group.name.starts_with(OTHERS) => "was made for a Service",
            Some(group) => return Ok(Some(group)),
            None => "is not there",
        };
        let title = self.balancer.title();
        Err(Error::invalid(format_args!(
            "annotation {}: group {given} of {title} {why}: name another one",
            GROUPS.name
        ))
        .into())
    }

    /// Writes the groups, and no listener: these are somebody's own. A group that no port needs goes; one that a listener sends to stays without
    /// the Service's machines.
    pub(super) fn write_groups_alone(&self) -> Result<(), AcsRefusal> {
        let all = groups::all(self.region, &self.balancer.id)?;
        let mut used: SortedSet<&str> = SortedSet::new();
        // All of them are looked up before anything is written.
        for wanted in self.desired.groups() {
            used.extend(self.group_of(&wanted, &all, &[])?.map(|it| it.id.as_str()));
        }
        for wanted in self.desired.groups() {
            let servers = self.desired.servers(&wanted);
            match self.group_of(&wanted, &all, &[])? {
                Some(group) => self.write_servers(&group.id, &servers)?,
                None => drop(self.make_group(wanted.name, &servers)?),
            }
        }
        let unused = all.iter().filter(|it| self.names.is_ours(&it.name) && !used.contains(&*it.id));
        let unused: Vec<&SlbGroup> = unused.collect();
        if unused.is_empty() {
            return Ok(());
        }
        let live = listeners::all(self.region, &self.balancer.id)?;
        unused.into_iter().try_for_each(|it| self.remove_group(it, &live))
    }

    /// Takes away what the Service has in a load balancer of somebody's own, by descriptions and names: its listeners, its groups, and its
    /// machines in other groups. Everything else stays.
    pub(super) fn remove_parts(&self) -> Result<(), AcsRefusal> {
        let mut live = listeners::all(self.region, &self.balancer.id)?;
        self.remove_listeners(&mut live)?;
        let all = groups::all(self.region, &self.balancer.id)?;
        let (own, others): (Vec<_>, Vec<_>) = all.iter().partition(|it| self.names.is_ours(&it.name));
        own.into_iter().try_for_each(|it| self.remove_group(it, &live))?;
        let others = others.into_iter().filter(|it| !it.name.starts_with(OTHERS));
        others.take(MOST_SEARCHED).try_for_each(|it| self.write_servers(&it.id, &[]))
    }

    /// Deletes a group of ours. One that somebody's listener sends to cannot go: it stays without the Service's machines.
    fn remove_group(&self, group: &SlbGroup, live: &[SlbListener]) -> Result<(), AcsRefusal> {
        match live.iter().any(|it| it.group == group.id) {
            true => self.write_servers(&group.id, &[]),
            false => groups::delete(self.region, &group.id),
        }
    }
}
