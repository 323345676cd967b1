//! Calls about disks for claims: from their JSON to their JSON.

use anyhow::{Error, Result};
use cloud_provider::{
    CloudVolume, CloudVolumes, PendingVolume, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDetachment,
    VolumeExpansion, VolumePage, VolumeSource, VolumeState,
};
use conformance::{AttachInput, DesiredVolumeInput, DetachInput, ExpandInput, KnownVolumeInput};
use serde_json::{Value, json};

use super::answers::{CallOutcome, pairs};
use super::argument::{page, read};
use super::function::{CallFunction, VolumeFunction};

/// Calls the provider. The cluster has this name.
pub(super) async fn ask(
    volumes: &dyn CloudVolumes,
    which: VolumeFunction,
    function: CallFunction,
    argument: Value,
    cluster: &str,
) -> Result<CallOutcome> {
    let desired = |argument| {
        let input: DesiredVolumeInput = read(function, argument)?;
        input.volume(cluster).map_err(Error::msg)
    };
    Ok(match which {
        VolumeFunction::Create => {
            // Another process may have made this call before.
            let reply = volumes.create(&desired(argument)?, false).await;
            CallOutcome::one(reply.answer, &reply.events, creation)
        }
        VolumeFunction::Abandon => {
            let reply = volumes.abandon(&desired(argument)?).await;
            CallOutcome::one(reply.answer, &reply.events, deletion)
        }
        VolumeFunction::Delete => {
            let unwanted: KnownVolumeInput = read(function, argument)?;
            let reply = volumes.delete(&unwanted.volume()).await;
            CallOutcome::one(reply.answer, &reply.events, deletion)
        }
        VolumeFunction::Attach => {
            let input: AttachInput = read(function, argument)?;
            let (volume, node_id, mode) = input.attachment().map_err(Error::msg)?;
            let reply = volumes.attach(&volume, &node_id, &mode).await;
            CallOutcome::one(reply.answer, &reply.events, attachment)
        }
        VolumeFunction::Detach => {
            let input: DetachInput = read(function, argument)?;
            let (volume, node_id) = input.detachment();
            let reply = volumes.detach(&volume, &node_id).await;
            CallOutcome::one(reply.answer, &reply.events, detachment)
        }
        VolumeFunction::Expand => {
            let input: ExpandInput = read(function, argument)?;
            let (volume, bytes) = input.expansion();
            let reply = volumes.expand(&volume, bytes).await;
            CallOutcome::one(reply.answer, &reply.events, expansion)
        }
        VolumeFunction::Get => {
            let handles: Vec<String> = read(function, argument)?;
            let reply = volumes.get(&handles).await;
            CallOutcome::several(&reply.answer, &reply.events, |it| it.as_ref().map_or(Value::Null, volume))
        }
        VolumeFunction::List => {
            let (cursor, limit) = page(function, argument, volumes.description().list_page_size)?;
            let reply = volumes.list(cursor, limit).await;
            CallOutcome::one(reply.answer, &reply.events, volume_page)
        }
    })
}

fn pending(it: &PendingVolume) -> Value {
    json!({ "pending": { "memo": it.memo, "milliseconds": it.after.as_millis() as u64, "reason": it.reason } })
}

fn creation(it: &VolumeCreation) -> Value {
    match it {
        VolumeCreation::Ready(it) => json!({ "ready": volume(it) }),
        VolumeCreation::Pending(it) => pending(it),
        VolumeCreation::NoRoom(because) => json!({ "noRoom": because }),
    }
}

fn deletion(it: &VolumeDeletion) -> Value {
    match it {
        VolumeDeletion::Done => json!("done"),
        VolumeDeletion::Pending(it) => pending(it),
        VolumeDeletion::InUse(machines) => json!({ "inUse": machines }),
    }
}

fn attachment(it: &VolumeAttachment) -> Value {
    match it {
        VolumeAttachment::Ready(context) => json!({ "ready": pairs(context) }),
        VolumeAttachment::Pending(it) => pending(it),
        VolumeAttachment::Occupied(machine) => json!({ "occupied": machine }),
        VolumeAttachment::Full(because) => json!({ "full": because }),
    }
}

fn detachment(it: &VolumeDetachment) -> Value {
    match it {
        VolumeDetachment::Done => json!("done"),
        VolumeDetachment::Pending(it) => pending(it),
    }
}

fn expansion(it: &VolumeExpansion) -> Value {
    match it {
        VolumeExpansion::Ready { bytes, node_must_grow } => {
            json!({ "ready": { "bytes": bytes, "nodeMustGrow": node_must_grow } })
        }
        VolumeExpansion::Pending(it) => pending(it),
        VolumeExpansion::InUse(machines) => json!({ "inUse": machines }),
    }
}

fn volume_page(page: &VolumePage) -> Value {
    let volumes: Vec<_> = page.volumes.iter().map(volume).collect();
    json!({ "volumes": volumes, "next": page.next, "incomplete": page.incomplete })
}

