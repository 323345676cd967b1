//! Requests that are about many things, and are refused as a whole for the sake of one.

/// Sends all items in one request, and where that is refused as a whole, each half of them, and so on: an item that cannot be written holds up
/// no other. Answers parts of the items in their order, each with what became of its request; `None`, if no request was left that could tell
/// which item of the part is at fault.
///
/// `requests` is how many may be sent, and counts down. A half is finished before the next one is begun: the next call, without those whose
/// fault is known, comes further.
///
/// ```
/// use aerostat_sdk::in_halves;
///
/// let mut requests = 6;
/// let even = |part: &[u32]| part.iter().all(|it| it % 2 == 0);
/// let sent = in_halves(&[2, 4, 5, 6], &mut requests, &mut |part| even(part), &|done| !done);
/// assert_eq!(sent, [(&[2, 4][..], Some(true)), (&[5], Some(false)), (&[6], Some(true))]);
/// assert_eq!(requests, 1);
/// ```
pub fn in_halves<'i, T, A>(
    items: &'i [T],
    requests: &mut u32,
    send: &mut dyn FnMut(&'i [T]) -> A,
    is_refused: &dyn Fn(&A) -> bool,
) -> Vec<(&'i [T], Option<A>)> {
    if items.is_empty() {
        return Vec::new();
    }
    let Some(left) = requests.checked_sub(1) else { return vec![(items, None)] };
    *requests = left;
    let answer = send(items);
    if items.len() == 1 || !is_refused(&answer) {
        return vec![(items, Some(answer))];
    }
    let (one, other) = items.split_at(items.len() / 2);
    let mut parts = in_halves(one, requests, send, is_refused);
    parts.extend(in_halves(other, requests, send, is_refused));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items that went together, and whether they were taken.
    type SentPart = (Vec<u32>, Option<bool>);

    /// The parts of so many items of which these are at fault, and how many requests were sent.
    fn parts(count: u32, faulty: &[u32], most: u32) -> (Vec<SentPart>, u32) {
        let items: Vec<u32> = (0..count).collect();
        let mut left = most;
        let is_fine = |part: &[u32]| part.iter().all(|it| !faulty.contains(it));
        let sent = in_halves(&items, &mut left, &mut |part| is_fine(part), &|is_fine| !is_fine);
        let sent = sent.into_iter().map(|(part, answer)| (part.to_vec(), answer)).collect();
        (sent, most - left)
    }

    #[test]
    fn items_come_back_once_each_and_in_their_order() {
        for faulty in [&[][..], &[0], &[6], &[2, 3], &[0, 1, 2, 3, 4, 5, 6]] {
            for most in [0, 1, 4, 100] {
                let (sent, requests) = parts(7, faulty, most);
                let all: Vec<u32> = sent.iter().flat_map(|(part, _)| part.clone()).collect();
                assert_eq!(all, (0..7).collect::<Vec<_>>(), "{faulty:?} {most}");
                assert!(requests <= most);
                let refused = sent.iter().filter(|(_, answer)| *answer == Some(false));
                assert!(refused.map(|(part, _)| part).all(|it| it.len() == 1 && faulty.contains(&it[0])));
            }
        }
        assert_eq!(parts(0, &[], 4), (Vec::new(), 0));
    }

    #[test]
    fn faults_are_found_call_by_call() {
        let faulty: Vec<u32> = (0..50).collect();
        let (sent, requests) = parts(50, &faulty, 16);
        let known = sent.iter().filter(|(_, answer)| answer.is_some()).count();
        assert_eq!((requests, known), (16, 6), "{sent:?}");
    }
}
