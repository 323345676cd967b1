//! Maps in the order of their keys.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::sort::sort_by;

/// A value for each of some keys, in the order of the keys.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SortedMap<K, V> {
    pairs: Vec<(K, V)>,
}

/// Keys with their values.
type Pairs<'a, K, V> = std::iter::Map<std::slice::Iter<'a, (K, V)>, fn(&(K, V)) -> (&K, &V)>;

impl<K, V> SortedMap<K, V> {
    /// A map without keys.
    #[must_use]
    pub const fn new() -> Self {
        Self { pairs: Vec::new() }
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// All keys with their values.
    pub fn iter(&self) -> Pairs<'_, K, V> {
        self.pairs.iter().map(|(key, value)| (key, value))
    }

    /// All keys.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.pairs.iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.pairs.iter().map(|(_, value)| value)
    }

    /// All values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.pairs.iter_mut().map(|(_, value)| value)
    }

    /// All values, in the order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.pairs.into_iter().map(|(_, value)| value)
    }

    /// Takes all keys away.
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    /// Keeps those for which this is so.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&K, &mut V) -> bool) {
        self.pairs.retain_mut(|(key, value)| is_kept(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where a key is, or where it would be.
    fn position<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.pairs.binary_search_by(|(it, _)| it.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.position(key).ok().map(|it| &self.pairs[it].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.position(key).ok().map(|it| &mut self.pairs[it].1)
    }

    /// Whether a key is there.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.position(key).is_ok()
    }

    /// Gives a key this value, and returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.pairs[at].1, value)),
            Err(at) => {
                self.pairs.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes a key away, and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.position(key).ok().map(|it| self.pairs.remove(it).1)
    }

    /// The value of a key, which gets this one if it is not there.
    pub fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        let at = match self.position(&key) {
            Ok(at) => at,
            Err(at) => {
                self.pairs.insert(at, (key, value));
                at
            }
        };
        &mut self.pairs[at].1
    }

    /// The value of a key, which gets the default if it is not there.
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert(key, V::default())
    }

    /// The last of several values of one key is the one.
    fn put_in_order(&mut self) {
        sort_by(&mut self.pairs, |(one, _), (other, _)| one.cmp(other));
        self.pairs.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Borrow<Q> + Ord, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is there")
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self { pairs: pairs.into_iter().collect() };
        map.put_in_order();
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        self.pairs.extend(pairs);
        self.put_in_order();
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.pairs.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Pairs<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(map: D) -> Result<Self, D::Error> {
        map.deserialize_map(SortedMapVisitor(PhantomData))
    }
}

/// Reads the entries of an object, without the code of another map.
struct SortedMapVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for SortedMapVisitor<K, V> {
    type Value = SortedMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_is_the_one() {
        let mut map: SortedMap<_, _> = [(2, 'a'), (1, 'b'), (2, 'c')].into_iter().collect();
        assert_eq!(map, SortedMap::from([(1, 'b'), (2, 'c')]));
        map.extend([(1, 'd'), (0, 'e')]);
        assert_eq!(map.iter().collect::<Vec<_>>(), [(&0, &'e'), (&1, &'d'), (&2, &'c')]);
        assert_eq!((map.insert(2, 'f'), map.insert(3, 'g')), (Some('c'), None));
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [(0, 'e'), (1, 'd'), (2, 'f'), (3, 'g')]);
    }

    #[test]
    fn a_key_is_found_in_the_form_that_it_is_borrowed_in() {
        let mut map = SortedMap::from([("b".to_owned(), 1), ("a".to_owned(), 2)]);
        assert_eq!((map.get("a"), map.get("c"), map["b"]), (Some(&2), None, 1));
        *map.get_or_default("c".to_owned()) += 3;
        *map.get_or_insert("c".to_owned(), 7) += 3;
        assert_eq!((map.remove("c"), map.remove("c"), map.len()), (Some(6), None, 2));
        map.retain(|_, value| *value == 2);
        assert_eq!(format!("{map:?}"), r#"{"a": 2}"#);
    }

    #[test]
    fn a_map_is_an_object_in_json() {
        let map: SortedMap<String, u8> = serde_json::from_str(r#"{ "b": 1, "a": 2 }"#).unwrap();
        assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"a":2,"b":1}"#);
    }
}
