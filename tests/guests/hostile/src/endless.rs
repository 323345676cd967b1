//! A list of machines that never ends.

use aerostat_sdk::{Instance, Page, events};

use crate::honest;

/// As many machines as were asked for, each as large as it may be; and 64 events of a kibibyte.
pub(crate) fn page(number: u64, limit: u32) -> Page {
    for nth in 0..64 {
        events::warning(None, "Endless", &format!("{number} {nth} {}", "x".repeat(1000)));
    }
    let machine = |nth: u32| (0..64).fold(honest(&format!("endless-{number}-{nth}")), with_label);
    Page::new((0..limit).map(machine).collect(), Some(format!("endless-{}", number + 1)))
}

fn with_label(machine: Instance, nth: u32) -> Instance {
    let domain = format!("{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63));
    machine.label(format!("{domain}/{nth:02}{}", "k".repeat(61)), "v".repeat(63))
}
