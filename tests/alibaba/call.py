"""Calls the APIs of Alibaba Cloud with its own clients: reads calls as JSON from standard input, writes what became of each as JSON.

Arguments: the simulator's URL, and a key's id and secret; a fourth one is the token of the session that the key belongs to. A call is
{"product": "ecs", "action": "DescribeInstances", "parameters": {…}}; what became of it is {"ok": …} or {"error": {"status": 404, "code": …}}.
A call {"sign": {"headers": {…}, "query": {…}, "body": …}} is not sent: the client's signer signs these bytes, and "ok" is its header.
Where a parameter is {"of": 3, "key": "LoadBalancerId"}, it is that of the answer to the call with this number.
"""

import importlib
import json
import sys
from types import SimpleNamespace

from alibabacloud_tea_openapi.utils import Utils
from alibabacloud_tea_openapi.utils_models import Config
from darabonba.runtime import RuntimeOptions

ALGORITHM = "ACS3-HMAC-SHA256"
MODULES = {
    "ecs": "alibabacloud_ecs20140526",
    "nlb": "alibabacloud_nlb20220430",
    "slb": "alibabacloud_slb20140515",
    "vpc": "alibabacloud_vpc20160428",
}


def filled(value, done):
    if isinstance(value, dict):
        if set(value) == {"of", "key"}:
            return done[value["of"]]["ok"][value["key"]]
        return {key: filled(it, done) for key, it in value.items()}
    return [filled(it, done) for it in value] if isinstance(value, list) else value


class Product:
    def __init__(self, name, config):
        module = MODULES[name]
        self.client = importlib.import_module(f"{module}.client").Client(config)
        self.models = importlib.import_module(f"{module}.models")
        self.methods = {it.replace("_", ""): it for it in dir(self.client) if it.endswith("_with_options")}

    def call(self, action, parameters):
        """The answer as the SDK's own model has it: what that does not know is lost."""
        request = getattr(self.models, f"{action}Request")()
        request.from_map(parameters)
        # What a model does not know is not sent: then the call is not the one that was asked for. Some have no region.
        lost = set(parameters) - set(request.to_map()) - {"RegionId"}
        if lost:
            raise SystemExit(f"{action}Request has no {lost}")
        method = getattr(self.client, self.methods[f"{action.lower()}withoptions"])
        return method(request, RuntimeOptions(autoretry=False)).body.to_map()


def signed(it, key, secret):
    content = Utils.hash(it["body"].encode(), ALGORITHM).hex()
    request = SimpleNamespace(method="POST", pathname="/", query=it["query"], headers=it["headers"])
    return Utils.get_authorization(request, ALGORITHM, content, key, secret)


def call(products, it, done):
    try:
        return {"ok": products[it["product"]].call(it["action"], filled(it.get("parameters", {}), done))}
    except SystemExit:
        raise
    except Exception as refused:
        if getattr(refused, "code", None) is None:
            raise
        return {"error": {"status": getattr(refused, "status_code", None), "code": refused.code}}


def main():
    url, key, secret = sys.argv[1:4]
    protocol, endpoint = url.split("://")
    session = sys.argv[4] if len(sys.argv) > 4 else None
    config = Config(
        access_key_id=key, access_key_secret=secret, security_token=session, endpoint=endpoint, protocol=protocol,
        region_id="cn-hangzhou",
    )
    calls = json.load(sys.stdin)
    products = {name: Product(name, config) for name in {it["product"] for it in calls if "product" in it}}
    done = []
    for it in calls:
        done.append({"ok": signed(it["sign"], key, secret)} if "sign" in it else call(products, it, done))
    json.dump(done, sys.stdout)


main()
