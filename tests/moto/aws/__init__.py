"""What AWS does and moto does not, put into moto's own state: each rule says the page that it comes from.

It is done in moto's process and not by changing requests or answers on their way: a request that was changed is signed no more, and then
nobody would judge its signature and its policy.
"""

from . import balancers, classic, network, remembered, sessions, volumes

__all__ = ["balancers", "classic", "network", "remembered", "sessions", "volumes"]
