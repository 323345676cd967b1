//! One way to sort, which is compiled once, whatever the items are.

use std::cmp::Ordering;

/// Sorts a list. Equal items stay in their order.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts a list in an order of its own. Equal items stay in their order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut places = places(items.len(), &|one, other| compare(&items[one], &items[other]));
    for at in 0..places.len() {
        while places[at] != at {
            let place = places[at];
            items.swap(at, place);
            places.swap(at, place);
        }
    }
}

/// The place of each item in the order, by positions alone: this is compiled once, whatever the items are.
fn places(length: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|one, other| compare(*one, *other));
    let mut places = vec![0; length];
    for (place, item) in order.into_iter().enumerate() {
        places[item] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_stay_in_their_order() {
        let mut items = [(2, 'a'), (1, 'b'), (2, 'c'), (0, 'd'), (1, 'e'), (0, 'f')];
        sort_by(&mut items, |one, other| one.0.cmp(&other.0));
        assert_eq!(items, [(0, 'd'), (0, 'f'), (1, 'b'), (1, 'e'), (2, 'a'), (2, 'c')]);
    }

    #[test]
    fn a_list_is_sorted_as_the_standard_library_does() {
        // All lists of up to six of four numbers.
        for length in 0..6 {
            for number in 0..4_u32.pow(length) {
                let mut items: Vec<_> = (0..length).map(|it| number / 4_u32.pow(it) % 4).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                sort(&mut items);
                assert_eq!(items, expected);
            }
        }
    }
}
