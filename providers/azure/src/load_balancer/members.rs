//! Interfaces and machines of scale sets that join pools, or leave them: one write each, so many of them in one call.

use aerostat_sdk::{Result, SortedMap};
use serde_json::{Value, json};

use super::pools::{PoolMember, set_membership, written_for};
use crate::api::AzureApi;
use crate::api::fields::{items, text};
use crate::api::lists;
use crate::api::writes::{self, AzureWritten};
use crate::id::ResourceId;
use crate::instance::primary;
use crate::machine::MachineId;
use crate::machines::INSTANCE_VIEW;

/// Writes of one call: each is a read, too.
const MOST: usize = 20;

/// The rest that is still to be done; empty if nothing is.
#[derive(Debug, Default)]
pub(crate) struct MembersLeft {
    /// The reason why more writes follow, or are to be looked at.
    pub(crate) why: Option<String>,
    /// Operations of interfaces that go on.
    pub(crate) operations: Vec<String>,
}

/// Lets nodes join a pool, and others leave it.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn follow(pool: &str, joins: &[PoolMember], leaves: &[String]) -> Result<MembersLeft> {
    let (sets, machines, left) = (SortedMap::new(), SortedMap::new(), MembersLeft::default());
    let mut work = MemberWork { pool, sets, machines, more: MOST, left };
    for member in joins {
        match &member.configuration {
            Some(it) => work.write(&written_for(it), true)?,
            None => work.write(&written_of(&member.provider_id)?, true)?,
        }
    }
    for configuration in leaves {
        work.write(&written_for(configuration), false)?;
    }
    Ok(work.left)
}

/// Takes scale sets out of all pools of a load balancer that is to be deleted.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn clear(balancer: &Value) -> Result<MembersLeft> {
    let mut left = MembersLeft::default();
    for pool in super::tree::parts(balancer, "backendAddressPools") {
        let members =
            items(pool, "/properties/backendIPConfigurations").iter().map(|it| text(it, "/id").to_ascii_lowercase());
        let of_sets: Vec<String> = members.filter(|it| it.contains("/virtualmachinescalesets/")).collect();
        let done = follow(text(pool, "/id"), &[], &of_sets)?;
        let goes_on = || done.operations.first().map(|_| "its scale sets are leaving it".to_owned());
        left.why = left.why.or(done.why).or_else(goes_on);
    }
    Ok(left)
}

/// The object that is written for a node whose interface is not known.
fn written_of(provider_id: &str) -> Result<Option<ResourceId>> {
    let machine = MachineId::parse(provider_id)?;
    if machine.set().is_some() {
        return Ok(Some(machine.id));
    }
    let Some(shown) = AzureApi::Compute.get(&machine.id).find::<Value>()? else { return Ok(None) };
    let interface =
        primary(items(&shown, "/properties/networkProfile/networkInterfaces")).map(|it| text(it, "/id").to_owned());
    Ok(interface.as_deref().and_then(ResourceId::parse))
}

/// The writes of one call.
struct MemberWork<'a> {
    pool: &'a str,
    /// Scale sets whose model was looked at, each with whether it is as it is to be.
    sets: SortedMap<String, bool>,
    /// Machines of scale sets that were listed.
    machines: SortedMap<String, Value>,
    /// Writes that this call may still make.
    more: usize,
    left: MembersLeft,
}

