//! The fault that the operator has chosen.

use std::fmt;
use std::str::FromStr;

use aerostat_sdk::{Result, http, settings};
use serde::Deserialize;

use crate::API;

/// A fault, by the name that the setting gives it.
macro_rules! faults {
    ($($fault:ident = $name:literal: $doc:literal,)+) => {
        /// A promise that is broken.
        #[derive(Clone, Copy, Eq, PartialEq)]
        pub(crate) enum Fault {
            $( #[doc = $doc] $fault, )+
        }

        impl FromStr for Fault {
            type Err = Unknown;

            fn from_str(text: &str) -> std::result::Result<Self, Unknown> {
                match text {
                    $( $name => Ok(Self::$fault), )+
                    _ => Err(Unknown),
                }
            }
        }
    };
}

faults! {
    SecretSetting = "secret-setting": "A setting holds a token.",
    MovingAccount = "moving-account": "The account is another one each time.",
    NotFound = "unknown-machine": "A machine that is there is not found by its name.",
    NoneOnError = "none-on-error": "Any error about a machine means that it does not exist.",
    ErrorOnMissing = "error-on-missing": "A machine that does not exist is an error.",
    AlwaysRunning = "always-running": "A machine runs in every state.",
    OnePage = "one-page": "The list has no next page.",
    EndlessList = "endless-list": "The list begins again after its last page.",
    IgnoresLimit = "ignores-limit": "A page has all machines.",
    FoundByAddress = "found-by-address": "A machine is also found by an address of its node.",
    SilentGap = "silent-gap": "A page that cannot be read is an empty one.",
    CallForEach = "call-for-each": "A list asks about each machine.",
    OtherSpelling = "other-spelling": "A list spells ids in capitals.",
    OtherType = "other-type": "A list tells another type.",
    OneWord = "one-word": "All ids have one canonical word.",
    Unannounced = "unannounced": "A creation is sent before a memo is kept, and is not looked for.",
    NoMemo = "no-memo": "What is made is never remembered.",
    MemoLost = "memo-lost": "What was made is not remembered when it is ready.",
    NameOfService = "name-of-service": "A balancer is its Service's that has the Service's name.",
    ClaimsByName = "claims-by-name": "An annotation names the balancer that is taken.",
    DeletesByName = "deletes-by-name": "An annotation names the balancer that is deleted.",
    ClaimsByAddress = "claims-by-address": "loadBalancerIP names the balancer that is taken.",
    ForgedMarks = "forged-marks": "An author's labels take the place of marks.",
    WritesAgain = "writes-again": "Every call writes.",
    EndlessPending = "endless-pending": "It is never ready.",
    PollsInCall = "polls-in-call": "A call asks again and again until the balancer is ready.",
    HastyPending = "hasty-pending": "What takes time is to be asked about at once.",
    OneMemo = "one-memo": "All Services have one memo.",
    MovingMemo = "moving-memo": "The memo is another one each time.",
    FinalErrors = "final-errors": "All errors are the author's fault.",
    TriedForEver = "tried-for-ever": "No error is the author's fault.",
    SwallowedError = "swallowed-error": "A deletion that fails is done.",
    SharedMemo = "shared-memo": "Services that share a balancer have one memo.",
    EndsForAll = "ends-for-all": "The end of one Service deletes the balancer that others have parts in.",
    Leftover = "leftover": "A second balancer stays.",
    ErrorOnGone = "error-on-gone": "A balancer that is gone is an error.",
    StuckDeletion = "stuck-deletion": "A deletion is never done.",
    OtherNames = "other-names": "Balancers have other names than an earlier version gave them.",
    DropsLabels = "drops-labels": "What somebody has written on a balancer is overwritten.",
    Unlisted = "unlisted": "The inventory is empty.",
    ListsAll = "lists-all": "The inventory shows whatever there is.",
    KeptAsOrphan = "kept-as-orphan": "A balancer that is kept is listed as any other.",
    MovingRevision = "moving-revision": "Revisions change with time.",
    StuckRevision = "stuck-revision": "Revisions stay whatever changes.",
    EndlessRoute = "endless-route": "A route is never done.",
    BlindRoute = "blind-route": "A route is made without a look at those that are there.",
    UnlistedRoute = "unlisted-route": "The list lacks the last route.",
    SilentRouteGap = "silent-route-gap": "A page of routes that cannot be read is an empty one.",
    RewrittenRoute = "rewritten-route": "A route that is there is written again.",
    LeftoverRoute = "leftover-route": "A route is done, and stays when it is to go.",
    ClearedRoutes = "cleared-routes": "A deletion takes the routes of others, too.",
    OverwrittenRoute = "overwritten-route": "Nobody asks what a route was before.",
    AllOrNothing = "all-or-nothing": "One change that cannot be made fails its whole call.",
    UnknownVolume = "unknown-volume": "A volume that is there is not found.",
    VolumeNoneOnError = "volume-none-on-error": "Any error about a volume means that it does not exist.",
    ErrorOnMissingVolume = "error-on-missing-volume": "A volume that does not exist is an error.",
    OtherZone = "other-zone": "A volume's zone is spelled in capitals.",
    MixedVolumes = "mixed-volumes": "Answers about several volumes come in another order.",
}

/// A name that no fault has.
pub(crate) struct Unknown;

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no such fault")
    }
}

/// Whether this is the fault.
pub(crate) fn is(fault: Fault) -> Result<bool> {
    Ok(settings::find::<Fault>("fault")? == Some(fault))
}

/// A number of the cloud that is another one each time.
pub(crate) fn moment() -> Result<String> {
    let Clock { ticks } = http::get(API, ["clock"]).send()?.json()?;
    Ok(ticks.to_string())
}

#[derive(Deserialize)]
struct Clock {
    ticks: u64,
}
