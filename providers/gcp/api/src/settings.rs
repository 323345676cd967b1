//! The project, as the settings of each module name it.

#![expect(missing_docs, reason = "each row of the table says what it is")]

use aerostat_sdk::form::Custom;

/// The id of a project.
pub const PROJECT_ID: Custom<String> = Custom { allowed: "the id of a project such as my-project", parse: project_id };

aerostat_sdk::table! {
    /// The setting that says which project it is.
    pub const TABLE;
    OWN_PROJECT: Custom<String> = ("project", PROJECT_ID, "The project of the cluster's machines, by its id.").required();
}

/// A project's id: a name, perhaps with a domain and a colon before it.
fn project_id(text: &str) -> Option<String> {
    let is_allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'.' | b':');
    let begins_well = text.bytes().next().is_some_and(|it| it.is_ascii_lowercase());
    (begins_well && text.len() <= 63 && text.bytes().all(is_allowed)).then(|| text.to_owned())
}
