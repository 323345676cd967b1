//! The memo, which the host keeps on the Service between two calls: what the load balancer may consist of, and the operations that go on.

use aerostat_sdk::{Error, LoadBalancer, Result, clock};

/// The most bytes of a memo. Operations that do not fit are forgotten: what they were about is read.
const LARGEST: usize = 1_000;
/// How long a write that was refused is not tried again, in seconds.
const REFUSED_FOR: u64 = 3_600;
/// The beginning of the word of a refused write, which no operation's scope has.
const REFUSED: char = '!';

/// How much of the Service's objects has to be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum GceStage {
    /// There is nothing: its target may lack nothing but itself.
    New,
    /// There is nothing but what is made of the letters, in its order: of what is made last, all else is read.
    Making,
    /// There is nothing but what the letters say.
    Settled,
    /// There may be anything: it was made by somebody else, or is about to become something else.
    Open,
    /// The same, and what Services share and this one needs no more was tried to be deleted. The letters of checks are those of which nothing
    /// else makes use: they are gone, or their deletion was accepted.
    Tried,
}

impl GceStage {
    const WORDS: [(Self, &'static str); 5] = [
        (Self::New, "new"),
        (Self::Making, "making"),
        (Self::Settled, "settled"),
        (Self::Open, "open"),
        (Self::Tried, "tried"),
    ];

    /// Whether there may be more than the letters say.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Tried)
    }
}

/// The words that an earlier call asked to keep.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct GceMemo {
    /// Another one in each memo of a Service: requests of two makings differ.
    pub(super) making: u64,
    pub(super) stage: GceStage,
    /// The letters of all that the load balancer may consist of, sorted: see [`super::goal::GceGoal::letters`].
    pub(super) letters: String,
    /// Operations that go on, each with its scope: "r/operation-1".
    pub(super) operations: Vec<String>,
    /// Writes that the credential may not make: the revision of each, and the second at which it was refused.
    pub(super) refused: Vec<(String, u64)>,
}

impl GceMemo {
    /// That of a Service without one.
    pub(super) fn new(stage: GceStage, letters: &str) -> Self {
        Self { making: clock::now(), stage, letters: letters.to_owned(), operations: Vec::new(), refused: Vec::new() }
    }

    /// The memo that the host kept, if it kept one.
    ///
    /// # Errors
    ///
    /// `invalid`, if this provider did not write it.
    pub(super) fn of(service: &LoadBalancer) -> Result<Option<Self>> {
        let Some(text) = &service.memo else { return Ok(None) };
        let parsed = Self::parse(text, &service.name);
        let unknown =
            || Error::invalid(format_args!("the memo {text:?} in the Service's status is not one of this provider"));
        parsed.map(Some).ok_or_else(unknown)
    }

    fn parse(text: &str, balancer: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (name, making, stage) = (words.next()?, words.next()?, words.next()?);
        let (stage, letters) = stage.split_once(':')?;
        let (stage, _) = GceStage::WORDS.into_iter().find(|(_, word)| *word == stage)?;
        (name == balancer).then_some(())?;
        let (refused, operations): (Vec<&str>, Vec<&str>) = words.partition(|it| it.starts_with(REFUSED));
        let refused = refused.into_iter().filter_map(|it| it.trim_start_matches(REFUSED).split_once('@'));
        let refused = refused.filter_map(|(write, at)| Some((write.to_owned(), at.parse().ok()?))).collect();
        let operations = operations.into_iter().map(str::to_owned).collect();
        Some(Self { making: making.parse().ok()?, stage, letters: letters.to_owned(), operations, refused })
    }

    /// As it is kept.
    pub(super) fn text(&self, balancer: &str) -> String {
        let stage = GceStage::WORDS.into_iter().find(|(stage, _)| *stage == self.stage).map_or("", |(_, word)| word);
        let mut text = format!("{balancer} {} {stage}:{}", self.making, self.letters);
        let refused = self.refused.iter().map(|(write, at)| format!("{REFUSED}{write}@{at}"));
        for it in refused.chain(self.operations.iter().filter(|it| !it.contains(' ')).cloned()) {
            if text.len() + it.len() < LARGEST {
                text.push(' ');
                text.push_str(&it);
            }
        }
        text
    }

    /// Whether a write was refused a short while ago.
    pub(super) fn is_refused(&self, write: &str) -> bool {
        self.refused.iter().any(|(it, at)| it == write && clock::now() < at + REFUSED_FOR)
    }

    /// The same with writes that were refused now. Those that may be tried again are forgotten.
    pub(super) fn refusing(mut self, writes: Vec<String>) -> Self {
        if !writes.is_empty() {
            let now = clock::now();
            self.refused.retain(|(it, at)| !writes.contains(it) && now < at + REFUSED_FOR);
            self.refused.extend(writes.into_iter().map(|it| (it, now)));
        }
        self
    }

    /// The memo after a step: another making, and these operations.
    pub(super) fn next(&self, operations: Vec<String>) -> Self {
        Self { making: clock::now().max(self.making + 1), operations, ..self.clone() }
    }

    /// The memo after an operation that failed, or could not be read: it may have been the try of a deletion, which is tried again.
    pub(super) fn after_failure(&self) -> Self {
        let stage = if self.stage == GceStage::Tried { GceStage::Open } else { self.stage };
        self.next(Vec::new()).at(stage)
    }

    /// The same in another stage.
    pub(super) fn at(self, stage: GceStage) -> Self {
        Self { stage, ..self }
    }

    /// The same without the digits of shared backend services: they were tried to be deleted.
    pub(super) fn without_backends(mut self) -> Self {
        self.letters.retain(|it| !it.is_ascii_digit());
        self
    }

    /// The same without the letters of what is the Service's own: it is gone.
    pub(super) fn without_own(self) -> Self {
        self.without("eild")
    }

    /// The same without these letters.
    pub(super) fn without(mut self, letters: &str) -> Self {
        self.letters.retain(|it| !letters.contains(it));
        self
    }

    /// The same with further letters.
    pub(super) fn with(mut self, letters: &str) -> Self {
        let mut all: Vec<char> = self.letters.chars().chain(letters.chars()).collect();
        all.sort_unstable();
        all.dedup();
        self.letters = all.into_iter().collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memos_come_back_and_stay_small() {
        let service = LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11");
        let many: Vec<_> = (0..40).map(|it| format!("r/operation-{it:052}")).collect();
        let refused = vec![("0123456789abcdef".to_owned(), 1_795_817_680)];
        let memo = GceMemo { making: 7, stage: GceStage::Open, letters: "ex".to_owned(), operations: many, refused };
        let text = memo.text(&service.name);
        assert!(text.len() <= 1_024, "{}", text.len());
        let kept = LoadBalancer { memo: Some(text), ..service.clone() };
        let read = GceMemo::of(&kept).unwrap().unwrap();
        assert_eq!((read.making, read.stage, &*read.letters), (7, GceStage::Open, "ex"));
        assert_eq!(read.refused, memo.refused);
        assert_eq!(read.operations[..], memo.operations[..read.operations.len()]);
        assert!(read.operations.len() > 8);
    }

    #[test]
    fn memos_of_others_are_refused() {
        let service = LoadBalancer::of("default", "web", "uid");
        for memo in ["", "lb-1", "aother 1 open:", "auid x open:", "auid 1 done:e"] {
            let kept = LoadBalancer { memo: Some(memo.to_owned()), ..service.clone() };
            assert!(matches!(GceMemo::of(&kept), Err(Error::Invalid(_))), "{memo:?}");
        }
    }
}