impl MemberWork<'_> {
    fn write(&mut self, id: &Option<ResourceId>, joins: bool) -> Result<()> {
        let Some(id) = id else { return Ok(()) };
        if self.more == 0 {
            self.left.why = Some("further nodes follow".to_owned());
            return Ok(());
        }
        match MachineId::of(&id.to_string()) {
            Some(machine) => self.write_machine(&machine, joins),
            None => self.write_interface(id, joins),
        }
    }

    fn write_interface(&mut self, id: &ResourceId, joins: bool) -> Result<()> {
        let Some(mut shown) = AzureApi::Network.get(id).find::<Value>()? else { return Ok(()) };
        let before = shown.clone();
        let configurations =
            shown["properties"]["ipConfigurations"].as_array_mut().map(Vec::as_mut_slice).unwrap_or_default();
        if set_membership(configurations, self.pool, joins) {
            self.put(AzureApi::Network, id, &shown, &before)?;
        }
        Ok(())
    }

    fn write_machine(&mut self, machine: &MachineId, joins: bool) -> Result<()> {
        let Some(set) = machine.set() else { return Ok(()) };
        if !self.is_model_done(&set, joins)? {
            return Ok(());
        }
        let Some(shown) = self.machines.get(&machine.id.key()) else { return Ok(()) };
        let mut configuration = shown["properties"]["networkProfileConfiguration"].clone();
        if !set_in_profile(&mut configuration, self.pool, joins) {
            return Ok(());
        }
        // As the vendor's controller does: whatever is not named stays.
        let mut body =
            json!({ "location": shown["location"], "properties": { "networkProfileConfiguration": configuration } });
        if !shown["properties"]["hardwareProfile"].is_null() {
            body["properties"]["hardwareProfile"] = shown["properties"]["hardwareProfile"].clone();
        }
        let before = shown.clone();
        self.put(AzureApi::Compute, &machine.id, &body, &before)
    }

    /// The model of a scale set, which new machines are made of, comes first: once for all of its machines, which are listed then.
    fn is_model_done(&mut self, set: &ResourceId, joins: bool) -> Result<bool> {
        if let Some(done) = self.sets.get(&set.key()) {
            return Ok(*done);
        }
        let Some(shown) = AzureApi::Compute.get(set).find::<Value>()? else {
            self.sets.insert(set.key(), false);
            return Ok(false);
        };
        let mut profile = shown["properties"]["virtualMachineProfile"]["networkProfile"].clone();
        if set_in_profile(&mut profile, self.pool, joins) {
            let body = json!({ "location": shown["location"], "properties": { "virtualMachineProfile": { "networkProfile": profile } } });
            self.put(AzureApi::Compute, set, &body, &shown)?;
        }
        let is_done = self.left.why.is_none();
        self.sets.insert(set.key(), is_done);
        if is_done {
            for it in lists::all(AzureApi::Compute, &set.child(&["virtualMachines"]), &[INSTANCE_VIEW])? {
                self.machines.insert(MachineId::in_set(set, text(&it, "/instanceId")).id.key(), it);
            }
        }
        Ok(is_done)
    }

    fn put(&mut self, api: AzureApi, id: &ResourceId, body: &Value, over: &Value) -> Result<()> {
        self.more -= 1;
        match writes::put(api, id, body, Some(over))? {
            AzureWritten::Begun(shown, operation) if writes::is_changing(&shown) => {
                match operation.filter(|_| api == AzureApi::Network) {
                    Some(operation) => self.left.operations.push(operation),
                    None => self.left.why = Some(format!("{} is being changed", id.name())),
                }
            }
            AzureWritten::Begun(..) => {}
            AzureWritten::Changed => self.left.why = Some(format!("{} has changed meanwhile", id.name())),
            AzureWritten::Busy(_, why) => self.left.why = Some(why),
        }
        Ok(())
    }
}

/// Adds a pool to the primary interface of a profile, or takes it away.
fn set_in_profile(profile: &mut Value, pool: &str, joins: bool) -> bool {
    let Some(interfaces) = profile["networkInterfaceConfigurations"].as_array_mut() else { return false };
    let single = interfaces.len() == 1;
    let mut changed = false;
    for it in interfaces {
        let is_primary = single || it["properties"]["primary"] == true;
        if let Some(configurations) =
            it["properties"]["ipConfigurations"].as_array_mut().filter(|_| is_primary || !joins)
        {
            changed |= set_membership(configurations, pool, joins);
        }
    }
    changed
}
