//! Claims from their creation over attachment, move and growth to their end, while the process is killed again and again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use tests::simulator::{Fault, Hold, Owner, Recorded};
use tests::vendor::manifest::volume_rules;
use tests::vendor::{Behaviour, BuiltDisk, DiskChange, DiskVendor};

use super::objects::{ClaimObjects, SeenClaims, growth, handle, is_bound, volume_name};
use crate::killed::{KilledProcess, RunEnd};
use crate::setup::{CloudRig, is_write, worker};

/// As many as machines: where they move, each machine lets one disk go and takes another.
const CLAIMS: u64 = 2;
const WORKERS: u64 = 2;
/// The claim that is deleted while its disk is being made.
const PASSING: &str = "passing";
/// Sizes in GiB: at first, and once the claims ask for more.
const SIZES: (u64, u64) = (10, 12);
/// One in so many requests goes wrong.
const ONE_IN: u64 = 12;
/// How late lists are. The provider looks for longer until it takes a disk for absent, and longer than lists are empty.
const LATE: Duration = Duration::from_secs(1);
const ABSENT: &str = "5s";
/// The process is killed at one of the next so many writes, or of the next so many requests.
const NEXT: (usize, usize) = (2, 10);
/// How long a trouble lasts once the process has met it.
const LASTS: Duration = Duration::from_millis(1_500);
/// How long the process may take to meet it: where it has nothing to ask, it never does.
const MEETS: Duration = Duration::from_secs(8);
/// How often objects and disks are looked at.
const LOOKS: Duration = Duration::from_millis(100);

/// A cluster and a cloud in which the process is killed, and claims.
pub(super) struct DiskCrash<V: DiskVendor> {
    rig: CloudRig<V>,
    objects: ClaimObjects,
    killed: KilledProcess,
    /// How often it is killed in a phase.
    kills: usize,
    /// The disks of the claims, by the claims' names.
    disks: BTreeMap<String, String>,
    /// How many phases there were: by that, troubles come by turns.
    phases: usize,
}

/// The state that the users desire for all claims.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd)]
enum DesiredClaims {
    /// Each has a disk.
    Made,
    /// Each disk is at the machine of its pod.
    Attached,
    /// Each disk is at the next machine.
    Moved,
    /// Each disk is larger.
    Grown,
    /// There are no claims any more.
    Gone,
}

use self::DesiredClaims::{Attached, Gone, Grown, Made, Moved};

/// The trouble into which the process is started after the last kill of a phase.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Trouble {
    /// Nothing but requests that fail and lists that are late.
    Usual,
    /// Lists without any disk.
    EmptyLists,
    /// The credential of another account.
    OtherAccount,
}

/// By turns. There are as many as phases, and one more: each comes to each phase in a long run.
const TROUBLES: [Trouble; 6] = [
    Trouble::EmptyLists,
    Trouble::Usual,
    Trouble::OtherAccount,
    Trouble::Usual,
    Trouble::EmptyLists,
    Trouble::OtherAccount,
];

impl<V: DiskVendor> DiskCrash<V> {
    /// A cloud in which requests fail by seed, and a provider that works on volumes.
    pub(super) async fn start(kills: usize) -> Self {
        let mut killed = KilledProcess::new();
        let behaviour = Behaviour { has_other_account: true, lists_late_by: LATE, ..Behaviour::default() };
        let limits = json!({ "requestsPerSecond": 200, "total": "2s" });
        let rig = CloudRig::<V>::with(behaviour).await.settings(&[("volumes", "true"), ("createAgainAfter", ABSENT)]);
        let mut rig = rig.limits(&limits).flags(&["--controllers=volume-provisioner,volume-attacher,volume-expander"]);
        allow_volumes::<V>(&mut rig.setup.config);
        rig.cluster.follow("../docs/volumes.md").await;
        V::slow_disks(rig.cloud.account(), LATE);
        let objects = ClaimObjects::new(&rig.cluster.admin, V::DRIVER);
        objects.make_class().await;
        for id in 1..=WORKERS {
            rig.add_machine(id);
            objects.join(&worker(id), id, V::PLACE).await;
        }
        let mut process = rig.setup.start();
        process.says("started volume-expander").await;
        killed.begin(process);
        rig.cloud.set_chaos(Some(killed.chaos(ONE_IN)));
        Self { rig, objects, killed, kills, disks: BTreeMap::new(), phases: 0 }
    }

