"""Who asks: sessions that end, clocks that differ, and roles for tokens of service accounts."""

import datetime
import json

from moto.core.authorization import ActionAuthenticatorMixin
from moto.iam.access_control import IAMRequestBase
from moto.iam.models import iam_backends
from moto.sts.models import AssumedRole, sts_backends
from moto.sts.responses import TokenResponse

from .world import ACCOUNT, REGION, clock, now, replaces

# "Signature Version 4": a request is good for five minutes around its date.
SKEW = 300

# Tokens of service accounts that STS and Pod Identity take, each with the role of Pod Identity's association.
tokens = {}


def refusal(service, headers, form):
    """Why a request is refused before anybody looks at what it asks for: code, sentence and status."""
    if headers.get("authorization") is None:
        return _web_identity(form) if form.get("Action") == "AssumeRoleWithWebIdentity" else None
    date = headers.get("x-amz-date", "")
    try:
        signed = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()
    except ValueError:
        return "IncompleteSignature", f"Date must be in ISO-8601 'basic format'. Got '{date}'", 400
    at = datetime.datetime.fromtimestamp(clock(), datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    if abs(signed - clock()) > SKEW:
        # "Common errors" of EC2: RequestExpired. Those of the others: SignatureDoesNotMatch, with both times.
        if service == "ec2":
            return "RequestExpired", "Request has expired.", 400
        word = "expired" if signed < clock() else "not yet current"
        return "SignatureDoesNotMatch", f"Signature {word}: {date} is now {at}", 403
    key = headers["authorization"].partition("Credential=")[2].partition("/")[0]
    role = sts_backends[ACCOUNT]["aws"].get_assumed_role_from_access_key(key)
    if role is not None and role.ends < now():
        # "Common errors" of EC2: RequestExpired; of STS and Elastic Load Balancing: ExpiredToken.
        code = "RequestExpired" if service == "ec2" else "ExpiredToken"
        return code, "The security token included in the request is expired", 403
    return None


def _web_identity(form):
    # API_AssumeRoleWithWebIdentity: InvalidIdentityToken, AccessDenied.
    if form.get("WebIdentityToken") not in tokens:
        return "InvalidIdentityToken", "No OpenIDConnect provider found in your account", 400
    if _role(form.get("RoleArn")) is None:
        return "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", 403
    return None


@replaces(AssumedRole, "__init__")
def _begin(role, init, *args, **kwargs):
    init(*args, **kwargs)
    duration = kwargs["duration"] or 3600
    role.ends = now() + duration
    role.expiration = datetime.datetime.fromtimestamp(clock() + duration, datetime.timezone.utc).replace(tzinfo=None)


def end_all():
    """Ends all sessions."""
    for role in sts_backends[ACCOUNT]["aws"].assumed_roles:
        role.ends = 0


def _role(arn):
    roles = iam_backends[ACCOUNT]["aws"].roles.values()
    return next((it for it in roles if it.arn == arn), None)


# The body of the request that is answered now, as it came: there is one at a time.
body = b""


@replaces(IAMRequestBase, "_create_aws_request")
def _create_request(request, create):
    # "Signature Version 4", canonical request: the hash of the payload. moto hashes a form as it would have written it itself.
    request._body = body
    return create()


@replaces(TokenResponse, "_authenticate_and_authorize_normal_action")
def _authenticate(response, authenticate, resource="*"):
    # API_AssumeRoleWithWebIdentity: "Calling AssumeRoleWithWebIdentity does not require the use of AWS security credentials."
    if response._get_action() != "AssumeRoleWithWebIdentity":
        authenticate(resource)


def pod_identity(token):
    """What the agent of EKS Pod Identity answers: status and JSON. "How EKS Pod Identity works", "Container credential provider"."""
    role = tokens.get(token)
    if role is None:
        return 401, {"message": "the token is not known"}
    taken = session(role)
    end = datetime.datetime.fromtimestamp(clock() + 6 * 3600, datetime.timezone.utc)
    return 200, {
        "AccessKeyId": taken["id"],
        "SecretAccessKey": taken["secret"],
        "Token": taken["token"],
        "AccountId": ACCOUNT,
        "Expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def session(role):
    """A session of a role, which lasts for six hours: its keys."""
    taken = sts_backends[ACCOUNT]["aws"].assume_role(
        region_name=REGION, role_session_name="session", role_arn=role, policy=None, duration=6 * 3600, external_id=None
    )
    return {"id": taken.access_key_id, "secret": taken.secret_access_key, "token": taken.session_token}


def require_signatures():
    """From now on every request is judged by its signature, and by the policy of its user."""
    from moto import settings

    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    ActionAuthenticatorMixin.request_count = 0


def user(name, actions):
    """A user who may do these actions."""
    iam = iam_backends[ACCOUNT]["aws"]
    if name not in iam.users:
        iam.create_user(REGION, name)
    iam.put_user_policy(name, "allowed", policy(actions))
    key = iam.create_access_key(name)
    return {"id": key.access_key_id, "secret": key.secret_access_key}


def role(name, actions):
    """A role that may do these actions: its ARN."""
    iam = iam_backends[ACCOUNT]["aws"]
    trust = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:*", "Principal": "*"}]})
    made = iam.create_role(name, trust, "/", None, "", [], 3600)
    iam.put_role_policy(name, "allowed", policy(actions))
    return made.arn


def policy(actions):
    statement = [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
    return json.dumps({"Version": "2012-10-17", "Statement": statement})
