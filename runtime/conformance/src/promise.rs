//! The promises of the contract: a name, the contract's sentence, where it stands, and who judges it.

use crate::judge::{
    PromiseJudgement, claims, description, errors, instances, inventory, lives, routes, shares, thefts, touched,
    versions, volumes,
};
use crate::transcript::Transcript;

/// A promise of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// As in a report, and in a simulator's `exceptions`.
    pub name: &'static str,
    /// The promise of a provider.
    pub sentence: &'static str,
    /// The page of the repository that says so.
    pub page: &'static str,
    /// Says where a transcript breaks it.
    pub(crate) judge: fn(&Transcript) -> PromiseJudgement,
}

/// A part of what is played, which needs no other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SuitePart {
    /// Questions about machines, one by one and in lists.
    Machines,
    /// Lives of load balancers, thefts, and what others change.
    LoadBalancers,
    /// Lists of load balancers.
    Inventory,
    /// Routes.
    Routes,
    /// Where volumes are, and volumes of claims.
    Volumes,
}

impl Promise {
    /// The part that has to be played so that it can be judged.
    #[must_use]
    pub fn part(&self) -> SuitePart {
        match self.page {
            PROVIDER | HTTP | INSTANCES => SuitePart::Machines,
            INVENTORY => SuitePart::Inventory,
            ROUTES => SuitePart::Routes,
            VOLUMES | CLAIMS => SuitePart::Volumes,
            _ => SuitePart::LoadBalancers,
        }
    }
}

const fn promise(
    name: &'static str,
    sentence: &'static str,
    page: &'static str,
    judge: fn(&Transcript) -> PromiseJudgement,
) -> Promise {
    Promise { name, sentence, page, judge }
}

const PROVIDER: &str = "wit/provider.wit";
const HTTP: &str = "wit/http.wit";
const INSTANCES: &str = "wit/instances.wit";
const BALANCERS: &str = "wit/load-balancers.wit";
const INVENTORY: &str = "wit/load-balancer-inventory.wit";
const ROUTES: &str = "wit/routes.wit";
const VOLUMES: &str = "wit/persistent-volumes.wit";
const CLAIMS: &str = "wit/volumes.wit";
const VERSIONS: &str = "wit/README.md#versions-of-a-provider";
const MARKS: &str = "wit/README.md#marks-of-ownership";

