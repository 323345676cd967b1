//! Sets in their order.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Sub;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use super::sort::sort;

/// Different items in their order.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SortedSet<T> {
    items: Vec<T>,
}

impl<T> SortedSet<T> {
    /// A set without items.
    #[must_use]
    pub const fn new() -> Self {
        Self { items: Vec::new() }
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The smallest item.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.items.first()
    }

    /// The largest item.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.items.last()
    }

    /// Takes all items away.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Keeps those for which this is so.
    pub fn retain(&mut self, is_kept: impl FnMut(&T) -> bool) {
        self.items.retain(is_kept);
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether an item is there.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.position(item).is_ok()
    }

    /// Adds an item, and says whether it is new.
    pub fn insert(&mut self, item: T) -> bool {
        let position = self.position(&item);
        if let Err(at) = position {
            self.items.insert(at, item);
        }
        position.is_err()
    }

    /// Takes an item away, and says whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let position = self.position(item);
        if let Ok(at) = position {
            self.items.remove(at);
        }
        position.is_ok()
    }

    /// Those that are not in another set.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> + Clone {
        self.items.iter().filter(|it| !other.contains(*it))
    }

    /// Those that are in another set, too.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> + Clone {
        self.items.iter().filter(|it| other.contains(*it))
    }

    /// Whether all are in another set, too.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.items.iter().all(|it| other.contains(it))
    }

    /// Where an item is, or where it would be.
    fn position<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.items.binary_search_by(|it| it.borrow().cmp(item))
    }

    fn put_in_order(&mut self) {
        sort(&mut self.items);
        self.items.dedup();
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Clone + Ord> Sub for &SortedSet<T> {
    type Output = SortedSet<T>;

    fn sub(self, other: Self) -> SortedSet<T> {
        SortedSet { items: self.difference(other).cloned().collect() }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = Self { items: items.into_iter().collect() };
        set.put_in_order();
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.items.extend(items);
        self.put_in_order();
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de> + Ord> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(list)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_there_once() {
        let mut set: SortedSet<_> = [3, 1, 3, 2].into_iter().collect();
        assert_eq!((set.insert(2), set.insert(0), set.remove(&3), set.remove(&3)), (false, true, true, false));
        set.extend([5, 0]);
        assert_eq!(format!("{set:?}"), "{0, 1, 2, 5}");
        assert_eq!((set.first(), set.last(), set.len(), set.contains(&4)), (Some(&0), Some(&5), 4, false));
        set.retain(|it| it % 2 == 1);
        assert_eq!(set, SortedSet::from([5, 1]));
    }

    #[test]
    fn sets_are_compared_item_by_item() {
        let (one, other) = (SortedSet::from(["a", "b", "c"]), SortedSet::from(["d", "c", "b"]));
        assert_eq!(one.difference(&other).collect::<Vec<_>>(), [&"a"]);
        assert_eq!(one.intersection(&other).collect::<Vec<_>>(), [&"b", &"c"]);
        assert_eq!((one.is_subset(&other), SortedSet::new().is_subset(&one)), (false, true));
    }

    #[test]
    fn a_set_is_a_list_in_json() {
        let set: SortedSet<u8> = serde_json::from_str("[3, 1, 3]").unwrap();
        assert_eq!(serde_json::to_string(&set).unwrap(), "[1,3]");
    }
}
