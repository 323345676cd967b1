"""Volumes of EBS, which take their time: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/

Below, API_… is a page there. moto's volumes are made, attached, detached, modified and deleted at once.
"""

import datetime

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError, VolumeInUseError
from moto.ec2.models.elastic_block_store import EBSBackend, Volume, VolumeModification
from moto.ec2.responses.elastic_block_store import ElasticBlockStore

from . import sessions
from .world import behaviour, is_listed, now, replaces

# By token: the request, and the volume that it made.
_tokens = {}


def _moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None)


def _life(volume):
    """When a volume was made, its state where it is none of moto's, and what is still to come."""
    if not hasattr(volume, "made"):
        volume.made, volume.own_state, volume.coming = now(), None, []
    return volume


def _begin(volume, change):
    """What a request leads to: after a time, or once it was looked at so often."""
    _life(volume).coming.append([now() + behaviour.volume_changes, behaviour.volume_reads, change])


def _settle(volume, reads=1):
    """Lets come what has had its time."""
    # "How instance termination works": volumes that are not deleted with their instance are detached from it.
    if volume.attachment and volume.attachment.instance.state == "terminated":
        volume.attachment.instance.block_device_mapping.pop(volume.attachment.device, None)
        volume.attachment = None
        _life(volume).coming.clear()
    for it in list(_life(volume).coming):
        due, left, change = it
        if due <= now() and left <= 0:
            volume.coming.remove(it)
            change()
        it[1] -= reads


def _state(volume):
    # API_Volume, status: creating, available, in-use, deleting, deleted, error.
    return _life(volume).own_state or ("in-use" if volume.attachment else "available")


Volume.status = property(_state)


@replaces(EBSBackend, "describe_volumes")
def _describe(backend, describe, volume_ids=None, filters=None):
    for volume in list(backend.volumes.values()):
        _settle(volume)
    # API_Filter: "If you specify multiple values for a filter, the values are joined with an OR". moto asks for all of several keys of tags.
    filters = dict(filters or {})
    keys = filters.pop("tag-key", None)
    found = describe(volume_ids, filters)
    if keys is not None:
        found = [it for it in found if any(pair["key"] in keys for pair in it.get_tags())]
    # "Eventual consistency in the Amazon EC2 API": who asks for everything may not see what is new.
    return found if volume_ids else [it for it in found if is_listed(_life(it).made)]


@replaces(ElasticBlockStore, "describe_volumes")
def _describe_page(response, _):
    # API_DescribeVolumes: MaxResults and NextToken. moto answers everything at once.
    found = response.ec2_backend.describe_volumes(response._get_param("VolumeIds", []), response._filters_from_querystring())
    size, token = response._get_param("MaxResults"), response._get_param("NextToken")
    begin = int(token.removeprefix("page+/=")) if token else 0
    end = begin + int(size) if size else len(found)
    answer = {"Volumes": found[begin:end]}
    if end < len(found):
        answer["NextToken"] = f"page+/={end}"
    return ActionResult(answer)


@replaces(ElasticBlockStore, "create_volume")
def _create(response, create):
    backend, token = response.ec2_backend, response._get_param("ClientToken")
    known = _tokens.get((backend.account_id, token))
    if token and known:
        # API_CreateVolume, ClientToken; "Ensuring idempotency in Amazon EC2 API requests": the same request has the same answer, and another one is
        # refused. A volume that failed after it was made has spent its token, as the vendor's CSI driver tells.
        request, volume = known
        if request == sessions.body and volume.id in backend.volumes and _state(volume) != "error":
            return ActionResult(volume)
        raise EC2ClientError("IdempotentParameterMismatch", "The client token you have provided is associated with another request.")
    if not behaviour.volume_room:
        raise EC2ClientError("InsufficientVolumeCapacity", "There is not enough capacity to fulfill your EBS volume request.")
    if len(backend.volumes) >= behaviour.volumes:
        raise EC2ClientError("VolumeLimitExceeded", "Maximum number of volumes exceeded.")
    before = set(backend.volumes)
    result = create()
    volume = next(it for id, it in backend.volumes.items() if id not in before)
    _life(volume).own_state = "creating"
    fails = behaviour.volumes_fail > 0
    behaviour.volumes_fail -= fails
    _begin(volume, lambda: setattr(volume, "own_state", "error" if fails else None))
    _tokens[backend.account_id, token] = sessions.body, volume
    return result


@replaces(ElasticBlockStore, "delete_volume")
def _delete(response, delete):
    backend, id = response.ec2_backend, response._get_param("VolumeId")
    volume = backend.get_volume(id)
    _settle(volume, 0)
    if volume.attachment:
        raise VolumeInUseError(id, volume.attachment.instance.id)
    if _state(volume) not in ("available", "error"):
        raise EC2ClientError("IncorrectState", f"The volume '{id}' is not 'available'.")
    volume.own_state = "deleting"
    _begin(volume, lambda: backend.volumes.pop(id, None))
    return EmptyResult()


