//! The one door for text of a guest or of a cloud: whatever of it is logged, stored or told passes through here.

pub(crate) use cloud_provider::{is_printable, printable};