fn volume(it: &CloudVolume) -> Value {
    let owner = &it.owner;
    let places: Vec<_> = it.places.iter().map(|it| pairs(it)).collect();
    json!({
        "handle": it.handle,
        "name": it.name,
        "bytes": it.bytes,
        "state": match &it.state {
            VolumeState::Ready => json!("ready"),
            VolumeState::Changing => json!("changing"),
            VolumeState::Failed(because) => json!({ "failed": because }),
        },
        "accessibleTopologies": places,
        "attributes": pairs(&it.attributes),
        "attachedTo": it.attached_to,
        "owner": {
            "clusterUID": owner.cluster_uid, "uid": owner.uid, "namespace": owner.namespace, "name": owner.name,
        },
        "source": it.source.as_ref().map(source),
    })
}

fn source(source: &VolumeSource) -> Value {
    match source {
        VolumeSource::Snapshot(handle) => json!({ "snapshot": handle }),
        VolumeSource::Volume(handle) => json!({ "volume": handle }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use scripted_cloud::ScriptedCloud;

    use super::*;

    async fn answer(cloud: &ScriptedCloud, name: &str, argument: Value) -> Result<Value> {
        let function = CallFunction::parse(name).unwrap();
        let CallFunction::Volumes(which) = function else { panic!("{name} is about no volumes") };
        Ok(ask(cloud, which, function, argument, "kubernetes").await?.answer)
    }

    #[tokio::test]
    async fn volumes_become_json_wherever_they_stand() {
        let cloud = ScriptedCloud::default();
        let waiting = PendingVolume {
            memo: Some("m".to_owned()),
            after: Duration::from_millis(1_500),
            reason: "cloning".to_owned(),
        };
        let pending = json!({ "pending": { "memo": "m", "milliseconds": 1500, "reason": "cloning" } });
        cloud.create_volume.answers_next([
            Ok(VolumeCreation::Pending(waiting)).into(),
            Ok(VolumeCreation::NoRoom("no disks left".to_owned())).into(),
        ]);
        let claim = json!({
            "owner": { "name": "data", "uid": "4711" }, "bytes": 5, "accessModes": ["ReadWriteOncePod"],
            "accessibleTopologies": [{ "zone": "a" }], "source": { "snapshot": "s-1" }, "parameters": { "type": "ssd" },
        });
        assert_eq!(answer(&cloud, "volumes.create", claim.clone()).await.unwrap(), pending);
        assert_eq!(answer(&cloud, "volumes.create", claim).await.unwrap(), json!({ "noRoom": "no disks left" }));
        let (asked, is_first) = cloud.create_volume.calls().remove(0);
        assert!(!is_first, "an earlier process may have asked");
        assert_eq!((asked.name.as_str(), asked.owner.namespace.as_str()), ("pvc-4711", "default"));
        assert_eq!(asked.source, Some(VolumeSource::Snapshot("s-1".to_owned())));
        assert_eq!(asked.places, [[("zone".to_owned(), "a".to_owned())]]);

        cloud.delete_volume.answers(|_| Ok(VolumeDeletion::InUse(vec!["m-1".to_owned()])).into());
        let known = json!({ "handle": "7", "memo": "m" });
        assert_eq!(answer(&cloud, "volumes.delete", known.clone()).await.unwrap(), json!({ "inUse": ["m-1"] }));
        cloud.attach_volume.answers(|_| Ok(VolumeAttachment::Occupied("m-2".to_owned())).into());
        let on = json!({ "volume": known, "nodeID": "m-1" });
        assert_eq!(answer(&cloud, "volumes.attach", on.clone()).await.unwrap(), json!({ "occupied": "m-2" }));
        cloud.detach_volume.answers(|_| Ok(VolumeDetachment::Done).into());
        assert_eq!(answer(&cloud, "volumes.detach", on).await.unwrap(), json!("done"));
        cloud.expand_volume.answers(|(_, bytes)| Ok(VolumeExpansion::Ready { bytes, node_must_grow: true }).into());
        let grown = json!({ "volume": { "handle": "7" }, "bytes": 9 });
        let ready = json!({ "ready": { "bytes": 9, "nodeMustGrow": true } });
        assert_eq!(answer(&cloud, "volumes.expand", grown).await.unwrap(), ready);
        cloud.list_volumes.answers(|_| {
            let state = VolumeState::Failed("broken".to_owned());
            let one = CloudVolume { handle: "7".to_owned(), state, ..CloudVolume::default() };
            Ok(VolumePage { volumes: vec![one], next: Some("8".to_owned()), incomplete: None }).into()
        });
        let page = answer(&cloud, "volumes.list", json!({ "limit": 1 })).await.unwrap();
        assert_eq!((&page["volumes"][0]["state"], &page["next"]), (&json!({ "failed": "broken" }), &json!("8")));
    }

    #[tokio::test]
    async fn an_access_mode_that_is_none_is_told() {
        let claim = json!({ "owner": { "name": "data", "uid": "1" }, "bytes": 5, "accessModes": ["RWO"] });
        let error = answer(&ScriptedCloud::default(), "volumes.create", claim).await.unwrap_err().to_string();
        assert!(error.contains("\"RWO\" is no access mode; write ReadWriteOnce, "), "{error}");
    }
}
