#!/usr/bin/env bash
# Installs moto's server, which stands for AWS in tests, and the official SDK into a virtual environment of their own: target/moto.
exec "$(dirname "$0")/../python.sh" moto 'moto, and the SDK of AWS'
