#!/usr/bin/env bash
# Installs Google's own clients, google-cloud-compute and google-auth, into a virtual environment of their own: target/google.
exec "$(dirname "$0")/../python.sh" google 'Clients of Google'
