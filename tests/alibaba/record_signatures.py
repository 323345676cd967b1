"""Records requests that the signer of Alibaba Cloud's official SDK has signed, for the unit tests of the egress.

    tests/venv.sh alibaba "Alibaba Cloud's SDK" "a minute"
    target/alibaba/bin/python tests/alibaba/record_signatures.py > runtime/egress/src/credentials/acs3/vectors.json

The requests have the headers that the egress sends; which of them are signed, and how, the SDK says. The keys are of nobody.
"""

import json
import sys
from types import SimpleNamespace
from urllib.parse import quote

from alibabacloud_tea_openapi.utils import Utils

ALGORITHM = "ACS3-HMAC-SHA256"
ID = "LTAI5tNotARealKeyId00000"
SECRET = "not-a-real-secret-of-30-chars0"
SESSION = "CAIS+not/a/real=session"


def vector(name, product, version, action, query=(), form=None, session=None, nonce="0123456789abcdef0123456789abcdef"):
    query = dict(query)
    body = "" if form is None else "&".join(f"{quote(key, safe='~')}={quote(value, safe='~')}" for key, value in form)
    content = Utils.hash(body.encode(), ALGORITHM).hex()
    headers = {
        "x-acs-action": action,
        "x-acs-version": version,
        "x-acs-date": "2026-11-28T09:08:07Z",
        "x-acs-signature-nonce": nonce,
        "x-acs-content-sha256": content,
    }
    host = f"{product}.cn-hangzhou.aliyuncs.com"
    if form is not None:
        headers["content-type"] = "application/x-www-form-urlencoded"
    id = ID
    if session is not None:
        id = "STS.NotARealKeyId00000000"
        headers["x-acs-security-token"] = session
    signed = SimpleNamespace(method="POST", pathname="/", query=query, headers={**headers, "host": host})
    pairs = "&".join(f"{quote(key, safe='~')}={quote(value, safe='~')}" for key, value in query.items())
    return {
        "name": name,
        "id": id,
        "secret": SECRET,
        "session": session,
        "method": "POST",
        "host": host,
        "target": f"/?{pairs}" if pairs else "/",
        "headers": headers,
        "body": body,
        "authorization": Utils.get_authorization(signed, ALGORITHM, content, id, SECRET),
    }


REGION = ("RegionId", "cn-hangzhou")
interfaces = [(f"NetworkInterfaceId.{number}", f"eni-{number}") for number in range(1, 13)]
servers = json.dumps([{"ServerId": "i-1", "Port": 30080, "Weight": 100, "Type": "ecs"}])
json.dump(
    [
        vector("nothing", "ecs", "2014-05-26", "DescribeRegions"),
        vector(
            "query", "ecs", "2014-05-26", "DescribeInstances",
            [REGION, ("VpcId", "vpc-1"), ("MaxResults", "100"), ("InstanceIds", '["i-1","i-10"]'), ("NextToken", "a+b/c==")],
        ),
        vector("names in order", "ecs", "2014-05-26", "DescribeNetworkInterfaces", [REGION, *reversed(interfaces)]),
        vector(
            "form", "nlb", "2022-04-30", "CreateServerGroup",
            form=[REGION, ("ServerGroupName", "k8s.80.TCP.web.default.c1"), ("Tag.1.Key", "ack.aliyun.com"), ("Tag.1.Value", "c1")],
        ),
        vector("query and form", "slb", "2014-05-15", "CreateVServerGroup", [REGION], [("BackendServers", servers)]),
        vector("session", "vpc", "2016-04-28", "DescribeVpcAttribute", [REGION, ("VpcId", "vpc-1")], session=SESSION),
        vector(
            "unicode", "slb", "2014-05-15", "SetLoadBalancerName",
            [REGION, ("LoadBalancerName", "网 a*b~c_d-e.f'()!"), ("LoadBalancerId", "lb-1")],
        ),
        vector("empty values", "slb", "2014-05-15", "DescribeLoadBalancers", [REGION, ("Tags", ""), ("Tag.1.Value", "")]),
    ],
    sys.stdout, indent=1, ensure_ascii=False,
)
print()
