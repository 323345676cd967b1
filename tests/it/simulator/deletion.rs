//! Deletion of load balancers, and the texts of errors.

use std::time::Duration;

use serde_json::json;
use tests::clouds::digitalocean::{Droplet, Owner, Simulator};

use crate::creation::{ID, ONE, create, desired, show, two, want};
use crate::table::{Step, delete, get, play, put, row, then};

#[tokio::test]
async fn deletion_at_digitalocean() {
    let freed_late =
        |by: Duration| then(move |it: &Simulator, _| it.load_balancers().behave(|it| it.names_freed_late_by = by));
    let taken = "There is already a load balancer with that name";
    let other = "/v2/load_balancers/$other";
    let account = |team: &str| get("/v2/account").is(200, json!({ "account": { "team": { "uuid": team } } }));
    let droplets = |ids: &[u64]| {
        let ids: serde_json::Value = ids.iter().map(|it| json!({ "id": it })).collect();
        get("/v2/droplets").is(200, json!({ "droplets": ids }))
    };
    let error = |step: Step<_>, status, id: &str| {
        step.is(status, json!({ "id": id })).headers([("x-request-id", "/request_id")])
    };
    play([
        row("an error names the request", two()).asks([
            error(get(format!("/v2/load_balancers/{ID}")), 404, "not_found"),
            error(want(desired("-")), 422, "unprocessable_entity"),
        ]),
        row("what is deleted is gone", two()).asks([
            create("$id", desired("web")),
            delete(ONE).is(204, json!(null)),
            then(|it: &Simulator, _| assert_eq!(it.load_balancers().all().len(), 0)),
            delete(ONE).status(404),
            get(ONE).status(404),
            create("$again", desired("web")),
        ]),
        row("the name of a deleted load balancer is freed late", two()).asks([
            freed_late(Duration::from_hours(1)),
            create("$id", desired("web")),
            create("$other", desired("other")),
            delete(ONE).status(204),
            get("/v2/load_balancers").is(200, json!({ "meta": { "total": 1 } })),
            want(desired("web")).refused(422, taken),
            put(other, desired("web")).refused(422, taken),
            freed_late(Duration::ZERO),
            put(other, desired("web")).status(200),
        ]),
        row("another account has other things", two()).asks([
            create("$id", desired("web")),
            account("$ours"),
            then(|it: &Simulator, _| it.set_owner(Owner::Other)),
            get(ONE).status(404),
            droplets(&[]),
            account("$theirs"),
            then(|_, known| assert_ne!(known["$ours"], known["$theirs"])),
            delete(ONE).status(404),
            then(|it: &Simulator, _| it.other_account().droplets().insert(Droplet::new(1, "worker-1"))),
            droplets(&[1]),
            then(|it: &Simulator, _| it.set_owner(Owner::Us)),
            show(json!({ "name": "web" })),
            then(|it: &Simulator, _| assert_eq!(it.other_account().load_balancers().all().len(), 0)),
        ]),
    ])
    .await;
}
