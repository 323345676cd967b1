//! Forms of values that many settings share.

use aerostat_sdk::form::Custom;

use crate::id::{is_group, is_name};

/// A subscription.
pub(super) const SUBSCRIPTION: Custom<String> =
    Custom::uuid("the id of a subscription such as 11111111-2222-3333-4444-555555555555");

/// The name of a resource group.
pub(super) const GROUP: Custom<String> =
    Custom { allowed: "the name of a resource group", parse: |text| is_group(text).then(|| text.to_owned()) };

/// The name of an object.
pub(super) const NAME: Custom<String> = Custom {
    allowed: "a name of letters, digits, dots, dashes and underscores",
    parse: |text| is_name(text).then(|| text.to_owned()),
};
