"""What moto works out anew for each request though it never changes: worked out once, so that a request takes less of the CPU."""

import functools

from moto import backends
from moto.core import responses
from moto.core.serialize import XFormedAttributePicker

from .world import replaces

_modules = tuple(backends.list_of_moto_modules())
backends.list_of_moto_modules = lambda: _modules
responses.method_names_from_class = functools.cache(responses.method_names_from_class)

# The names under which a value may be found, by all that they depend on.
_keys = {}


@replaces(XFormedAttributePicker, "get_possible_keys")
def _possible_keys(picker, possible_keys, context):
    shape, parent = context.shape, getattr(context.shape, "parent", None)
    of = (
        type(context.obj),
        context.key,
        context.service_model.service_name,
        shape.name,
        shape.serialization.get("name"),
        parent and parent.name,
        *picker.alias_providers,
    )
    if of not in _keys:
        _keys[of] = tuple(possible_keys(context))
    return _keys[of]
