//! A Service's list of access, in the memo behind the id of its load balancer: the API has no token with which a repetition makes no second list,
//! lists lag, and a listener tells of a list only while it uses it. Pure.
//!
//! `lb-1 announced:1700000000` is one whose list is made by the first call that has this memo and by no other, `lb-1 sought:1700000000` one
//! whose list may have been made, and `lb-1 acl-2:1700000000` one whose list was made then: each until it is shown. `lb-1 unused:acl-2` is one
//! whose list is there, and perhaps no listener that uses it: until one does, or the list is gone. Where there is nothing to say of a list, the
//! parts of a new load balancer may stand there.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use aerostat_sdk::LoadBalancer;

use super::new_parts::NewParts;
use crate::remembered::MemoWords;

/// The beginning of ids of Classic Load Balancers.
pub(crate) const ID: &str = "lb-";
/// The words before the time of an announcement, and before the time since when a list is looked for.
const ANNOUNCED: &str = "announced";
const SOUGHT: &str = "sought";
/// The word before the number of parts of a new load balancer.
const NEW: &str = "new";
/// The word before the id of a list that no listener may use.
const UNUSED: &str = "unused";
/// The most characters of a list's id.
const ID_CHARACTERS: usize = 64;

/// The state of a list that is not both shown and used.
#[derive(Clone, Debug, Eq, PartialEq)]
enum ListState {
    Announced(u64),
    /// Since then nobody knows whether it was done.
    Sought(u64),
    /// The list with this id was made then.
    Made(String, u64),
    /// The list with this id is there, and no listener may use it.
    Unused(String),
    /// None is needed so far: the load balancer is new, and has the parts that this number says.
    Parts(u64),
}

/// The list that neither lists nor listeners may tell of.
#[derive(Debug, Default)]
pub(super) struct AccessMemo {
    known: RefCell<Option<ListState>>,
    /// When it was announced, if this call is the first that has the announcement.
    announced: Cell<Option<u64>>,
    /// The parts of a load balancer that is new.
    pub(super) parts: NewParts,
}

impl AccessMemo {
    /// The Service with the bare id for memo, and what stood behind it.
    pub(super) fn split(service: &LoadBalancer, now: u64) -> (LoadBalancer, Self) {
        let own = Self::default();
        let split = service.memo.as_deref().and_then(|it| it.split_once(' ')).filter(|(id, _)| id.starts_with(ID));
        let Some((id, known)) = split.and_then(|(id, words)| Some((id, ListState::from_word(words)?))) else {
            return (service.clone(), own);
        };
        match known {
            ListState::Announced(at) if service.is_memo_new() => own.announced.set(Some(at)),
            // An earlier call may have sent it, and when, nobody knows.
            ListState::Announced(_) => own.seek(now),
            ListState::Parts(number) => own.parts.0.set(Some(number).filter(|_| service.is_memo_new())),
            known => _ = own.known.replace(Some(known)),
        }
        (LoadBalancer { memo: Some(id.to_owned()), ..service.clone() }, own)
    }

    /// Lets this call send the creation, which was announced at the time that it answers.
    ///
    /// # Errors
    ///
    /// Why it must not be sent: it is announced by now, or may have been sent before.
    pub(super) fn begin(&self, now: u64) -> Result<u64, String> {
        if let Some(at) = self.announced.take() {
            return Ok(at);
        }
        Err(self.known.borrow_mut().get_or_insert(ListState::Announced(now)).waits())
    }

    /// Announces it once more: nothing was sent that the cloud has taken. `at` is when it was announced before.
    pub(super) fn announce_again(&self, at: u64, now: u64) {
        self.known.replace(Some(ListState::Announced(now.max(at.saturating_add(1)))));
    }

    /// Whether the call before has made the load balancer, or a part of it.
    pub(super) fn is_new(&self) -> bool {
        self.parts.0.get().is_some()
    }

    /// Lets the next call know how many parts a new load balancer has, which were made for what has this fingerprint.
    pub(super) fn give_parts(&self, fingerprint: u64, parts: usize) {
        self.known.replace(Some(ListState::Parts(self.parts.next(fingerprint, parts))));
    }

    /// Looks for a list from now on that may have been made.
    pub(super) fn seek(&self, now: u64) {
        self.known.replace(Some(ListState::Sought(now)));
    }

    /// Remembers a list that was made now.
    pub(super) fn made(&self, id: &str, now: u64) {
        match is_list(id) {
            true => _ = self.known.replace(Some(ListState::Made(id.to_owned(), now))),
            false => self.seek(now),
        }
    }

    /// Remembers a list that listeners do not use yet, or stop to use: calls look for it from now on. Answers whether the memo does not say so
    /// already, in these words or in others.
    pub(super) fn remember_unused(&self, id: &str) -> bool {
        let is_new = self.known.borrow().is_none() && is_list(id);
        if is_new {
            self.known.replace(Some(ListState::Unused(id.to_owned())));
        }
        is_new
    }