    /// Lets claims come and go until there were so many points at least.
    pub(super) async fn run(mut self, points: u64) {
        while self.killed.points < points {
            for desired in [Made, Attached, Moved, Grown, Gone] {
                self.reach(desired).await;
            }
        }
    }

    /// Changes the claims, and kills the process, until all claims are as desired.
    async fn reach(&mut self, desired: DesiredClaims) {
        let trouble = TROUBLES[self.phases % TROUBLES.len()];
        self.phases += 1;
        let mut hold = Some(self.hold());
        self.write(desired).await;
        let mut kills = 0;
        loop {
            let (rig, objects) = (&self.rig, &self.objects);
            let is_so = async || left(rig, objects, desired).await == 0;
            let end = self.killed.run(rig, &desired, hold.as_ref(), is_so).await;
            if desired == Made {
                self.delete_passing().await;
            }
            let left = left(&self.rig, &self.objects, desired).await;
            match end {
                RunEnd::Settled if left == 0 => break,
                RunEnd::Killed => {
                    self.killed.points += left;
                    self.check_no_double();
                    kills += 1;
                    // Requests on the way are lost, as with the machine.
                    hold.take().expect("the process was killed at it").cut();
                    if kills < self.kills {
                        hold = Some(self.hold());
                    } else {
                        self.meet(trouble, desired).await;
                    }
                }
                RunEnd::Settled | RunEnd::Ended => {}
            }
        }
        drop(hold);
        self.check(desired).await;
    }

    /// The request at which the process is killed next.
    fn hold(&mut self) -> Hold {
        self.killed.hold(&self.rig.cloud, is_about_disks::<V>, NEXT)
    }

    /// Writes what users do for this.
    async fn write(&self, desired: DesiredClaims) {
        for name in names() {
            match desired {
                Made => self.objects.claim(&name, &worker(1), &gibibytes(SIZES.0)).await,
                Grown => self.objects.ask(&name, &gibibytes(SIZES.1)).await,
                Gone => self.objects.delete(&name).await,
                // Their pods come and go, as the test plays them.
                Attached | Moved => {}
            }
        }
        if desired == Made {
            self.objects.claim(PASSING, &worker(1), &gibibytes(SIZES.0)).await;
        }
    }

    /// One of the claims goes, whether or not its disk is there.
    async fn delete_passing(&self) {
        if self.objects.look().await.claim(PASSING).is_some() {
            self.objects.delete(PASSING).await;
        }
    }

    /// Starts the process into a trouble, and ends that.
    async fn meet(&mut self, trouble: Trouble, desired: DesiredClaims) {
        let rig = &self.rig;
        let (asked, begun) = (rig.cloud.requests().len(), Instant::now());
        let (before, held) = (self.made_disks(), self.objects.look().await.held());
        match trouble {
            Trouble::Usual => return,
            Trouble::EmptyLists => rig.cloud.inject(Fault::empty_list("GET", V::DISKS)),
            Trouble::OtherAccount => V::belong_to(Owner::Other, &rig.cloud, &rig.setup),
        }
        let objects = &self.objects;
        let is_over = async || {
            tokio::time::sleep(LOOKS).await;
            objects.play(&objects.look().await, |name| pod_at(name, desired)).await;
            let requests = rig.cloud.requests_from(asked);
            let met = requests.first().map(|it| it.at.elapsed().unwrap_or_default() > LASTS);
            met.unwrap_or_else(|| begun.elapsed() > MEETS)
        };
        // Where it ends by itself meanwhile, the next one meets nothing.
        self.killed.run(rig, &trouble, None, is_over).await;
        let now = self.objects.look().await.held();
        if trouble == Trouble::OtherAccount {
            let written: Vec<_> = self.rig.cloud.requests_from(asked).into_iter().filter(is_write).collect();
            assert!(written.is_empty(), "with another account's credential: {written:#?}");
            assert_eq!(V::disks(self.rig.cloud.other_account()), []);
            let let_go: Vec<_> = held.iter().filter(|it| !now.contains(it)).collect();
            assert!(let_go.is_empty(), "another account does not have them, and they are taken for gone: {let_go:?}");
            assert_eq!(self.made_disks(), before);
            V::belong_to(Owner::Us, &self.rig.cloud, &self.rig.setup);
        }
        self.rig.cloud.clear_faults();
        let claims = self.objects.look().await.claims;
        let (owned, disks) = (Vec::from_iter(claims.iter().map(volume_name)), self.made_disks());
        let lost: Vec<_> = before.iter().filter(|it| owned.contains(&it.1) && !disks.contains(it)).collect();
        assert!(lost.is_empty(), "disks of claims are gone: {lost:?}");
    }

