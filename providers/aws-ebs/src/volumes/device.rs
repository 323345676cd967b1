//! The name of the device under which a volume comes to an instance.
//!
//! The instance's own devices are told by EC2, but for those of its image. A name that was in use a moment ago may let the volume be attaching
//! for ever, so that each volume begins at another name, and another one each minute. Pure.

use aerostat_sdk::SortedSet;

/// Names that are tried first, as the vendor's controller takes them: two series for each letter at their end. Instances without Nitro mix up others.
const FIRST: [char; 2] = ['a', 'b'];

/// The names that none of these devices has, the best one first.
pub(super) fn free<'a>(volume: &str, minute: u64, taken: &'a SortedSet<String>) -> impl Iterator<Item = String> + 'a {
    let first: Vec<String> = FIRST.iter().flat_map(|it| series(&format!("xvd{it}"), 'a', 'z')).collect();
    let begin = volume.bytes().fold(minute, |sum, it| sum.wrapping_mul(31).wrapping_add(it.into()));
    let begin = usize::try_from(begin % first.len() as u64).unwrap_or_default();
    let (before, after) = first.split_at(begin);
    let others = series("xvdd", 'a', 'x').chain(series("xvd", 'b', 'z')).chain(series("sd", 'b', 'z'));
    let all: Vec<String> = after.iter().chain(before).cloned().chain(others).collect();
    all.into_iter().filter(|it| !taken.contains(it))
}

fn series(prefix: &str, first: char, last: char) -> impl Iterator<Item = String> + use<> {
    let prefix = format!("/dev/{prefix}");
    (first..=last).map(move |letter| format!("{prefix}{letter}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(volume: &str, minute: u64, taken: &[&str]) -> Vec<String> {
        let taken = taken.iter().map(|it| (*it).to_owned()).collect();
        free(volume, minute, &taken).collect()
    }

    #[test]
    fn devices_of_the_instance_are_left_out() {
        let all = names("vol-1", 0, &[]);
        assert_eq!((all.len(), SortedSet::from_iter(all.iter().cloned()).len()), (126, 126), "each is there once");
        assert!(all[..52].iter().all(|it| it.starts_with("/dev/xvda") || it.starts_with("/dev/xvdb")), "{all:?}");
        assert!(!all.contains(&"/dev/xvda".to_owned()) && !all.contains(&"/dev/sda".to_owned()), "the root's");
        let taken = [all[0].as_str(), all[1].as_str(), "/dev/xvda"];
        assert_eq!(names("vol-1", 0, &taken), all[2..]);
        let whole: Vec<_> = all.iter().map(String::as_str).collect();
        assert!(names("vol-1", 0, &whole).is_empty());
    }

    #[test]
    fn volumes_and_minutes_begin_at_different_names() {
        let first = |volume: &str, minute| names(volume, minute, &[])[0].clone();
        let volumes: SortedSet<_> = (0..20).map(|it| first(&format!("vol-0abc{it}"), 0)).collect();
        assert!(volumes.len() > 12, "{volumes:?}");
        assert_ne!(first("vol-1", 0), first("vol-1", 1));
        assert_eq!(first("vol-1", 7), first("vol-1", 7));
    }
}