/// All promises that are tried, in the order of a report.
pub const PROMISES: &[Promise] = &[
    promise(
        "settings-hold-no-secret",
        "Settings hold no secret: credentials belong to the host, and no provider sees one.",
        PROVIDER,
        description::settings_hold_no_secret,
    ),
    promise(
        "requests-are-the-vendors",
        "Every request is one that the vendor's API knows.",
        HTTP,
        description::requests_are_the_vendors,
    ),
    promise(
        "account-stays",
        "The account is the same for as long as the same machines can be seen.",
        PROVIDER,
        instances::account_stays,
    ),
    promise(
        "machine-is-found",
        "get finds a machine by its node's name, and by its provider id.",
        INSTANCES,
        instances::machine_is_found,
    ),
    promise(
        "none-only-when-certain",
        "ok(none) means that the cloud is certain that the machine does not exist: its node will be deleted.",
        INSTANCES,
        instances::none_only_when_certain,
    ),
    promise(
        "none-when-gone",
        "A machine that does not exist is ok(none), and no error.",
        INSTANCES,
        instances::none_when_gone,
    ),
    promise(
        "stopped-is-told",
        "A machine that was shut down is stopped, and one that runs is running.",
        INSTANCES,
        instances::stopped_is_told,
    ),
    promise(
        "list-is-complete",
        "The pages of the list hold every machine once, and end.",
        INSTANCES,
        instances::list_is_complete,
    ),
    promise(
        "list-keeps-its-limit",
        "A page holds no more machines than were asked for.",
        INSTANCES,
        instances::list_keeps_its_limit,
    ),
    promise(
        "list-tells-its-gaps",
        "A page that may lack machines says so, or is an error.",
        INSTANCES,
        instances::list_tells_its_gaps,
    ),
    promise(
        "list-is-cheap",
        "A list costs a request for each page, and not one for each machine.",
        INSTANCES,
        instances::list_is_cheap,
    ),
    promise(
        "list-and-get-agree",
        "A machine is the same in a list and in an answer about it alone.",
        INSTANCES,
        instances::list_and_get_agree,
    ),
    promise(
        "ids-are-stable",
        "A machine's provider id is the same in every answer.",
        INSTANCES,
        instances::ids_are_stable,
    ),
    promise(
        "canonical-ids-tell-apart",
        "One machine's id has one canonical word, and another machine's another.",
        INSTANCES,
        instances::canonical_ids_tell_apart,
    ),
    promise(
        "ensure-converges",
        "Safe to repeat and safe to lose: ensure ends as ready, whatever was lost on the way.",
        BALANCERS,
        lives::ensure_converges,
    ),
    promise(
        "nothing-twice",
        "What an earlier call made is found again, and never made twice.",
        BALANCERS,
        lives::nothing_twice,
    ),
    promise(
        "creation-is-announced",
        "Every write leaves a memo, or stands under a name that holds the Service's UID.",
        BALANCERS,
        lives::creation_is_announced,
    ),
    promise(
        "ready-writes-nothing",
        "ensure reads first and writes only what differs: what is ready is not written again.",
        BALANCERS,
        lives::ready_writes_nothing,
    ),
    promise(
        "pending-moves-on",
        "pending is no failure: each wait ends, and some call is the last.",
        BALANCERS,
        lives::pending_moves_on,
    ),
    promise(
        "waits-are-pending",
        "A call takes one step and says when to call again: none asks again and again until something is done, or to be called at once.",
        BALANCERS,
        lives::waits_are_pending,
    ),
    promise(
        "memo-is-kept",
        "The memo of one that is ready stays the same while nothing changes.",
        BALANCERS,
        lives::memo_is_kept,
    ),
    promise("memos-differ", "No two Services have the same memo.", BALANCERS, lives::memos_differ),
    promise(
        "errors-are-tried-again",
        "An error that passes is unavailable or retry-after, and not invalid or denied.",
        "wit/types.wit",
        errors::errors_are_tried_again,
    ),
    promise(
        "refusals-are-final",
        "What the cloud cannot do is invalid or denied: the host would try anything else again for ever.",
        "wit/types.wit",
        lives::refusals_are_final,
    ),
    promise(
        "delete-converges",
        "delete ends as done, whatever was lost on the way.",
        BALANCERS,
        lives::delete_converges,
    ),
    promise(
        "nothing-left",
        "done means that it is gone: nothing stays that was made for the Service.",
        BALANCERS,
        lives::nothing_left,
    ),
    promise(
        "done-only-when-gone",
        "delete is not done after a deletion that failed.",
        BALANCERS,
        lives::done_only_when_gone,
    ),
    promise("gone-is-done", "What is not there is done.", BALANCERS, lives::gone_is_done),
    promise(
        "others-are-untouched",
        "What cannot be proven to be the Service's is not touched, by ensure or by delete.",
        MARKS,
        thefts::others_are_untouched,
    ),
    promise(
        "one-end-leaves-the-others",
        "Services that share a load balancer have a part and a memo each: one's end takes its part away, and leaves the others'.",
        MARKS,
        shares::one_end_leaves_the_others,
    ),
    promise(
        "marks-are-not-forged",
        "No annotation writes the marks of ownership: an author's tags never take their place.",
        MARKS,
        thefts::marks_are_not_forged,
    ),
    promise(
        "versions-go-on",
        "What one version of the provider has begun, an older one goes on with, and the other way round.",
        VERSIONS,
        versions::versions_go_on,
    ),
    promise(
        "rest-stays",
        "What the provider has no word for stays as it is, also where an object is replaced as a whole.",
        BALANCERS,
        touched::rest_stays,
    ),
    promise(
        "inventory-shows-ours",
        "The inventory shows what was made for a Service, with this cluster's mark and the Service's.",
        INVENTORY,
        inventory::shows_ours,
    ),
    promise(
        "inventory-shows-ours-alone",
        "The inventory shows nothing that lacks this cluster's mark, and nothing that is gone.",
        INVENTORY,
        inventory::shows_ours_alone,
    ),
    promise(
        "kept-is-no-orphan",
        "What the cloud protects from its deletion is kept, and is listed as kept from then on.",
        INVENTORY,
        inventory::kept_is_no_orphan,
    ),
    promise(
        "revision-tells-changes",
        "A revision is another one whenever something has changed, and only then.",
        INVENTORY,
        inventory::revision_tells_changes,
    ),
    promise(
        "route-changes-converge",
        "Safe to repeat and safe to lose: each change of a route ends as done, whatever was lost on the way.",
        ROUTES,
        routes::changes_converge,
    ),
    promise(
        "route-is-made-once",
        "What an earlier call began is found in the cloud, and is not made twice.",
        ROUTES,
        routes::route_is_made_once,
    ),
    promise(
        "routes-are-listed",
        "The list shows what apply made, as next-hops spells it, on pages of any length, and nothing that is gone.",
        ROUTES,
        routes::routes_are_listed,
    ),
    promise(
        "route-list-tells-its-gaps",
        "After a read without an answer a page of routes says that it may lack some, or is an error.",
        ROUTES,
        routes::route_list_tells_its_gaps,
    ),
    promise(
        "done-route-is-not-written",
        "A change that is as desired is done, and writes nothing.",
        ROUTES,
        routes::done_route_is_not_written,
    ),
    promise(
        "deleted-route-is-gone",
        "done without after means that the route is gone: nothing stays that was made for it.",
        ROUTES,
        routes::deleted_route_is_gone,
    ),
    promise(
        "other-routes-stay",
        "A foreign route is never changed, never deleted, and never called ours.",
        ROUTES,
        routes::other_routes_stay,
    ),
    promise(
        "changed-route-is-refused",
        "Where something else is than before, after or nothing, a change is invalid, and nothing is touched.",
        ROUTES,
        routes::changed_route_is_refused,
    ),
    promise(
        "bad-change-stands-alone",
        "There is one answer for each change: one that cannot be made does not hold up the others of its call.",
        ROUTES,
        routes::bad_change_stands_alone,
    ),
    promise(
        "volume-is-found",
        "get-topology finds a volume that exists, and says where it is.",
        VOLUMES,
        volumes::volume_is_found,
    ),
    promise(
        "volume-none-only-when-certain",
        "ok(none) means that the cloud is certain that there is no such volume.",
        VOLUMES,
        volumes::volume_none_only_when_certain,
    ),
    promise(
        "volume-none-when-gone",
        "A volume that does not exist is ok(none), and no error, unless its handle itself says where it is.",
        VOLUMES,
        volumes::volume_none_when_gone,
    ),
    promise(
        "volume-speaks-as-machines",
        "A volume's region and zones are in the same words as an instance's.",
        VOLUMES,
        volumes::volume_speaks_as_machines,
    ),
    promise(
        "volume-answers-agree",
        "There is one answer for each volume, in the same order, and it is the same alone and among others.",
        VOLUMES,
        volumes::volume_answers_agree,
    ),
    promise(
        "volume-steps-converge",
        "Safe to repeat and safe to lose: a volume is made, attached, enlarged, detached and deleted or abandoned, whatever was lost.",
        CLAIMS,
        claims::volume_steps_converge,
    ),
    promise(
        "volume-is-made-once",
        "What an earlier call of create made is found again, and never made twice.",
        CLAIMS,
        claims::volume_is_made_once,
    ),
    promise(
        "settled-volume-is-not-written",
        "A volume that is as desired is answered as before, and nothing is written.",
        CLAIMS,
        claims::settled_volume_is_not_written,
    ),
    promise(
        "attached-volume-is-not-moved",
        "A volume that is attached elsewhere is occupied, and is not moved.",
        CLAIMS,
        claims::attached_volume_is_not_moved,
    ),
    promise(
        "used-volume-is-not-deleted",
        "A volume in use is not deleted, and nothing is detached for that.",
        CLAIMS,
        claims::used_volume_is_not_deleted,
    ),
    promise(
        "volume-is-where-it-says",
        "An attached volume is told at its machine; after detach it is not there, nor about to be; after delete or abandon it is gone.",
        CLAIMS,
        claims::volume_is_where_it_says,
    ),
    promise(
        "volume-grows-and-never-shrinks",
        "expand takes a volume to as many bytes at least; one that has more is ready, and nothing shrinks.",
        CLAIMS,
        claims::volume_grows_and_never_shrinks,
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn promises_are_in_the_table_of_their_page() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
        let text = std::fs::read_to_string(page).unwrap();
        let told: Vec<_> = text.lines().filter(|it| it.starts_with("| [`")).collect();
        let row = |Promise { name, sentence, page, .. }: &Promise| format!("| [`{name}`](../{page}) | {sentence} |");
        let rows: Vec<_> = PROMISES.iter().map(row).collect();
        assert_eq!(told, rows, "docs/conformance.md has not these rows:\n{}", rows.join("\n"));
    }

    #[test]
    fn each_promise_has_a_name_and_a_page_of_its_own() {
        let names: BTreeSet<_> = PROMISES.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), PROMISES.len());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for Promise { name, sentence, page, .. } in PROMISES {
            assert!(name.bytes().all(|it| it.is_ascii_lowercase() || it == b'-'), "{name}");
            assert!(sentence.ends_with('.'), "{name}: {sentence}");
            assert!(root.join(page.split('#').next().unwrap_or(page)).is_file(), "{name}: there is no {page}");
        }
    }
}