    /// Forgets that no listener may use a list: they tell of it by now.
    pub(super) fn forget_unused(&self, id: &str) {
        let known = self.known.take().filter(|it| !matches!(it, ListState::Unused(own) if own == id));
        self.known.replace(known);
    }

    /// Forgets a new list that is shown by now, or has had so long to be shown. Answers the id of one that is there and is not among them.
    pub(super) fn look(&self, shown: &[String], now: u64, longest: Duration) -> Option<String> {
        let is_over = |since: u64| now.saturating_sub(since) >= longest.as_secs();
        let known = self.known.take();
        let (unshown, is_known) = match &known {
            Some(ListState::Made(id, _)) if shown.contains(id) => (None, false),
            Some(ListState::Made(id, since)) => (Some(id.clone()), !is_over(*since)),
            Some(ListState::Sought(since)) => (None, shown.is_empty() && !is_over(*since)),
            Some(ListState::Unused(id)) => (Some(id.clone()).filter(|it| !shown.contains(it)), true),
            Some(ListState::Announced(_) | ListState::Parts(_)) | None => (None, true),
        };
        self.known.replace(known.filter(|_| is_known));
        unshown
    }

    /// Forgets a list that is gone.
    pub(super) fn forget(&self, id: &str) {
        let is_it = |it: &ListState| matches!(it, ListState::Made(own, _) | ListState::Unused(own) if own == id);
        let known = self.known.take().filter(|it| !is_it(it));
        self.known.replace(known);
    }

    /// The list of access for which a call waits that is otherwise done.
    pub(super) fn waits(&self) -> Option<String> {
        self.known.borrow().as_ref().map(ListState::waits)
    }
}

impl MemoWords for AccessMemo {
    fn memo(&self, id: String) -> String {
        match self.known.borrow().as_ref() {
            Some(known) if id.starts_with(ID) => format!("{id} {}", known.word()),
            _ => id,
        }
    }
}

/// Whether a memo has room for the id of a list.
fn is_list(id: &str) -> bool {
    let has_room = (1..=ID_CHARACTERS).contains(&id.len());
    has_room && id.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}

impl ListState {
    /// `None` for what this provider has not written.
    fn from_word(word: &str) -> Option<Self> {
        let (kind, rest) = word.split_once(':')?;
        if kind == UNUSED {
            return is_list(rest).then(|| Self::Unused(rest.to_owned()));
        }
        let time = rest.parse().ok()?;
        Some(match kind {
            ANNOUNCED => Self::Announced(time),
            SOUGHT => Self::Sought(time),
            NEW => Self::Parts(time),
            id if id.is_empty() || id.contains(' ') => return None,
            id => Self::Made(id.to_owned(), time),
        })
    }

    fn waits(&self) -> String {
        match self {
            Self::Announced(_) => "its list of access is about to be made".to_owned(),
            Self::Parts(_) => String::new(),
            Self::Sought(_) => {
                "its list of access may have been made, and may be listed late: it is looked for".to_owned()
            }
            Self::Made(id, _) => format!("its list of access {id} is not listed yet"),
            Self::Unused(id) => format!("its list of access {id} goes once no listener uses it"),
        }
    }

