#!/usr/bin/env bash
# Installs Microsoft's own clients, azure-identity and the SDKs of Network and Compute, into a virtual environment of their own: target/azure.
exec "$(dirname "$0")/../python.sh" azure 'Clients of Microsoft'
