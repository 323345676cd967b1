//! The zones of a load balancer, and the way to others. Pure.

use crate::api::fields::numbered;
use crate::api::network_load_balancers::NlbZone;

/// The zones that the next request gives; `None`, where nothing differs. It gives all of them, as the API takes away those that a request does not
/// name: first new ones come, then one that stays gets another vSwitch or address, and those that are not wanted go last.
pub(super) fn next(live: &[NlbZone], wanted: &[NlbZone]) -> Option<Vec<NlbZone>> {
    // A cloud that shows no zone, and an annotation that names none, say nothing.
    if live.is_empty() || wanted.is_empty() {
        return None;
    }
    let is_there = |it: &NlbZone, all: &[NlbZone]| all.iter().any(|other| other.zone == it.zone);
    let mut is_changed = wanted.iter().any(|it| !is_there(it, live));
    let mut next = Vec::new();
    for it in live {
        let own = wanted.iter().find(|other| other.zone == it.zone);
        let is_next = own.is_some_and(|own| !fits(own, it)) && !is_changed;
        is_changed |= is_next;
        next.push(match own.filter(|own| is_next || fits(own, it)) {
            Some(own) => own.clone(),
            None => NlbZone { zone: it.zone.clone(), switch: it.switch.clone(), ..NlbZone::default() },
        });
    }
    next.extend(wanted.iter().filter(|it| !is_there(it, live)).cloned());
    if !is_changed {
        next.retain(|it| is_there(it, wanted));
    }
    (is_changed || next.len() < live.len()).then_some(next)
}

/// Whether a zone is as wanted: addresses count where they are chosen, and the cloud shows some.
fn fits(wanted: &NlbZone, live: &NlbZone) -> bool {
    let is = |wanted: &Option<String>, live: &Option<String>| wanted.is_none() || live.is_none() || wanted == live;
    wanted.switch == live.switch && is(&wanted.address, &live.address) && is(&wanted.elastic, &live.elastic)
}

/// Zones as pairs of a request.
pub(super) fn pairs(zones: &[NlbZone]) -> Vec<(String, &str)> {
    numbered(
        "ZoneMappings",
        zones.iter().map(|zone| {
            let chosen = [("PrivateIPv4Address", zone.address.as_deref()), ("AllocationId", zone.elastic.as_deref())];
            let chosen = chosen.into_iter().filter_map(|(name, value)| Some((name, value?)));
            [("ZoneId", &*zone.zone), ("VSwitchId", &*zone.switch)].into_iter().chain(chosen).collect::<Vec<_>>()
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zones of a text such as `b:1,g:2:10.0.0.9:eip-1`.
    fn zones(text: &str) -> Vec<NlbZone> {
        let zone = |text: &str| {
            let mut parts = text.split(':').map(str::to_owned);
            let (zone, switch) = (parts.next().unwrap(), parts.next().unwrap());
            let mut chosen = || parts.next().filter(|it| !it.is_empty());
            NlbZone { zone, switch, address: chosen(), elastic: chosen() }
        };
        text.split_terminator(',').map(zone).collect()
    }

    /// The zones of each request until nothing differs, in a cloud that does what it is asked.
    fn way(live: &str, wanted: &str) -> Vec<Vec<NlbZone>> {
        let (mut live, wanted, mut way) = (zones(live), zones(wanted), Vec::new());
        while let Some(asked) = next(&live, &wanted) {
            way.push(asked.clone());
            live = asked;
            assert!(way.len() < 9, "there is no end: {way:?}");
        }
        way
    }

    #[test]
    fn zones_come_before_others_go() {
        for (live, wanted, expected) in [
            ("b:1,g:2", "g:2,b:1", &[][..]),
            ("b:1,g:2", "b:1,h:3", &["b:1,g:2,h:3", "b:1,h:3"]),
            ("b:1,g:2", "h:3,i:4", &["b:1,g:2,h:3,i:4", "h:3,i:4"]),
            ("b:1,g:2", "b:5,g:6", &["b:5,g:2", "b:5,g:6"]),
            ("b:1,g:2,h:3", "b:5,i:4", &["b:1,g:2,h:3,i:4", "b:5,g:2,h:3,i:4", "b:5,i:4"]),
            ("b:1,g:2", "b:1,g:2,h:3:10.0.0.9:eip-1", &["b:1,g:2,h:3:10.0.0.9:eip-1"]),
            // One that is named twice has its first vSwitch.
            ("b:1,g:2", "b:1,g:2,b:5", &[]),
            ("", "b:1,g:2", &[]),
            ("b:1,g:2", "", &[]),
        ] {
            let expected: Vec<Vec<NlbZone>> = expected.iter().map(|it| zones(it)).collect();
            assert_eq!(way(live, wanted), expected, "{live} to {wanted}");
        }
    }

    #[test]
    fn addresses_that_are_not_chosen_stay() {
        for (live, wanted, expected) in [
            ("b:1:10.0.0.4:eip-1,g:2", "b:1,g:2", None),
            ("b:1:10.0.0.4:eip-1,g:2", "b:1:10.0.0.4:eip-1,g:2", None),
            ("b:1:10.0.0.4:eip-1,g:2", "b:1::eip-2,g:2", Some("b:1::eip-2,g:2")),
            ("b:1:10.0.0.4:eip-1,g:2", "b:1:10.0.0.5,g:2", Some("b:1:10.0.0.5,g:2")),
            // An address of the internet is shown by none that has no such.
            ("b:1:10.0.0.4,g:2", "b:1::eip-2,g:2", None),
            ("b:1:10.0.0.4:eip-1,g:2", "b:1::eip-1,g:2,h:3", Some("b:1::eip-1,g:2,h:3")),
        ] {
            assert_eq!(next(&zones(live), &zones(wanted)), expected.map(zones), "{live} to {wanted}");
        }
    }
}
