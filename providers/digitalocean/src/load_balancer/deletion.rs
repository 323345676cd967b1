//! Taking a load balancer away: by the id that is remembered, by the name that holds the Service's UID, or by what proves whose
//! it is.

use aerostat_sdk::{Removal, Result, clock, notices};

use super::annotations::ID;
use super::memo::Memo;
use super::{AT_ONCE, Call, ownership, standing};
use crate::api::load_balancers::{self as api, Change};
use crate::settings::uuid;

impl Call<'_> {
    /// Nothing is remembered of it: what the id annotation names and is proven to be ours, and what has our name.
    pub(super) fn delete_unremembered(&self) -> Result<Removal> {
        let named = self.annotations.text(ID.name).and_then(uuid).map(|id| api::find(&id)).transpose()?.flatten();
        if let Some(live) = &named
            && ownership::is_proven(self.service, live, &self.settings)?
        {
            let standing = standing::owned(self.service, &live.listed());
            let because = format_args!("{} is this Service's, and deleted next", live.title());
            return Ok(Removal::pending(standing, AT_ONCE, because));
        }
        if let Some(removal) = self.delete_named()? {
            return Ok(removal);
        }
        if let Some(live) = named {
            notices::warning(None, "LoadBalancerNotDeleted", &ownership::stays(&live));
        }
        Ok(Removal::Done)
    }

    /// It was to be created: if it is not there, it may still come.
    pub(super) fn delete_created(&self, memo: &Memo) -> Result<Removal> {
        if let Some(removal) = self.delete_named()? {
            return Ok(removal);
        }
        let Some(left) = memo.remaining(self.settings.create_again_after, clock::now()) else {
            return Ok(Removal::Done);
        };
        let because = format_args!(
            "load balancer {} may have been created, and may be listed late: it is looked for {} s more",
            self.service.name,
            left.as_secs()
        );
        Ok(Removal::pending(self.service.standing(), left.min(self.settings.poll_interval), because))
    }

    /// Deletes whatever has the name that holds the Service's UID; `None` if nothing has it.
    fn delete_named(&self) -> Result<Option<Removal>> {
        let mut removal = None;
        for live in api::list()?.iter().filter(|it| it.name == self.service.name) {
            match self.delete(&live.id)? {
                Removal::Done => removal = removal.or(Some(Removal::Done)),
                pending @ Removal::Pending(_) => removal = Some(pending),
            }
        }
        Ok(removal)
    }

    pub(super) fn delete(&self, id: &str) -> Result<Removal> {
        Ok(match api::delete(id)? {
            Change::Done(()) => Removal::Done,
            Change::Busy(why) => Removal::pending(self.service.standing(), self.settings.poll_interval, why),
        })
    }
}
