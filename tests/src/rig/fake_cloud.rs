//! The cloud that controllers get which run in a test's process.

use std::sync::Arc;

use controllers::Account;

/// A fake cloud, as controllers see it.
pub trait FakeCloud {
    /// The capabilities of it.
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud;

    /// The account that is asked about beside its answers. By default none is.
    fn account(self: &Arc<Self>) -> Account {
        Account::any()
    }
}

/// The description of a fake cloud whose provider ids begin with `fake://`. Its load balancers may have one address, and
/// any mode.
#[must_use]
pub fn description() -> cloud_provider::Description {
    cloud_provider::Description {
        name: "fake".to_owned(),
        provider_id_prefixes: vec!["fake://".to_owned()],
        get_batch_size: 1,
        list_page_size: 500,
        ingress: cloud_provider::IngressDescription { vip: true, shared: true },
        ..cloud_provider::Description::default()
    }
}
