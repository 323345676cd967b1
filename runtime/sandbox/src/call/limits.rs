//! The limits of one call of a provider.

use std::time::Duration;

use egress::Mode;

use super::function::Function;

/// The most times as much that a call about several load balancers may use as one about one.
const CPU_TIMES: u32 = 20;
const WALL_TIMES: u32 = 5;
pub(super) const REQUEST_TIMES: u32 = 20;
/// The most volumes that one call takes away for one claim: a second one of its name may be there.
const VOLUMES_OF_A_CLAIM: u32 = 2;

/// The limits of one call of a provider.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CallLimits {
    /// CPU time of the guest, and of the host with what the guest says. Waiting for the cloud costs nothing, and neither does what
    /// the host does with the cloud's answers.
    pub cpu: Duration,
    /// Time from the beginning to the end, all requests to the cloud included.
    pub wall: Duration,
    /// Bytes of all linear memories together.
    pub memory: usize,
    /// How many calls run at once; the others wait. At least 1. Of a provider with several capabilities each owns a part
    /// of half of these places, which no call of another takes.
    pub concurrency: usize,
    /// The most DELETEs of one `ensure`: a provider that went mad cannot empty an account.
    pub deletes_per_ensure: u32,
    /// The most DELETEs of one `delete`.
    pub deletes_per_delete: u32,
    /// How long the provider is left alone once it is in quarantine, and how long an object is set aside over which it
    /// crashed. It doubles up to twenty times as long.
    pub quarantine: Duration,
}

impl CallLimits {
    /// The limits of a call of this function: of one about several load balancers those of one, times as many as there are, up to
    /// some times. Memory is reserved before anything is known of a call, and stays as it is.
    pub(super) fn of(self, function: Function) -> Self {
        let objects = function.objects();
        Self {
            cpu: self.cpu * objects.min(CPU_TIMES),
            wall: self.wall * objects.min(WALL_TIMES),
            deletes_per_ensure: self.deletes_per_ensure.saturating_mul(objects),
            deletes_per_delete: self.deletes_per_delete.saturating_mul(objects),
            ..self
        }
    }

    /// The requests that the egress lets through in a call of this function.
    pub(super) fn mode(&self, function: Function) -> Mode {
        match function {
            Function::Describe
            | Function::CanonicalIds
            | Function::DescribeInventory
            | Function::DescribeBatches
            | Function::DescribeRoutes
            | Function::DescribeVolumes
            | Function::DescribeDisks => Mode::None,
            Function::Identity
            | Function::Get
            | Function::List
            | Function::ListInventory
            | Function::NextHops
            | Function::ListRoutes
            | Function::GetTopology
            | Function::GetVolumes
            | Function::ListVolumes => Mode::Read,
            Function::Apply { deletes } => Mode::Write { deletes },
            // A volume that was enlarged never shrinks again: no call that attaches one does it.
            Function::AttachVolume => Mode::Update,
            Function::ExpandVolume => Mode::Write { deletes: 0 },
            Function::CreateVolume | Function::DeleteVolume | Function::DetachVolume => Mode::Write { deletes: 1 },
            Function::AbandonVolume => Mode::Write { deletes: VOLUMES_OF_A_CLAIM },
            Function::Ensure | Function::EnsureBatch { .. } => Mode::Write { deletes: self.deletes_per_ensure },
            Function::Delete | Function::DeleteBatch { .. } => Mode::Write { deletes: self.deletes_per_delete },
        }
    }
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_millis(500),
            wall: Duration::from_secs(120),
            memory: 64 << 20,
            concurrency: 8,
            deletes_per_ensure: 10,
            deletes_per_delete: 20,
            quarantine: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_about_a_volume_may_do_what_it_is_for() {
        let limits = CallLimits::default();
        for (function, mode) in [
            (Function::GetVolumes, Mode::Read),
            (Function::AttachVolume, Mode::Update),
            (Function::ExpandVolume, Mode::Write { deletes: 0 }),
            (Function::DetachVolume, Mode::Write { deletes: 1 }),
            (Function::DeleteVolume, Mode::Write { deletes: 1 }),
        ] {
            assert_eq!(limits.mode(function), mode, "{function}");
        }
    }
}
