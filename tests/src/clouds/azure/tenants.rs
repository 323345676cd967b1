//! Tenants, and who is known in them.

/// The tenant.
pub const TENANT: &str = "99999999-0000-0000-0000-000000000001";
/// The second tenant, whose tokens go into `x-ms-authorization-auxiliary`.
pub const OTHER_TENANT: &str = "99999999-0000-0000-0000-000000000009";
/// The client id of the application, and of the user-assigned identity.
pub const CLIENT: &str = "88888888-0000-0000-0000-000000000002";
/// The resource id of the user-assigned identity.
pub const IDENTITY: &str = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.ManagedIdentity/userAssignedIdentities/ccm";
/// The value of `IDENTITY_HEADER`.
pub const IDENTITY_HEADER: &str = "header-of-the-simulated-machine";
