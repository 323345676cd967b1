//! The body of an answer while it comes: no longer than its limit, and searched for secrets piece by piece.

use tokio::task::spawn_blocking;

use crate::credentials::Secrets;

/// The largest piece that is searched between two other tasks: that takes about a millisecond.
const SEARCHED_HERE: usize = 16 << 10;
/// The bytes kept free for an answer that does not say how long it is.
const FIRST: usize = 8 << 10;

/// The body of an answer, as far as it has come.
pub(crate) struct GrowingBody {
    bytes: Vec<u8>,
    limit: usize,
    /// So many bytes have been searched.
    searched: usize,
    secrets: Secrets,
}

/// Why a body is not read any further.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Withheld {
    /// It is longer than its limit.
    TooLarge,
    /// It holds a secret.
    HoldsSecret,
}

impl GrowingBody {
    /// A body of an answer that announces at least `length` bytes.
    pub(crate) fn new(length: u64, limit: usize, secrets: Secrets) -> Result<Self, Withheld> {
        match usize::try_from(length) {
            Ok(length) if length <= limit => Ok(Self { bytes: Vec::new(), limit, searched: 0, secrets }),
            Ok(_) | Err(_) => Err(Withheld::TooLarge),
        }
    }

    /// Takes what has come.
    pub(crate) async fn push(&mut self, data: &[u8]) -> Result<(), Withheld> {
        let length = self.bytes.len() + data.len();
        if length > self.limit {
            return Err(Withheld::TooLarge);
        }
        if length > self.bytes.capacity() {
            // Doubled as a vector does it, but never beyond the limit: that is what memory is counted by.
            let wanted = (self.bytes.capacity() * 2).clamp(FIRST, self.limit.max(FIRST)).max(length);
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(data);
        if length - self.searched < Secrets::PIECE { Ok(()) } else { self.search().await }
    }

    /// All of it.
    pub(crate) async fn finish(mut self) -> Result<Vec<u8>, Withheld> {
        self.search().await?;
        Ok(self.bytes)
    }

    /// Searches what has come since the last search: more than a little on another thread, while this one serves other calls.
    async fn search(&mut self) -> Result<(), Withheld> {
        let known = std::mem::replace(&mut self.searched, self.bytes.len());
        let leaks = if self.bytes.len() - known <= SEARCHED_HERE {
            self.secrets.are_in_rest(&self.bytes, known)
        } else {
            let (bytes, secrets) = (std::mem::take(&mut self.bytes), self.secrets.clone());
            let search = move || {
                let leaks = secrets.are_in_rest(&bytes, known);
                (bytes, leaks)
            };
            let leaks;
            (self.bytes, leaks) = spawn_blocking(search).await.expect("the search does not panic");
            leaks
        };
        if leaks { Err(Withheld::HoldsSecret) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    const TOKEN: &str = "dop_v1_canary_1_7f3a9c5e1b2d4f60";
    const MIB: usize = 1 << 20;

    fn secrets() -> Secrets {
        Secrets::default().with(Zeroizing::new(TOKEN.to_owned()))
    }

    async fn read(limit: usize, pieces: impl Iterator<Item = Vec<u8>>) -> Result<Vec<u8>, Withheld> {
        let mut body = GrowingBody::new(0, limit, secrets())?;
        for piece in pieces {
            body.push(&piece).await?;
            assert!(body.bytes.capacity() <= limit.max(FIRST), "{} bytes for {limit}", body.bytes.capacity());
        }
        body.finish().await
    }

    #[tokio::test]
    async fn adv_159_an_answer_takes_no_more_than_its_limit() {
        for (limit, piece) in [(4 * MIB, 16_000), (4 * MIB, 17_000), (100_000, 1), (10, 10), (10_000, 9_999)] {
            let pieces = || std::iter::repeat_n(vec![b'.'; piece], limit / piece);
            assert_eq!(read(limit, pieces()).await.map(|it| it.len()), Ok(limit / piece * piece), "{limit} by {piece}");
            let more = read(limit, pieces().chain([vec![b'.'; piece + 1]])).await;
            assert_eq!(more, Err(Withheld::TooLarge));
        }
        let long = GrowingBody::new(11, 10, secrets()).err();
        assert_eq!((long, GrowingBody::new(u64::MAX, 10, secrets()).err()), (Some(Withheld::TooLarge), long));
    }

    #[tokio::test]
    async fn adv_159_a_token_is_found_across_pieces_of_an_answer() {
        let half = TOKEN.len() / 2;
        for before in [0, SEARCHED_HERE, Secrets::PIECE - half, Secrets::PIECE, 3 * Secrets::PIECE - 1] {
            for piece in [1_009, Secrets::PIECE] {
                let text = format!("{}{TOKEN}{}", ".".repeat(before), ".".repeat(MIB));
                let pieces = text.as_bytes().chunks(piece).map(<[u8]>::to_vec);
                assert_eq!(read(4 * MIB, pieces).await, Err(Withheld::HoldsSecret), "after {before} by {piece}");
            }
        }
    }
}
