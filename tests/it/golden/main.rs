//! Recordings of upstream's controllers, played against aerostat: `tests/golden` says what they are.
//!
//! `GOLDEN_DIR=…` plays another folder of the same format as well. Recordings that cannot be played are named and left
//! out (`scenario/about.rs` says which).

mod ahead;
mod better;
mod compare;
mod desired;
mod events;
mod run;
mod scenario;
mod state;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::{StreamExt, stream};
use tests::control_plane::cluster;

use crate::run::Play;
use crate::scenario::{Recording, Scenario};

/// How long after a recording's last second a slow machine may still do what was expected.
const GRACE: Duration = Duration::from_secs(10);

/// So many recordings are played at the same time.
const SIDE_BY_SIDE: usize = 3;

/// How one recording compared.
struct Verdict {
    name: String,
    /// Where we aim at more than was recorded.
    better: Vec<String>,
    /// Why it was left out.
    left_out: Option<&'static str>,
    differences: Vec<String>,
}

/// Plays a file and compares.
async fn play(path: &Path) -> Result<Verdict> {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let mut scenario = match Scenario::read(path)? {
        Recording::Played(scenario) => scenario,
        Recording::LeftOut(reason) => {
            return Ok(Verdict { name, better: Vec::new(), left_out: Some(reason), differences: Vec::new() });
        }
    };
    let better = better::adjust(&mut scenario);
    let cluster = cluster().await;
    let mut play = Play::through(&scenario, &cluster).await?;
    let deadline = Instant::now() + GRACE;
    let differences = loop {
        let differences = compare::differences(&scenario, &play.observed().await?);
        if differences.is_empty() || Instant::now() > deadline {
            break differences;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    };
    play.stop().await?;
    Ok(Verdict { name, better, left_out: None, differences })
}

fn vendored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/scenarios")
}

/// The recordings of a folder, or of its folder `scenarios`, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let inner = folder.join("scenarios");
    let folder = if inner.is_dir() { &inner } else { folder };
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let is_recording = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".json") && name.starts_with(|first: char| first.is_ascii_digit())
    };
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let mut files: Vec<_> = paths.filter(is_recording).collect();
    files.sort();
    files
}

fn report(verdict: &Verdict) -> String {
    let Verdict { name, better, left_out, differences } = verdict;
    let mut text = match left_out {
        Some(reason) => format!("left out   {name}: {reason}\n"),
        None if differences.is_empty() => format!("as recorded {name}\n"),
        None => format!("DIFFERENT  {name}\n"),
    };
    for reason in better {
        text.push_str(&format!("  better: {reason}\n"));
    }
    for difference in differences {
        text.push_str(&format!("  {}\n", difference.trim_end().replace('\n', "\n  ")));
    }
    text
}

async fn check(file: &'static str) {
    let verdict = ahead::verdict(file, VENDORED, &vendored()).await.expect("the recording is played");
    assert!(verdict.left_out.is_none(), "{}", report(&verdict));
    assert!(verdict.differences.is_empty(), "\n{}", report(&verdict));
    eprint!("{}", report(&verdict));
}

/// One test for each vendored recording.
macro_rules! recordings {
    ($($test:ident: $file:literal,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                check($file).await;
            }
        )+

        const VENDORED: &[&str] = &[$($file),+];
    };
}

