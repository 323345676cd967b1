//! Sets and maps in the order of their keys, for what one call knows: tags, ids, ports.
//!
//! The compiler writes the standard library's trees, and its way to sort, once for each type that is in them. In a module with
//! thirty such types they were a quarter of all bytes. These are plain lists, and all of them are sorted by the same code.
//!
//! ```
//! use aerostat_sdk::{SortedMap, SortedSet};
//!
//! let mut tags = SortedMap::from([("name", "web"), ("cluster", "prod")]);
//! tags.insert("name", "api");
//! assert_eq!(tags.keys().collect::<Vec<_>>(), [&"cluster", &"name"]);
//!
//! let (has, wanted) = (SortedSet::from([80, 443]), SortedSet::from([443, 8443]));
//! assert_eq!(wanted.difference(&has).collect::<Vec<_>>(), [&8443]);
//! ```
//!
//! A list that is collected takes the time of sorting it. One more key takes the time of moving those behind it: collect what
//! may be thousands.

mod map;
mod set;
mod sort;

pub use self::map::SortedMap;
pub use self::set::SortedSet;
pub use self::sort::{sort, sort_by};