    fn word(&self) -> String {
        match self {
            Self::Announced(at) => format!("{ANNOUNCED}:{at}"),
            Self::Sought(since) => format!("{SOUGHT}:{since}"),
            Self::Parts(number) => format!("{NEW}:{number}"),
            Self::Made(id, since) => format!("{id}:{since}"),
            Self::Unused(id) => format!("{UNUSED}:{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(60);

    /// The memo as a call at second 100 reads it.
    fn known(memo: &str, is_new: bool) -> AccessMemo {
        let service = LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11");
        let extra = if is_new { vec![("host.new-memo".to_owned(), "true".to_owned())] } else { Vec::new() };
        let (bare, known) = AccessMemo::split(&LoadBalancer { memo: Some(memo.to_owned()), extra, ..service }, 100);
        assert_eq!(bare.memo.as_deref(), Some("lb-1"), "{memo}");
        known
    }

    fn memo(known: &AccessMemo) -> String {
        known.memo("lb-1".to_owned())
    }

    #[test]
    fn lists_that_are_not_shown_stand_behind_the_id() {
        for it in ["lb-1", "lb-1 sought:17", "lb-1 acl-2:17", "lb-1 unused:acl-2", "lb-1 unused:17"] {
            assert_eq!(memo(&known(it, false)), it);
        }
        let service = LoadBalancer::of("default", "web", "u");
        let odd = ["lb-1 acl-2:17 x", "lb-1 unused:", "lb-1 unused:a b", "lb-1 unused:a:17"];
        for other in
            ["lb-1 acl-2", "lb-1 acl-2:x", "lb-1 :17", "nlb-1 a:17", "lost web since 17"].into_iter().chain(odd)
        {
            let (whole, own) =
                AccessMemo::split(&LoadBalancer { memo: Some(other.to_owned()), ..service.clone() }, 100);
            assert_eq!(
                (whole.memo.as_deref(), own.waits()),
                (Some(other), None),
                "a memo of another provider is refused"
            );
            assert_eq!(own.memo("lb-1".to_owned()), "lb-1");
        }
    }

    #[test]
    fn parts_are_known_to_the_first_call_alone() {
        let parts = known("lb-1 new:0", true);
        assert_eq!((parts.parts.there(7), parts.waits(), memo(&parts)), (Some(0), None, "lb-1".to_owned()));
        parts.give_parts(0xff_0000, 2);
        assert_eq!(memo(&parts), "lb-1 new:16711682");
        assert_eq!(known("lb-1 new:16711682", true).parts.there(0xff_0000), Some(2));
        let again = known("lb-1 new:0", false);
        assert_eq!((again.parts.there(7), again.waits(), memo(&again)), (None, None, "lb-1".to_owned()));
    }

    #[test]
    fn a_list_is_made_by_the_first_call_with_its_announcement() {
        let first = known("lb-1", false);
        assert_eq!((first.begin(100).is_ok(), memo(&first)), (false, "lb-1 announced:100".to_owned()));
        let second = known("lb-1 announced:100", true);
        assert_eq!(memo(&second), "lb-1", "unless it is sent, it is announced no more");
        assert_eq!(second.begin(101), Ok(100));
        assert!(second.begin(101).is_err(), "it is sent once");
        let busy = known("lb-1 announced:100", true);
        busy.announce_again(100, 100);
        assert_eq!(memo(&busy), "lb-1 announced:101", "another announcement");
        let repeated = known("lb-1 announced:17", false);
        assert_eq!((repeated.begin(100).is_ok(), memo(&repeated)), (false, "lb-1 sought:100".to_owned()));
    }

    #[test]
    fn a_list_is_looked_for_until_it_is_shown_or_for_a_time() {
        let all = ["acl-1", "acl-2"].map(str::to_owned);
        for (it, shown, now, unshown, left) in [
            ("lb-1 sought:100", &all[..0], 159, None, "lb-1 sought:100"),
            ("lb-1 sought:100", &all[..0], 160, None, "lb-1"),
            ("lb-1 sought:100", &all[..1], 101, None, "lb-1"),
            ("lb-1 acl-2:100", &all[..1], 159, Some("acl-2"), "lb-1 acl-2:100"),
            ("lb-1 acl-2:100", &all[..1], 160, Some("acl-2"), "lb-1"),
            ("lb-1 acl-2:100", &all[..], 101, None, "lb-1"),
            ("lb-1", &all[..], 101, None, "lb-1"),
            ("lb-1 unused:acl-2", &all[..1], 900, Some("acl-2"), "lb-1 unused:acl-2"),
            ("lb-1 unused:acl-2", &all[..], 900, None, "lb-1 unused:acl-2"),
            // A clock that was set back.
            ("lb-1 sought:100", &all[..0], 10, None, "lb-1 sought:100"),
        ] {
            let own = known(it, false);
            assert_eq!(own.look(shown, now, LONGEST).as_deref(), unshown, "{it} {now}");
            assert_eq!((memo(&own).as_str(), own.waits().is_some()), (left, left != "lb-1"), "{it} {now}");
        }
    }

    #[test]
    fn a_list_that_was_made_is_known_by_its_id() {
        let own = known("lb-1", false);
        own.made("acl-2", 100);
        own.forget("acl-1");
        assert_eq!(memo(&own), "lb-1 acl-2:100");
        own.forget("acl-2");
        assert_eq!(memo(&own), "lb-1");
        for odd in ["acl 2", "acl:2", &"a".repeat(65)] {
            own.made(odd, 100);
            assert_eq!(memo(&own), "lb-1 sought:100", "{odd}");
        }
    }

    #[test]
    fn a_list_that_no_listener_uses_is_known_until_one_does() {
        let own = known("lb-1", false);
        assert!(own.remember_unused("acl-2"), "the host has to keep it");
        assert!(!own.remember_unused("acl-3"), "one of them is enough");
        own.forget("acl-3");
        own.forget_unused("acl-3");
        assert_eq!(memo(&own), "lb-1 unused:acl-2");
        own.forget_unused("acl-2");
        assert_eq!(memo(&own), "lb-1");
        own.remember_unused("acl-2");
        own.forget("acl-2");
        assert_eq!(memo(&own), "lb-1");
        let made = known("lb-1 acl-2:100", false);
        assert!(!made.remember_unused("acl-2"), "it is known as one that was made");
        made.forget_unused("acl-2");
        assert_eq!(memo(&made), "lb-1 acl-2:100", "whether it is used or not, it is not shown yet");
        let odd = known("lb-1", false);
        assert!(!odd.remember_unused("acl 2") && !odd.remember_unused(""), "a memo has no room for it");
        assert_eq!(memo(&odd), "lb-1");
    }
}
