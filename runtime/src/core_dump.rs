//! Keeps what is in this process's memory, tokens above all, out of files and out of other processes' reach.

use rustix::io::Result;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Lets no core be dumped of this process, and no other process without privileges read its memory.
///
/// A limit of zero is not enough: the kernel ignores it where cores are piped into a program. A process has to do this
/// itself, as the second half ends with `exec`.
///
/// # Errors
///
/// If the kernel refuses, as a filter of system calls may let it.
pub(crate) fn forbid() -> Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

#[cfg(test)]
mod tests {
    use rustix::process::{dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn this_process_leaves_no_core_dump() {
        forbid().unwrap();
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
    }
}
