"""The network interfaces of load balancers, which outlive them and hold their security groups."""

from .world import behaviour, now

# By account and load balancer: the security groups, and until when. No time: the load balancer is there.
_standing = {}


def stand(account, balancer, groups):
    _standing[account, balancer] = (set(groups or []), None)


def fall(account, balancer):
    groups, _ = _standing.pop((account, balancer), (set(), None))
    if behaviour.interfaces > 0:
        _standing[account, balancer, now()] = (groups, now() + behaviour.interfaces)


def hold(group):
    """Whether an interface of a load balancer has this security group."""
    return any(group in groups and (until is None or now() < until) for groups, until in _standing.values())
