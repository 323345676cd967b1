"""A driver of Cinder for a machine without any disk: volumes that hold nothing, in a place of a hundred gibibytes."""

from cinder.volume import driver


class Empty(driver.VolumeDriver):
    """Makes, exports and enlarges volumes by saying that it has."""

    VERSION = "1"
    GIBIBYTES = 100

    def check_for_setup_error(self):
        """Nothing is needed."""

    def create_volume(self, volume):
        """The database has it."""

    def delete_volume(self, volume):
        """The database forgets it."""

    def extend_volume(self, volume, new_size):
        """The database has the new size."""

    def ensure_export(self, context, volume):
        """Nobody reads it."""

    def create_export(self, context, volume, connector):
        """Nobody reads it."""

    def remove_export(self, context, volume):
        """Nobody has read it."""

    def initialize_connection(self, volume, connector, **kwargs):
        return {"driver_volume_type": "empty", "data": {}}

    def terminate_connection(self, volume, connector, **kwargs):
        """Nothing is connected."""

    def _update_volume_stats(self):
        self._stats = {
            "volume_backend_name": self.configuration.volume_backend_name,
            "vendor_name": "aerostat",
            "driver_version": self.VERSION,
            "storage_protocol": "empty",
            "total_capacity_gb": self.GIBIBYTES,
            "free_capacity_gb": self.GIBIBYTES,
            "reserved_percentage": 0,
        }