@replaces(ElasticBlockStore, "attach_volume")
def _attach(response, attach):
    backend, id = response.ec2_backend, response._get_param("VolumeId")
    volume, instance = backend.get_volume(id), backend.get_instance(response._get_param("InstanceId"))
    device = response._get_param("Device")
    _settle(volume, 0)
    if volume.attachment:
        raise EC2ClientError("VolumeInUse", f"{id} is already attached to an instance")
    if _state(volume) != "available":
        raise EC2ClientError("IncorrectState", f"The volume '{id}' is not 'available'.")
    if volume.availability_zone != instance.placement.availability_zone:
        raise EC2ClientError("InvalidVolume.ZoneMismatch", f"The volume '{id}' is not in the same availability zone as the instance")
    # "Amazon EBS volume limits for Amazon EC2 instances": the root counts beside these.
    if len(instance.block_device_mapping) > behaviour.volumes_per_instance:
        raise EC2ClientError("AttachmentLimitExceeded", f"Volume attachment limit exceeded for instance {instance.id}")
    if device in instance.block_device_mapping or device in behaviour.hidden_devices:
        raise EC2ClientError(
            "InvalidParameterValue", f"Invalid value '{device}' for unixDevice. Attachment point {device} is already in use"
        )
    result = attach()
    attachment = volume.attachment
    # API_VolumeAttachment, state: attaching, attached, detaching, detached, busy.
    attachment.status, attachment.attach_time = "attaching", _moment(now())
    if not behaviour.attachments_stall:
        _begin(volume, lambda: setattr(attachment, "status", "attached"))
    return result


@replaces(ElasticBlockStore, "detach_volume")
def _detach(response, _):
    backend, id = response.ec2_backend, response._get_param("VolumeId")
    volume, attachment = backend.get_volume(id), backend.get_volume(id).attachment
    _settle(volume, 0)
    if attachment is None:
        raise EC2ClientError("IncorrectState", f"Volume '{id}' is in the 'available' state.")
    instance = attachment.instance.id
    if response._get_param("InstanceId", instance) != instance:
        raise EC2ClientError("InvalidAttachment.NotFound", f"Volume '{id}' is attached to another instance.")
    volume.coming.clear()
    attachment.status = "detaching"
    _begin(volume, lambda: volume.attachment and backend.detach_volume(id, instance, attachment.device))
    shown = {"VolumeId": id, "InstanceId": instance, "Device": attachment.device}
    return ActionResult({**shown, "State": "detaching", "AttachTime": attachment.attach_time})


@replaces(ElasticBlockStore, "modify_volume")
def _modify(response, modify):
    # "Request modifications to your EBS volumes"; "Requirements for EBS volume modifications": none while the last one is modifying or optimizing,
    # and hours between two. API_ModifyVolume: the size is the new one once it is optimizing.
    volume = response.ec2_backend.get_volume(response._get_param("VolumeId"))
    _settle(volume, 0)
    last = volume.modifications[-1] if volume.modifications else None
    if last and last.modification_state != "completed":
        message = f"Volume {volume.id} in '{last.modification_state}' state is not modifiable."
        raise EC2ClientError("IncorrectModificationState", message)
    if last and now() < last.began + behaviour.modifications_rest:
        message = "You've reached the maximum modification rate per volume limit. Wait at least 6 hours between modifications per EBS volume."
        raise EC2ClientError("VolumeModificationRateExceeded", message)
    before = volume.size
    result = modify()
    made, after = volume.modifications[-1], volume.size
    made.began, made.start_time, made.optimizes = now(), _moment(now()), None
    volume.size = before

    def grow():
        volume.size, made.optimizes = after, now() + behaviour.optimizing

    _begin(volume, grow)
    return result


def _modification_state(modification):
    # API_VolumeModification, modificationState: modifying, optimizing, completed, failed.
    if modification.optimizes is None:
        return "modifying"
    return "optimizing" if now() < modification.optimizes else "completed"


VolumeModification.modification_state = property(_modification_state)
VolumeModification.progress = property(lambda it: {"modifying": 0, "optimizing": 50, "completed": 100}[it.modification_state])
# It ends with the optimizing.
VolumeModification.end_time = property(
    lambda it: _moment(it.optimizes) if it.modification_state == "completed" else None, lambda it, value: None
)


def shown(backend):
    """All volumes but roots of instances, as they are."""
    volumes = [it for it in backend.volumes.values() if not (it.attachment and it.attachment.device == it.attachment.instance.root_device_name)]
    return [
        {
            "id": it.id,
            "zone": it.availability_zone,
            "gibibytes": int(it.size),
            "type": it.volume_type,
            "iops": it.iops and int(it.iops),
            "state": _state(it),
            "instances": [attachment.instance.id for attachment in it.attachments],
            "devices": [attachment.device for attachment in it.attachments],
            "tags": {pair["key"]: pair["value"] for pair in it.get_tags()},
        }
        for it in volumes
    ]
