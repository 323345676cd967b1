//! Texts by chance.

/// Numbers by chance, by Marsaglia's xorshift64. Its state is never 0.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Pieces, each some times in a row, until there are `length` bytes; and in most texts some bytes that are others.
    pub(crate) fn text(&mut self, pieces: &[&[u8]], length: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(length);
        while text.len() < length {
            let piece = pieces[self.below(pieces.len())];
            let times = 1 << self.below(10);
            (0..times).take_while(|it| it * piece.len() < length).for_each(|_| text.extend_from_slice(piece));
        }
        text.truncate(length);
        for _ in 0..self.below(4) {
            let at = self.below(text.len());
            text[at] = self.next() as u8;
        }
        text
    }
}
