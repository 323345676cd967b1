"""A mechanism driver of Neutron for a machine without any network agent: each port is bound at once, and is ACTIVE."""

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class Bound(api.MechanismDriver):
    """Binds ports of every network to whatever host they name."""

    @property
    def connectivity(self):
        return portbindings.CONNECTIVITY_L2

    def initialize(self):
        """Nothing is needed."""

    def bind_port(self, context):
        segment = context.segments_to_bind[0]
        context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OTHER, {}, status=constants.PORT_STATUS_ACTIVE)