    /// The ids and names of all disks.
    fn made_disks(&self) -> Vec<(String, String)> {
        V::disks(self.rig.cloud.account()).into_iter().map(|it| (it.id, it.name)).collect()
    }

    async fn check(&mut self, desired: DesiredClaims) {
        let (seen, disks) = (self.objects.look().await, V::disks(self.rig.cloud.account()));
        let wrong = wrong(&seen, &disks, desired);
        assert!(wrong.is_empty(), "{wrong:#?}");
        let expected = if desired == Gone { 0 } else { CLAIMS };
        let counts = [seen.claims.len(), seen.volumes.len(), disks.len()];
        assert!(counts.iter().all(|it| *it as u64 == expected), "{counts:?} claims, volumes and disks: {disks:#?}");
        if desired == Made {
            let disk_of = |claim: &PersistentVolumeClaim| {
                let volume = seen.volume(claim).expect("each claim has a volume");
                (claim.name_any(), handle(volume).to_owned())
            };
            self.disks = seen.claims.iter().map(disk_of).collect();
        }
        for (name, id) in &self.disks {
            let changes = V::disk_changes(self.rig.cloud.account(), id);
            assert_eq!(changes, expected_changes(name, desired), "each once: {name}");
        }
    }

    /// At no time are there more disks than there were claims.
    fn check_no_double(&self) {
        let disks = V::disks(self.rig.cloud.account());
        assert!(disks.len() as u64 <= CLAIMS + 1, "{disks:#?}");
    }
}

impl<V: DiskVendor> Drop for DiskCrash<V> {
    fn drop(&mut self) {
        self.killed.show_failure(&self.rig.cloud);
    }
}

/// Lets the provider ask for volumes, as its page says.
fn allow_volumes<V: DiskVendor>(config: &mut Value) {
    let allowed = config["endpoints"][0]["allow"].as_array_mut().unwrap();
    let further: Vec<_> = volume_rules(V::VOLUMES_PAGE).into_iter().filter(|it| !allowed.contains(it)).collect();
    allowed.extend(further);
}

fn is_about_disks<V: DiskVendor>(request: &Recorded) -> bool {
    request.path.starts_with(V::DISKS)
}

/// Plays what others do, and returns how many claims are not as desired, with what is left of others.
async fn left<V: DiskVendor>(rig: &CloudRig<V>, objects: &ClaimObjects, desired: DesiredClaims) -> u64 {
    tokio::time::sleep(LOOKS).await;
    let seen = objects.look().await;
    objects.play(&seen, |name| pod_at(name, desired)).await;
    wrong(&seen, &V::disks(rig.cloud.account()), desired).len() as u64
}