recordings! {
    golden_01_basic: "01-node-init-basic.json",
    golden_02_present_at_start: "02-node-init-present-at-start.json",
    golden_03_two_taints: "03-node-init-two-taints.json",
    golden_04_untainted_nothing: "04-node-untainted-nothing.json",
    golden_06_no_provider_id: "06-node-init-no-providerid.json",
    golden_07_provider_id_kept: "07-node-init-providerid-kept.json",
    golden_08_empty_type_zone_region: "08-node-init-empty-type-zone-region.json",
    golden_09_additional_labels: "09-node-init-additional-labels.json",
    golden_11_provided_ip_bad: "11-node-init-provided-ip-bad.json",
    golden_12_address_merge: "12-node-init-address-merge.json",
    golden_13_error_back_off: "13-node-init-error-backoff.json",
    golden_14_instance_not_found: "14-node-init-instance-not-found.json",
    golden_16_put_forbidden: "16-node-init-put-forbidden.json",
    golden_17_status_patch_fails: "17-node-init-status-patch-fails.json",
    golden_18_hostname_kept: "18-node-init-hostname-kept.json",
    golden_19_zero_addresses: "19-node-init-zero-addresses.json",
    golden_21_update_event_bypasses_back_off: "21-node-init-update-event-bypasses-backoff.json",
    golden_22_label_reconcile: "22-label-reconcile.json",
    golden_23_label_reconcile_errors: "23-label-reconcile-errors.json",
    golden_24_address_change: "24-address-change.json",
    golden_26_hostname_and_empty: "26-address-hostname-and-empty.json",
    golden_27_address_loop_pass: "27-address-loop-pass.json",
    golden_28_address_loop_parallel: "28-address-loop-parallel.json",
    golden_29_metadata_null_after_init: "29-address-metadata-null-after-init.json",
    golden_31_shutdown_taint: "31-lifecycle-shutdown-taint.json",
    golden_32_lifecycle_errors: "32-lifecycle-errors.json",
    golden_33_delete_fails: "33-lifecycle-delete-fails.json",
    golden_34_taint_conflict: "34-lifecycle-taint-conflict.json",
    golden_36_service_create: "36-service-create.json",
    golden_37_service_existing_at_start: "37-service-existing-at-start.json",
    golden_38_service_status_shapes: "38-service-status-shapes.json",
    golden_39_service_change_triggers: "39-service-change-triggers.json",
    golden_41_service_delete: "41-service-delete.json",
    golden_42_service_delete_not_existing: "42-service-delete-not-existing.json",
    golden_43_service_delete_errors: "43-service-delete-errors.json",
    golden_44_service_delete_elsewhere: "44-service-delete-elsewhere.json",
    golden_46_service_ensure_error: "46-service-ensure-error.json",
    golden_47_service_ensure_error_long: "47-service-ensure-error-long.json",
    golden_48_service_retry_error: "48-service-retry-error.json",
    golden_49_service_elsewhere: "49-service-elsewhere.json",
    golden_51_service_zero_nodes: "51-service-zero-nodes.json",
    golden_52_service_node_set: "52-service-node-set.json",
    golden_53_service_node_deleting: "53-service-node-deleting.json",
    golden_54_service_update_errors: "54-service-update-errors.json",
    golden_56_service_etp_local_and_spec_fields: "56-service-etp-local-and-spec-fields.json",
    golden_57_service_foreign_finalizers: "57-service-foreign-finalizers.json",
    golden_58_service_finalizer_patch_fails: "58-service-finalizer-patch-fails.json",
    golden_59_service_status_patch_answers: "59-service-status-patch-answers.json",
    golden_61_service_recreated_same_name: "61-service-recreated-same-name.json",
    golden_62_service_serial_and_parallel: "62-service-serial-and-parallel.json",
    golden_63_service_update_and_ensure_overlap: "63-service-update-and-ensure-overlap.json",
    golden_64_route_create: "64-route-create.json",
    golden_66_route_node_without_pod_cidr: "66-route-node-without-podcidr.json",
    golden_67_route_swapped: "67-route-swapped.json",
    golden_69_route_create_fails: "69-route-create-fails.json",
    golden_71_route_conditions: "71-route-conditions.json",
    golden_72_route_spacing: "72-route-spacing.json",
    golden_73_route_dual_stack: "73-route-dual-stack.json",
    golden_74_route_spelling: "74-route-spelling.json",
}

#[test]
fn every_vendored_recording_has_a_test() {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let there: BTreeSet<_> = files(&vendored()).iter().map(name).collect();
    let tested: BTreeSet<_> = VENDORED.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(there, tested);
}

/// Recordings that upstream's lack, in their format: written by hand from its source, as the page of the recordings
/// says.
fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/own")
}

async fn check_own(file: &str) {
    let verdict = play(&own().join(file)).await.expect("the recording is played");
    assert!(verdict.left_out.is_none() && verdict.differences.is_empty(), "\n{}", report(&verdict));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_182_blackholes_of_a_recording_are_played() {
    check_own("01-route-blackhole.json").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_189_failing_lists_of_a_recording_are_played() {
    check_own("02-route-list-fails.json").await;
}

#[test]
fn every_own_recording_has_a_test() {
    assert_eq!(files(&own()).len(), 2);
}

/// Plays the folder in `GOLDEN_DIR`, if there is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_folder() {
    let Some(folder) = golden_dir() else {
        println!("GOLDEN_DIR is not set: there is no other folder to play");
        return;
    };
    let files = files(&folder);
    assert!(!files.is_empty(), "there is no recording in {}", folder.display());
    let plays = stream::iter(&files).map(async |file| (file, play(file).await));
    let mut plays = std::pin::pin!(plays.buffer_unordered(SIDE_BY_SIDE));
    let mut failed = 0;
    while let Some((file, verdict)) = plays.next().await {
        match verdict {
            Ok(verdict) => {
                failed += usize::from(!verdict.differences.is_empty());
                print!("{}", report(&verdict));
            }
            Err(error) => {
                failed += 1;
                println!("NOT PLAYED {}: {error:#}", file.display());
            }
        }
    }
    assert_eq!(failed, 0, "recordings that are not as recorded");
}

#[expect(clippy::disallowed_methods, reason = "which other folder to play is said when the tests are started")]
fn golden_dir() -> Option<PathBuf> {
    std::env::var_os("GOLDEN_DIR").map(PathBuf::from)
}
