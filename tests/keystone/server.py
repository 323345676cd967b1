"""Keystone's API as a WSGI application. Its configuration is where OS_KEYSTONE_CONFIG_FILES says."""

import sys

# Keystone reads the arguments of the process, and would take the web server's for its own.
sys.argv = ["keystone"]

from keystone.server.wsgi import initialize_public_application  # noqa: E402

application = initialize_public_application()
