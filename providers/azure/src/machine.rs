//! Provider ids of machines: `azure://` and the id of a virtual machine, or of one in a scale set. They are compared without case.

use aerostat_sdk::{Error, Result};

use crate::id::ResourceId;

/// The beginning of provider ids. Nodes keep theirs for as long as they exist: it must not change.
pub(crate) const PREFIX: &str = "azure://";

const MACHINES: &str = "virtualMachines";
const SETS: &str = "virtualMachineScaleSets";

/// A machine by what its provider id says.
#[derive(Clone, Debug)]
pub(crate) struct MachineId {
    /// Its own id. The number of a machine in a scale set has no name of the set before it.
    pub(crate) id: ResourceId,
}

impl MachineId {
    /// The machine of a provider id: in any case, and with the older form `<set>_<number>` for machines of scale sets.
    ///
    /// # Errors
    ///
    /// `invalid`, if it is of another cloud, or no machine has such an id.
    pub(crate) fn parse(provider_id: &str) -> Result<Self> {
        let machine = provider_id.strip_prefix(PREFIX).and_then(Self::of);
        machine.ok_or_else(|| {
            Error::invalid(format_args!(
                "provider id {provider_id:?} is not {PREFIX} and the id of a virtual machine such as \
                 {PREFIX}/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/node-1"
            ))
        })
    }

    /// The machine of an object's id; `None` if that is no machine's.
    pub(crate) fn of(id: &str) -> Option<Self> {
        let mut id = ResourceId::parse(id)?;
        let is_compute = id.namespace.eq_ignore_ascii_case("Microsoft.Compute");
        let is_machine = id.has_types(&[MACHINES]) || id.has_types(&[SETS, MACHINES]);
        if let [_, set, _, number] = &mut id.words[..] {
            let set = set.to_ascii_lowercase();
            let is_older = number.to_ascii_lowercase().starts_with(&format!("{set}_"));
            if is_older {
                *number = number[set.len() + 1..].to_owned();
            }
        }
        (is_compute && is_machine).then_some(Self { id })
    }

    /// A machine of a scale set, by the set's id and its number.
    pub(crate) fn in_set(set: &ResourceId, number: &str) -> Self {
        Self { id: set.child(&[MACHINES, number]) }
    }

    /// The scale set that it is a member of.
    pub(crate) fn set(&self) -> Option<ResourceId> {
        let mut set = self.id.clone();
        let is_member = set.words.len() == 4;
        set.words.truncate(2);
        is_member.then_some(set)
    }

    /// The provider id as the vendor's controller writes it: the group in lower case.
    pub(crate) fn provider_id(&self) -> String {
        let id = ResourceId {
            group: self.id.group.chars().flat_map(char::to_lowercase).collect(),
            namespace: "Microsoft.Compute".to_owned(),
            ..self.id.clone()
        };
        format!("{PREFIX}{id}")
    }

    /// The same text for all spellings.
    pub(crate) fn canonical(&self) -> String {
        format!("{PREFIX}{}", self.id.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str =
        "azure:///subscriptions/s/resourceGroups/RG/providers/Microsoft.Compute/virtualMachineScaleSets/vs";

    #[test]
    fn azure_009_and_010_all_spellings_are_one_machine() {
        let canonical = |id: &str| MachineId::parse(id).unwrap().canonical();
        let one = canonical(&format!("{SET}/virtualMachines/3"));
        assert_eq!(canonical(&format!("{SET}/virtualMachines/vs_3")), one);
        assert_eq!(canonical(&format!("{SET}/virtualMachines/VS_3").replace("/RG/", "/rg/")), one);
        assert_eq!(canonical(&format!("{SET}/virtualmachines/3").replace("resourceGroups", "resourcegroups")), one);
        assert_ne!(canonical(&format!("{SET}/virtualMachines/4")), one);
        let written = MachineId::parse(&format!("{SET}/virtualMachines/vs_3")).unwrap().provider_id();
        assert_eq!(written, format!("{SET}/virtualMachines/3").replace("/RG/", "/rg/"));
    }

    #[test]
    fn azure_011_ids_of_others_are_refused() {
        let others =
            ["", "aws:///z/i-1", "azure://", "azure:///subscriptions/s", &format!("{SET}/virtualMachines/.."), SET];
        for id in others {
            let refused = MachineId::parse(id).unwrap_err();
            assert!(matches!(&refused, Error::Invalid(why) if why.contains(&format!("{id:?}"))), "{id} {refused:?}");
        }
    }
}
