//! Droplets one by one, and in pages.

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Droplet, Options, Simulator, Status};
use tests::simulator::Cloud;

use crate::client::{get_with, simulator};
use crate::table::{Step, get, play, row, then};

/// A list with these droplets, and what else is in it.
fn droplets<C: Cloud>(query: &str, ids: impl IntoIterator<Item = u64>, also: Value) -> Step<C> {
    let ids: Value = ids.into_iter().map(|it| json!({ "id": it })).collect();
    let mut expected = json!({ "droplets": ids });
    expected.as_object_mut().unwrap().extend(also.as_object().unwrap().clone());
    get(format!("/v2/droplets{query}")).is(200, expected)
}

/// A droplet as it is shown.
fn droplet<C: Cloud>(id: u64, expected: Value) -> Step<C> {
    get(format!("/v2/droplets/{id}")).is(200, json!({ "droplet": expected }))
}

async fn with(last: u64) -> Simulator {
    simulator(Options::default(), 1, last).await
}

#[tokio::test]
async fn lists_of_droplets() {
    let public = |page: u32| format!("https://api.digitalocean.com/v2/droplets?page={page}&per_page=200");
    let pages = |links: Value| json!({ "meta": { "total": 450 }, "links": { "pages": links } });
    let first = json!({ "first": null, "prev": null, "next": public(2), "last": public(3) });
    let middle = json!({ "first": public(1), "prev": public(1), "next": public(3), "last": public(3) });
    let last = json!({ "first": public(1), "prev": public(2), "next": null, "last": null });
    let next = "https://api.digitalocean.com/v2/droplets?name=web-1&page=2&per_page=1";
    let filtered = [
        ("", vec![1, 2, 3]),
        ("?name=Web-1", vec![1, 3]),
        ("?name=web", vec![]),
        ("?tag_name=k8s", vec![1]),
        ("?tag_name=k8s%3Ac1", vec![1]),
        ("?type=droplets", vec![1, 2, 3]),
        ("?type=gpus", vec![4]),
        ("?type=gpus&name=web-1", vec![4]),
        ("?type=gpus&name=web-2", vec![]),
    ];
    let refused = ["?tag_name=k8s&name=web-1", "?tag_name=k8s&type=gpus"];
    let refused = refused.map(|it| get(format!("/v2/droplets{it}")).is(400, json!({ "id": "bad_request" })));
    play([
        row("pages are cut by offset and link to the public service", with(450)).asks([
            droplets("?page=1&per_page=200", 1..=200, pages(first)),
            droplets("?page=2&per_page=200", 201..=400, pages(middle)),
            droplets("?page=3&per_page=200", 401..=450, pages(last)),
            droplets("?page=4&per_page=200", [], json!({})),
            // A droplet that goes away between two pages moves all that follow it.
            then(|it: &Simulator, _| it.droplets().remove(1)),
            droplets("?page=2&per_page=200", 202..=401, json!({})),
        ]),
        row("a page holds twenty droplets unless asked otherwise", with(21)).asks([
            droplets("", 1..=20, json!({})),
            droplets("?per_page=21", 1..=21, json!({ "links": { "pages": null } })),
        ]),
        row("filters choose by name, tag and kind", with(0))
            .asks([then(|simulator: &Simulator, _| {
                for droplet in [
                    Droplet::new(1, "web-1").tag("k8s").tag("k8s:c1"),
                    Droplet::new(2, "web-10").tag("k8s:c10"),
                    Droplet::new(3, "WEB-1"),
                    Droplet::new(4, "web-1").gpu().tag("k8s"),
                    Droplet::new(5, "web-1").unlisted().tag("k8s"),
                ] {
                    simulator.droplets().insert(droplet);
                }
            })])
            .asks(filtered.map(|(query, ids)| droplets(query, ids, json!({}))))
            .asks(refused)
            .asks([droplets("?name=web-1&per_page=1", [1], json!({ "links": { "pages": { "next": next } } }))]),
        row("a droplet that no list shows can be asked for by id", with(3)).asks([
            then(|it: &Simulator, _| it.droplets().update(2, |it| it.listed = false)),
            droplets("", [1, 3], json!({ "meta": { "total": 2 } })),
            droplet(2, json!({})),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn droplets_one_by_one() {
    let networks = json!({
        "v4": [{}, { "ip_address": "10.0.0.42", "type": "private" }], "v6": [{ "ip_address": "2001:db8::42" }],
    });
    let whole = json!({
        "id": 42, "status": "active", "size_slug": "s-2vcpu-4gb", "vcpus": 2, "memory": 4096,
        "region": { "slug": "fra1" }, "networks": networks,
    });
    let team = json!({ "account": { "team": { "uuid": "5df3e3004a17e242b7c20ca6c9fc25b701a47ece" } } });
    play([
        row("a droplet is shown whole and as it is now", simulator(Options::default(), 42, 42)).asks([
            then(|simulator: &Simulator, _| {
                simulator.droplets().update(42, |it| it.public_v6 = vec!["2001:db8::42".parse().unwrap()])
            }),
            droplet(42, whole),
            then(|it: &Simulator, _| it.droplets().update(42, |it| it.status = Status::Off)),
            droplet(42, json!({ "status": "off" })),
            then(|it: &Simulator, _| it.droplets().remove(42)),
            get("/v2/droplets/42").is(404, json!({ "id": "not_found" })),
        ]),
        row("every kind of droplet is as the description says", with(1))
            .asks([then(|simulator: &Simulator, _| {
                let droplets = simulator.droplets();
                for (id, status) in [(2, Status::New), (3, Status::Off), (4, Status::Archive)] {
                    droplets.insert(Droplet::new(id, "worker").status(status).private_v4([]).public_v4([]));
                }
                droplets.insert(Droplet::new(5, "worker").gpu().tag("env:prod").size("g-8vcpu-32gb"));
                let v6 = ["2001:db8::6".parse().unwrap()];
                droplets.insert(Droplet::new(6, "worker").public_v6(v6).region("nyc3"));
            })])
            .also((1..=6).map(|it| droplet(it, json!({}))))
            .asks([then(|it: &Simulator, _| it.assert_valid())]),
        row("the account names its team", with(0)).asks([get("/v2/account").is(200, team)]),
    ])
    .await;
}

#[tokio::test]
async fn a_thousand_droplets_are_read_over_one_connection() {
    let simulator = simulator(Options::default(), 1, 1_000).await;
    let client = simulator.client(&["h2"]);
    let pages = (1..=5).map(|page| format!("/v2/droplets?page={page}&per_page=200"));
    let answers =
        futures::future::join_all(pages.map(async |path| get_with(&client, &simulator, &path).await.unwrap().ids()))
            .await;
    assert_eq!(answers.concat(), Vec::from_iter(1..=1_000));
}