/// The faults of all claims and their disks, and what is there for nobody.
fn wrong(seen: &SeenClaims, disks: &[BuiltDisk], desired: DesiredClaims) -> Vec<String> {
    let mut wrong: Vec<_> = match desired {
        Gone => seen.claims.iter().map(|it| format!("claim {} is there", it.name_any())).collect(),
        _ => names().filter_map(|it| wrong_claim(seen, disks, &it, desired)).collect(),
    };
    let owned: Vec<_> = seen.claims.iter().map(volume_name).collect();
    let strange = disks.iter().filter(|it| !owned.contains(&it.name)).map(|it| format!("{it:?} is nobody's"));
    let volumes = seen.volumes.iter().map(|it| it.name_any()).filter(|it| !owned.contains(it));
    wrong.extend(strange.chain(volumes.map(|it| format!("PersistentVolume {it} is nobody's"))));
    if desired == Gone {
        wrong.extend(seen.attachments.iter().map(|it| format!("attachment {} is there", it.name_any())));
    }
    // With claims that are bound, none is under way.
    wrong.extend(seen.intents.iter().map(|it| format!("ConfigMap {it} is left")));
    wrong
}

/// The fault of a claim and its disk, if there is one.
fn wrong_claim(seen: &SeenClaims, disks: &[BuiltDisk], name: &str, desired: DesiredClaims) -> Option<String> {
    let Some(claim) = seen.claim(name) else { return Some(format!("there is no claim {name}")) };
    let disks: Vec<_> = disks.iter().filter(|it| it.name == volume_name(claim)).collect();
    let [disk] = &disks[..] else { return Some(format!("{name} has the disks {disks:?}")) };
    let Some(volume) = seen.volume(claim) else { return Some(format!("{name} has no PersistentVolume")) };
    let size = if desired == Grown { SIZES.1 } else { SIZES.0 };
    let capacity = |it: Option<&BTreeMap<String, Quantity>>| json!(it)["storage"] == json!(gibibytes(size));
    let machine = pod_of(name, desired);
    let attached = seen.attachments_of(volume);
    let attached: Vec<_> = attached
        .iter()
        .map(|it| (it.spec.node_name.clone(), it.status.as_ref().is_some_and(|it| it.attached)))
        .collect();
    let right = [
        ("its phase", is_bound(claim)),
        ("its disk", handle(volume) == disk.id),
        ("the size of the disk", disk.gibibytes == size),
        ("the size of the claim", capacity(claim.status.as_ref().and_then(|it| it.capacity.as_ref()))),
        ("the size of the volume", capacity(volume.spec.as_ref().and_then(|it| it.capacity.as_ref()))),
        ("its growth", growth(claim).is_empty()),
        ("the machine", disk.machine == machine),
        ("the attachments", attached == Vec::from_iter(machine.map(|it| (worker(it), true)))),
        ("the finalizer", seen.held().contains(&volume.name_any())),
    ];
    right
        .iter()
        .find(|(_, right)| !right)
        .map(|(what, _)| format!("{what} of {name}, {disk:?}, {attached:?}, {claim:?}"))
}

/// The changes of a claim's disk by then.
fn expected_changes(name: &str, desired: DesiredClaims) -> Vec<DiskChange> {
    let attach = |desired| DiskChange::Attach(pod_of(name, desired).expect("a pod uses it then"));
    let all = [
        (Attached, attach(Attached)),
        (Moved, DiskChange::Detach),
        (Moved, attach(Moved)),
        (Grown, DiskChange::Resize),
        (Gone, DiskChange::Detach),
    ];
    all.into_iter().filter(|(since, _)| *since <= desired).map(|(_, change)| change).collect()
}

/// The node of the pod that uses a claim, if there is one.
fn pod_at(name: &str, desired: DesiredClaims) -> Option<String> {
    pod_of(name, desired).map(worker)
}

/// The machine of that node. No pod uses the claim that passes.
fn pod_of(name: &str, desired: DesiredClaims) -> Option<u64> {
    let index: u64 = name.strip_prefix("crash-")?.parse().ok()?;
    let turn = match desired {
        Made | Gone => return None,
        Attached => 0,
        Moved | Grown => 1,
    };
    Some(1 + (index + turn) % WORKERS)
}

fn names() -> impl Iterator<Item = String> {
    (0..CLAIMS).map(|index| format!("crash-{index}"))
}

fn gibibytes(size: u64) -> String {
    format!("{size}Gi")
}
