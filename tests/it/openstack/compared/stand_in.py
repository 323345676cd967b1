"""Stands for OpenStack's own controller manager, which is in no registry: it logs in with the config that it is started with, asks for the
networks that the config names, writes what it saw to said.json beside itself, and waits for its end."""

import json
import os
import ssl
import sys
import time
import urllib.request


def read(path):
    """The first value of each key of a cloud.conf, by "section.key"."""
    section, values = "", {}
    with open(path, encoding="utf-8") as config:
        for line in map(str.strip, config):
            if line.startswith("["):
                section = line.strip("[]")
            elif "=" in line:
                key, value = line.split("=", 1)
                values.setdefault(f"{section}.{key}", value)
    return values


def main():
    """Says what it was given."""
    flags = dict(it.removeprefix("--").split("=", 1) for it in sys.argv[1:])
    config = read(flags["cloud-config"])
    of = lambda key: config.get(f"Global.{key}")
    context = ssl.create_default_context(cafile=of("ca-file"))

    def asked(url, headers, body=None):
        request = urllib.request.Request(url, body and json.dumps(body).encode(), headers)
        return urllib.request.urlopen(request, context=context)

    user = {"name": of("username"), "password": of("password"), "domain": {"id": of("user-domain-id")}}
    identity = {"methods": ["password"], "password": {"user": user}}
    login = {"auth": {"identity": identity, "scope": {"project": {"id": of("tenant-id")}}}}
    with asked(f"{of('auth-url')}/auth/tokens", {"Content-Type": "application/json"}, login) as given:
        token, status = given.headers["X-Subject-Token"], given.status
        catalog = json.load(given)["token"]["catalog"]
    endpoints = [it for service in catalog if service["type"] == "network" for it in service["endpoints"]]
    [place] = [it["url"] for it in endpoints if (it["interface"], it["region"]) == ("public", of("region"))]
    network = config["LoadBalancer.floating-network-id"]
    with asked(f"{place.rstrip('/')}/v2.0/networks/{network}", {"X-Auth-Token": token}) as found:
        name = json.load(found)["network"]["name"]
    said = {"flags": flags, "login": status, "network": name, "kubeconfig": os.path.isfile(flags["kubeconfig"])}
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "said.json")
    with open(f"{beside}.new", "w", encoding="utf-8") as text:
        json.dump(said, text)
    os.rename(f"{beside}.new", beside)
    time.sleep(600)


main()
