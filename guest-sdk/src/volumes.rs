//! Disks for pods: the controller's half of a CSI driver.

use std::fmt::Display;
use std::time::Duration;

use crate::bindings::volumes::exports::aerostat::cloud::volumes::Guest;
use crate::key::Row;
use crate::{
    AccessMode, AttachMode, ClaimOwner, CloudVolume, DesiredVolume, ExpandedVolume, Growth, KnownVolume, MarkedClaim,
    Pause, PendingVolume, Result, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription,
    VolumeDetachment, VolumeExpansion, VolumePage, VolumePlace, VolumeSource, VolumeSourceKind, VolumeState,
};

/// In the `extra` of a desired volume: no call of `create` came before this one.
const FIRST_CREATE: &str = "host.first-create";
/// In the `extra` of a desired volume: no call of `create` before this one has had its memo.
const NEW_MEMO: &str = "host.new-memo";
/// In the `extra` of a description: the volumes of an in-tree plugin.
const IN_TREE: [&str; 3] = ["in-tree.source", "in-tree.plugin", "in-tree.handle"];
/// In the `extra` of a description: a namespace of the vendor's controller.
const VENDOR_NAMESPACE: &str = "vendor.namespace";
/// The host's word that a PersistentVolume has the mode `Block`.
const BLOCK: &str = "host.block";
/// A gibibyte.
const GIB: u64 = 1 << 30;

/// The capability of a cloud with disks for pods.
///
/// [`crate::volume_backend`] keeps the promises of these functions for clouds whose volumes have names.
pub trait Volumes {
    /// The properties of these volumes. Asked at load. No HTTP.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for settings that cannot work.
    fn describe() -> Result<VolumeDescription>;

    /// Takes one step towards the volume. Reads first; safe to repeat and safe to lose.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for one of this name that is another's; whatever the cloud answered.
    fn create(desired: &DesiredVolume) -> Result<VolumeCreation>;

    /// Takes one step towards the absence of a volume that [`Self::create`] was asked for. Once it is done, nothing of it can
    /// still appear.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn abandon(unwanted: &DesiredVolume) -> Result<VolumeDeletion>;

    /// Takes one step towards its absence. It is never detached for that.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`](crate::Error::Denied) for one of another cluster; whatever the cloud answered.
    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion>;

    /// Takes one step towards its being attached to the machine with this node id.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn attach(volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Result<VolumeAttachment>;

    /// Takes one step away from that machine.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn detach(volume: &KnownVolume, node_id: &str) -> Result<VolumeDetachment>;

    /// Takes one step towards so many bytes.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn expand(volume: &KnownVolume, bytes: u64) -> Result<VolumeExpansion>;

    /// The volume with this handle. `Ok(None)`: the cloud is certain that there is none. Reads only.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered; [`Error::Invalid`](crate::Error::Invalid) for a handle that is not this driver's.
    fn get(handle: &str) -> Result<Option<CloudVolume>>;

    /// One answer for each handle, in the same order. Implement it where the cloud reads many in one request, and say so
    /// with [`VolumeDescription::get_batch_size`].
    fn get_each(handles: &[String]) -> Vec<Result<Option<CloudVolume>>> {
        handles.iter().map(|it| Self::get(it)).collect()
    }

    /// One page of the cluster's volumes, with as many others as come with them.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn list(cursor: Option<&str>, limit: u32) -> Result<VolumePage>;
}

impl<T: Volumes> Guest for T {
    fn describe() -> Result<VolumeDescription> {
        T::describe()
    }

    fn create(desired: DesiredVolume) -> Result<VolumeCreation> {
        T::create(&desired)
    }

    fn abandon(unwanted: DesiredVolume) -> Result<VolumeDeletion> {
        T::abandon(&unwanted)
    }

    fn delete(unwanted: KnownVolume) -> Result<VolumeDeletion> {
        T::delete(&unwanted)
    }

    fn attach(volume: KnownVolume, node_id: String, mode: AttachMode) -> Result<VolumeAttachment> {
        T::attach(&volume, &node_id, &mode)
    }

    fn detach(volume: KnownVolume, node_id: String) -> Result<VolumeDetachment> {
        T::detach(&volume, &node_id)
    }

    fn expand(volume: KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        T::expand(&volume, bytes)
    }

    fn get(handles: Vec<String>) -> Vec<Result<Option<CloudVolume>>> {
        T::get_each(&handles)
    }

    fn list(cursor: Option<String>, limit: u32) -> Result<VolumePage> {
        T::list(cursor.as_deref(), limit)
    }
}

