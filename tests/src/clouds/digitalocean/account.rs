//! The account that resources belong to.

/// The account behind the token.
#[derive(Clone, Debug)]
pub struct Account {
    /// The user's UUID.
    pub uuid: String,
    /// The UUID of the team that owns the resources; old accounts have none.
    pub team: Option<String>,
}

impl Account {
    /// One that has nothing to do with ours.
    pub(super) fn other() -> Account {
        Account {
            uuid: "0fe4fa1a2b13d5d9b9cf20a3f7ea3f6cbb7d8b1c".to_owned(),
            team: Some("e1d2c3b4a5968778695a4b3c2d1e0f9a8b7c6d5e".to_owned()),
        }
    }
}
