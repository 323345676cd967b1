//! The simulated cloud: what is in it, and how it changes.

use std::collections::BTreeMap;

use ::tests::simulator::Simulator;

use crate::vendor::Shown;

/// How many machines there are.
pub(crate) const MACHINES: u8 = 3;

/// The id of a machine.
pub(crate) fn machine(number: u8) -> u64 {
    1000 + u64::from(number)
}

/// Describes what has changed in the cloud, but for machines.
#[derive(Default)]
pub(crate) struct Changes {
    known: BTreeMap<String, String>,
}

impl Changes {
    /// The changes since it was last shown.
    pub(crate) fn describe<V: Shown>(&mut self, cloud: &Simulator<V::Cloud>) -> Vec<String> {
        let now = V::states(cloud.account());
        let name = |it: &str| it.split(' ').map(cut).collect::<Vec<_>>().join(" ");
        let changed = now.iter().filter(|(id, state)| self.known.get(*id) != Some(state));
        let mut lines: Vec<_> = changed.map(|(id, state)| format!("{} {state}", name(id))).collect();
        let gone = self.known.keys().filter(|id| !now.contains_key(*id));
        lines.extend(gone.map(|id| format!("{} is gone", name(id))));
        self.known = now;
        lines
    }
}

/// A text with the ids in it cut short, as people do.
pub(crate) fn short(text: &str) -> String {
    text.split('/').map(cut).collect::<Vec<_>>().join("/")
}

/// An id cut short, and the name of a PersistentVolume, which ends in one. All else as it is.
pub(crate) fn cut(part: &str) -> String {
    let (prefix, id) = part.strip_prefix("pvc-").map_or(("", part), |it| ("pvc-", it));
    match id.split_once('-') {
        Some((head, _)) if id.len() == 36 && head.len() == 8 => format!("{prefix}{head}…"),
        _ => part.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, short};

    #[test]
    fn only_ids_are_cut() {
        assert_eq!(
            short("/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6/droplets"),
            "/v2/load_balancers/4de7ac8b…/droplets"
        );
        assert_eq!(short("/v2/load_balancers"), "/v2/load_balancers");
        assert_eq!(cut("pvc-4de7ac8b-495b-4884-9a69-1050c6793cd6"), "pvc-4de7ac8b…");
        assert_eq!(cut("pvc-of-another-hand"), "pvc-of-another-hand");
    }
}
