"""An API of OpenStack as a WSGI application: that of the module that STACK_APPLICATION names."""

import importlib
import os
import sys

# Some read the arguments of the process, and would take the web server's for their own.
sys.argv = sys.argv[:1]
application = importlib.import_module(os.environ["STACK_APPLICATION"]).application
