"""What tests decide: the time, and how AWS behaves. Everything is changed through control.py."""

import functools
import time
from dataclasses import dataclass, fields

ACCOUNT = "123456789012"
REGION = "us-east-1"


@dataclass
class Behaviour:
    """Times are seconds on the clock below."""

    # How long a new load balancer is `provisioning`: for a time, or until it was shown so often.
    provisioning: float = 0
    provisioning_reads: int = 0
    # How long a target drains. Below zero: as long as its group says (deregistration_delay.timeout_seconds).
    draining: float = -1
    # How long a new target is `initial`.
    initial: float = 0
    # How long the network interfaces of a deleted load balancer stand.
    interfaces: float = 0
    # How long the target groups of a deleted load balancer are in use.
    groups_in_use: float = 0
    # How late what was made comes into lists.
    lists_late_by: float = 0
    # How long a change of a volume takes: for a time, and until it was looked at so often; and how long it is optimized then.
    volume_changes: float = 0
    volume_reads: int = 0
    optimizing: float = 0
    # How long after a change of a volume another one is refused.
    modifications_rest: float = 0
    # How many of the next volumes fail after they were made.
    volumes_fail: int = 0
    # Whether there is room for volumes.
    volume_room: bool = True
    # Whether no attachment comes about.
    attachments_stall: bool = False
    # Devices of images, of which EC2 does not tell.
    hidden_devices: tuple = ()
    # Quotas.
    volumes: int = 5_000
    volumes_per_instance: int = 27
    rules_per_group: int = 60
    routes_per_table: int = 50
    load_balancers: int = 50


behaviour = Behaviour()
_ahead = 0.0
_skew = 0.0


def now():
    """When it is for everything that takes time. Unix time, which a test can put ahead."""
    return time.time() + _ahead


def advance(seconds):
    global _ahead
    _ahead += seconds


def clock():
    """What time AWS says that it is, and judges signatures by. A test can let it differ from the time of who asks."""
    return time.time() + _skew


def skew(seconds):
    global _skew
    _skew = seconds


def behave(changes):
    known = {it.name for it in fields(Behaviour)}
    for name, value in changes.items():
        if name not in known:
            raise KeyError(f"{name} is no behaviour: {sorted(known)}")
        setattr(behaviour, name, value)


def is_listed(made):
    """Whether lists show by now what was made then."""
    return made + behaviour.lists_late_by <= now()


def replaces(cls, name):
    """Puts a function into the place of a method. It gets the method that was there, itself bound, before the arguments."""

    def put(function):
        before = getattr(cls, name)

        @functools.wraps(before)
        def method(self, *args, **kwargs):
            return function(self, functools.partial(before, self), *args, **kwargs)

        setattr(cls, name, method)
        return function

    return put