impl VolumeDescription {
    /// Volumes of this CSI driver for one node each, in whole gibibytes from 1 GiB to 16 TiB, that do not grow; read one at a
    /// time, and listed by the hundred.
    pub fn new(driver: impl Into<String>) -> Self {
        Self {
            driver: driver.into(),
            topology_keys: Vec::new(),
            publish_keys: Vec::new(),
            parameters: Vec::new(),
            annotations: Vec::new(),
            access_modes: vec![AccessMode::OneNode, AccessMode::OnePod],
            block: true,
            filesystem: "ext4".to_owned(),
            smallest_bytes: GIB,
            step_bytes: GIB,
            largest_bytes: 16 * 1_024 * GIB,
            growth: Growth::Never,
            sources: Vec::new(),
            one_at_a_time_per_node: false,
            get_batch_size: 1,
            list_page_size: 100,
            extra: Vec::new(),
        }
    }

    /// A further key of the topology, less important than those before it.
    #[must_use]
    pub fn topology_key(mut self, key: impl Into<String>) -> Self {
        self.topology_keys.push(key.into());
        self
    }

    /// A key of the publish context.
    #[must_use]
    pub fn publish_key(mut self, key: impl Into<String>) -> Self {
        self.publish_keys.push(key.into());
        self
    }

    /// Adds all rows of a table of class parameters. The host refuses a class with others.
    #[must_use]
    pub fn parameters<'a>(mut self, table: impl IntoIterator<Item = &'a dyn Row>) -> Self {
        self.parameters.extend(table.into_iter().map(<dyn Row>::parameter));
        self
    }

    /// Adds all rows of a table of annotations of claims. The host passes no others.
    #[must_use]
    pub fn annotations<'a>(mut self, table: impl IntoIterator<Item = &'a dyn Row>) -> Self {
        self.annotations.extend(table.into_iter().map(<dyn Row>::parameter));
        self
    }

    /// Sizes from so many gibibytes to so many, in whole ones.
    #[must_use]
    pub fn gibibytes(mut self, smallest: u32, largest: u32) -> Self {
        (self.smallest_bytes, self.largest_bytes) = (u64::from(smallest) * GIB, u64::from(largest) * GIB);
        self
    }

    /// Whether they grow.
    #[must_use]
    pub fn growth(mut self, growth: Growth) -> Self {
        self.growth = growth;
        self
    }

    /// Something that they can begin with.
    #[must_use]
    pub fn source(mut self, source: VolumeSourceKind) -> Self {
        self.sources.push(source);
        self
    }

    /// The driver serves volumes from before CSI, too: of this field of a PersistentVolume's `spec`, and of classes with this provisioner. In
    /// `handle` stands `{volume}` for what the field calls one, `{name}` for what is behind the last slash of that, and `{zone}` for its
    /// zone: "{name}" makes `vol-1` of `aws://eu-central-1a/vol-1`.
    #[must_use]
    pub fn in_tree(mut self, source: &str, plugin: &str, handle: &str) -> Self {
        self.extra
            .extend(IN_TREE.iter().zip([source, plugin, handle]).map(|(key, value)| ((*key).into(), value.into())));
        self
    }

    /// A namespace in which the vendor's manifests put its own controller, where that is not `kube-system`: by its Leases there the host sees one that still runs.
    #[must_use]
    pub fn vendor_namespace(mut self, namespace: &str) -> Self {
        self.extra.push((VENDOR_NAMESPACE.to_owned(), namespace.to_owned()));
        self
    }

    /// One machine takes one attachment or detachment after the other.
    #[must_use]
    pub fn one_at_a_time_per_node(mut self) -> Self {
        self.one_at_a_time_per_node = true;
        self
    }

    /// How many handles one `get` takes.
    #[must_use]
    pub fn get_batch_size(mut self, volumes: u32) -> Self {
        self.get_batch_size = volumes;
        self
    }

    /// How many volumes one page of the list has; 0 where the cloud has no list.
    #[must_use]
    pub fn list_page_size(mut self, volumes: u32) -> Self {
        self.list_page_size = volumes;
        self
    }
}

