//! A provider that lies about volumes: nothing it says is written, and nobody else waits.

use std::time::Instant;

use serde_json::{Value, json};
use tests::guests;
use tests::operator::Setup;
use tests::wait;

use crate::setup::{NO_CONTROLLER, Webhook, cluster};
use crate::volumes::{ZONE, create, events, labels, node_affinity, placed, volume};

const DRIVER: &str = "csi.lying.example";
/// Handles about which it answers wrongly, and what is said of that.
const LIES: [(&str, &str); 6] = [
    ("too-few", "0 answers for 1 questions"),
    ("crash", "crash"),
    ("many-zones", "17 zones"),
    ("forged-zone", "zone"),
    ("forged-label", "is no label"),
    ("many-places", "17 places"),
];

#[tokio::test]
async fn lies_about_volumes_are_refused_at_creation() {
    let cluster = cluster().await;
    let webhook = Webhook::new(Setup::guest(&cluster, guests::LYING).flags(&[NO_CONTROLLER]));
    let process = webhook.started().await;
    webhook.register(&cluster, DRIVER, &webhook.authority).await;
    for (handle, part) in LIES {
        let Err(kube::Error::Api(status)) = create(&cluster, &volume(handle, DRIVER)).await else {
            panic!("{handle} is created")
        };
        assert!(status.code == 403 && status.message.contains(part), "{handle}: {status:?}");
        assert!(status.message.contains(&format!("error querying volume {handle}: ")), "{status:?}");
        assert!(!status.message.contains('\n'), "{status:?}");
    }
    assert_eq!(labels(&create(&cluster, &volume("honest", DRIVER)).await.unwrap())[ZONE], json!("z1"));
    let pv = create(&cluster, &volume("nowhere", DRIVER)).await.unwrap();
    assert_eq!((labels(&pv), node_affinity(&pv)), (json!(null), json!(null)));
    process.stop().await;
}

#[tokio::test]
async fn lies_about_volumes_are_events_of_the_controller() {
    let cluster = cluster().await;
    for (handle, _) in LIES {
        create(&cluster, &volume(handle, DRIVER)).await.unwrap();
    }
    let setup = Setup::guest(&cluster, guests::LYING).flags(&["--controllers=pvlabel"]);
    let mut process = setup.start();
    process.says("started persistentvolume-label-controller").await;
    for (handle, part) in LIES {
        // Asked about together, one spoils the answer about all. Alone each gets its own.
        wait::until(&format!("an event about {handle} says {part}"), async || {
            let told = events(&cluster, handle).await.into_iter().filter_map(|it| it.message);
            told.into_iter().find(|it| it.contains(part) && !it.contains("6 questions"))
        })
        .await;
    }
    create(&cluster, &volume("honest", DRIVER)).await.unwrap();
    placed(&cluster, "honest").await;
    process.stop().await;
}

/// A volume with another handle than its name.
fn with_handle(name: &str, handle: &str) -> Value {
    let mut pv = volume(name, DRIVER);
    pv["spec"]["csi"]["volumeHandle"] = json!(handle);
    pv
}

/// The author of a volume chooses its handle, also that of another's.
#[tokio::test]
async fn adv_103_a_crash_over_a_handle_sets_no_namesake_aside() {
    let cluster = cluster().await;
    let webhook = Webhook::new(Setup::guest(&cluster, guests::LYING).flags(&[NO_CONTROLLER]));
    let process = webhook.started().await;
    for part in ["panicked at", "set aside"] {
        let refused = webhook.review(&with_handle("pv-1", "crash")).await;
        assert!(refused["status"]["message"].as_str().unwrap().contains(part), "{refused}");
    }
    let honest = webhook.review(&with_handle("pv-1", "honest")).await;
    assert!(honest["patch"].is_string(), "{honest}");
    process.stop().await;
}

#[tokio::test]
async fn adv_103_a_user_whose_volumes_crash_stops_no_other() {
    const TRIES: usize = 60;
    let cluster = cluster().await;
    let webhook = Webhook::new(Setup::guest(&cluster, guests::LYING).flags(&[NO_CONTROLLER]));
    let process = webhook.started().await;
    let began = Instant::now();
    let mut asked = 0;
    for nth in 0..TRIES {
        let refused = webhook.review_as("mallory", &with_handle(&format!("pv-{nth}"), "crash")).await;
        match refused["status"]["code"].as_u64() {
            Some(403) => asked += 1,
            Some(429) => {
                let message = refused["status"]["message"].as_str().unwrap();
                assert!(message.contains("crashed over too many of your volumes"), "{message}");
            }
            _ => panic!("not refused: {refused}"),
        }
    }
    let regained = usize::try_from(began.elapsed().as_secs() / 6 + 1).unwrap();
    assert!((20..=20 + regained).contains(&asked), "the provider was asked {asked} times of {TRIES}");
    let honest = webhook.review_as("alice", &with_handle("pv-1", "honest")).await;
    assert!(honest["patch"].is_string(), "{honest}");
    process.stop().await;
}