impl DesiredVolume {
    /// A volume for a claim, for one node and with the filesystem ext4: for a vendor's own tests.
    pub fn of(namespace: impl Into<String>, name: impl Into<String>, uid: impl Into<String>, bytes: u64) -> Self {
        let uid = uid.into();
        Self {
            name: format!("pvc-{uid}"),
            owner: ClaimOwner { cluster: "kubernetes".to_owned(), namespace: namespace.into(), name: name.into(), uid },
            memo: None,
            bytes,
            access_modes: vec![AccessMode::OneNode],
            filesystem: Some("ext4".to_owned()),
            parameters: Vec::new(),
            accessible_topologies: Vec::new(),
            source: VolumeSource::Empty,
            annotations: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// The same with a parameter of the class.
    #[must_use]
    pub fn with_parameter(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((key.into(), value.into()));
        self
    }

    /// The same with a further place, where one topology key has this value.
    #[must_use]
    pub fn with_place(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.accessible_topologies.push(VolumePlace::of(key, value));
        self
    }

    /// Whether no call of `create` came before this one: nothing that one sent can be on its way.
    #[must_use]
    pub fn is_first_create(&self) -> bool {
        is_said(&self.extra, FIRST_CREATE)
    }

    /// The same, as the first call of `create` has it.
    #[must_use]
    pub fn first_create(mut self) -> Self {
        self.extra.push((FIRST_CREATE.to_owned(), "true".to_owned()));
        self
    }

    /// Whether no call of [`Volumes::create`] before this one has had this memo: a creation that it announces was sent by none. `false` also where
    /// the host does not know, as after a restart: then look into the cloud first.
    #[must_use]
    pub fn is_memo_new(&self) -> bool {
        is_said(&self.extra, NEW_MEMO)
    }

    /// The same with a memo that no call has had.
    #[must_use]
    pub fn with_new_memo(mut self, memo: impl Into<String>) -> Self {
        self.memo = Some(memo.into());
        self.extra.push((NEW_MEMO.to_owned(), "true".to_owned()));
        self
    }

    /// The values that a topology key has in its places, the best first, each once. Empty: anywhere.
    #[must_use]
    pub fn places(&self, key: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for place in &self.accessible_topologies {
            let value = place.segments.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str());
            values.extend(value.filter(|it| !values.contains(it)));
        }
        values
    }
}

impl KnownVolume {
    /// A volume with this handle, for a vendor's own tests.
    pub fn of(handle: impl Into<String>) -> Self {
        Self { handle: handle.into(), name: String::new(), attributes: Vec::new(), memo: None, extra: Vec::new() }
    }

    /// Whether it is a raw block device, which has no filesystem to grow.
    #[must_use]
    pub fn is_block(&self) -> bool {
        is_said(&self.extra, BLOCK)
    }

    /// The same as a raw block device.
    #[must_use]
    pub fn block(mut self) -> Self {
        self.extra.push((BLOCK.to_owned(), "true".to_owned()));
        self
    }
}

impl CloudVolume {
    /// A volume that can be used, attached nowhere, without marks, and reached from anywhere.
    pub fn new(handle: impl Into<String>, name: impl Into<String>, bytes: u64) -> Self {
        Self {
            handle: handle.into(),
            name: name.into(),
            bytes,
            state: VolumeState::Ready,
            accessible_topologies: Vec::new(),
            attributes: Vec::new(),
            attached_to: Vec::new(),
            owner: MarkedClaim::default(),
            source: VolumeSource::Empty,
            extra: Vec::new(),
        }
    }

    /// The same in a place where one topology key has this value.
    #[must_use]
    pub fn in_place(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.accessible_topologies.push(VolumePlace::of(key, value));
        self
    }

    /// The same with what its marks say.
    #[must_use]
    pub fn owner(mut self, owner: MarkedClaim) -> Self {
        self.owner = owner;
        self
    }

    /// The same in another state.
    #[must_use]
    pub fn state(mut self, state: VolumeState) -> Self {
        self.state = state;
        self
    }

    /// The same, attached to these machines or on its way.
    #[must_use]
    pub fn attached_to(mut self, node_ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.attached_to = node_ids.into_iter().map(Into::into).collect();
        self
    }

    /// For a person: its handle, and its name.
    #[must_use]
    pub fn title(&self) -> String {
        format!("volume {} ({})", self.handle, self.name)
    }
}

impl VolumePage {
    /// A page after which `next` comes; `None` on the last.
    pub fn new(volumes: Vec<CloudVolume>, next: Option<String>) -> Self {
        Self { volumes, next, incomplete: None }
    }

    /// Says why this page may lack volumes.
    #[must_use]
    pub fn incomplete(mut self, reason: impl Into<String>) -> Self {
        self.incomplete = Some(reason.into());
        self
    }
}

impl VolumePlace {
    /// A place where one topology key has this value.
    pub fn of(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { segments: vec![(key.into(), value.into())] }
    }
}

impl PendingVolume {
    /// The next call after this pause, and for what.
    pub fn new(memo: Option<String>, after: Duration, reason: impl Display) -> Self {
        let milliseconds = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
        Self { memo, wait: Pause { milliseconds, reason: reason.to_string() } }
    }
}

impl ExpandedVolume {
    /// So many bytes, to which the filesystem still has to grow on its node.
    #[must_use]
    pub fn on_node(bytes: u64) -> Self {
        Self { bytes, node_must_grow: true }
    }
}

/// Whether the host says so.
fn is_said(extra: &[(String, String)], word: &str) -> bool {
    extra.iter().any(|(key, value)| key == word && value == "true")
}

impl Default for MarkedClaim {
    /// Without marks.
    fn default() -> Self {
        Self { cluster_uid: None, uid: None, namespace: None, name: None }
    }
}
