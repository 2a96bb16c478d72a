"""Secrets of many kinds, made up by a seed, each in the places where agents meet them."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_B64 = _ALNUM + "+/"


class Planted(NamedTuple):
    """A secret, its kind, and a text that it stands in as a person or a program writes it."""

    kind: str
    secret: str
    text: str


def _some(rng: random.Random, size: int, letters: str = _ALNUM) -> str:
    return "".join(rng.choice(letters) for _ in range(size))


def _alone(form: Callable[[random.Random], str], *texts: str) -> Callable[[random.Random], tuple[str, str]]:
    """A secret that is known by its form, in sentences and outputs that do not name it."""

    def made(rng: random.Random) -> tuple[str, str]:
        secret = form(rng)
        return secret, rng.choice(texts or _PLACES).replace("§", secret)

    return made


_PLACES = (
    "use § for the deploy please",
    "remote: https://§@example.test/repo.git",
    "found in config.yaml:12:  value: §",
    "client = Client('§')",
    '{"stdout": "§\\n", "exit": 0}',
    "wrote /tmp/backup-§.txt",
    "  14\t- §",
)


def _jwt(rng: random.Random) -> str:
    parts = [json.dumps(one).encode() for one in ({"alg": "HS256", "typ": "JWT"}, {"sub": _some(rng, 12), "exp": 1})]
    head, body = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{head}.{body}.{_some(rng, 43)}"


def _private_key(rng: random.Random) -> tuple[str, str]:
    kind = rng.choice(("RSA ", "EC ", "OPENSSH ", ""))
    lines = [_some(rng, 64, _B64) for _ in range(6)]
    text = f"-----BEGIN {kind}PRIVATE KEY-----\n" + "\n".join(lines) + f"\n-----END {kind}PRIVATE KEY-----\n"
    form = rng.choice(("plain", "numbered", "escaped", "cut"))
    if form == "numbered":
        text = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 1))
    elif form == "escaped":
        text = json.dumps({"key": text})
    elif form == "cut":
        text = text[:300] + "\n[output cut]"
    return lines[2], text


def _in_address(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 14) + rng.choice("!-_~")
    scheme = rng.choice(("postgresql", "mysql", "mongodb+srv", "redis", "amqp", "https"))
    return secret, f"DATABASE_URL={scheme}://app:{secret}@db.internal.test:5432/main?sslmode=require"


def _bearer(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 40)
    return secret, rng.choice(
        (
            "curl -H 'Authorization: Bearer {}' https://api.test/v1",
            '{{"authorization": "Bearer {}"}}',
            "> authorization: bearer {}",
        )
    ).format(secret)


def _basic(rng: random.Random) -> tuple[str, str]:
    secret = base64.b64encode(f"admin:{_some(rng, 20)}".encode()).decode()
    return secret.rstrip("="), f"Authorization: Basic {secret}"


def _environment(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, rng.choice((8, 12, 24, 40)))
    name = rng.choice(
        ("DB_PASSWORD", "SECRET_KEY", "APP_SECRET", "SMTP_PASS", "API_KEY", "REDIS_PASSWORD", "ENCRYPTION_KEY")
    )
    return secret, rng.choice(("{}={}", "export {}={}", 'DEBUG=1\n{}="{}"\nPORT=80', "docker run -e {}={} app")).format(
        name, secret
    )


def _in_code(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 7, string.ascii_lowercase) + _some(rng, 4, string.digits) + _some(rng, 6)
    form = rng.choice(
        (
            'password = "{}"',
            "  apiKey: '{}',",
            '{{"client_secret": "{}"}}',
            'token: str = "{}"',
            "const authToken = `{}`",
            "db_password: {}",
        )
    )
    return secret, form.format(secret)


def _option(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 16)
    form = rng.choice(
        (
            "tool login --password {}",
            "tool --api-key={} run",
            "curl -u admin:{} https://x.test",
            "sshpass -p {} ssh host",
            "tool --auth-token '{}'",
        )
    )
    return secret, form.format(secret)


def _told(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 5, string.ascii_lowercase) + _some(rng, 5, string.digits)
    form = rng.choice(
        ("the password is {}", "password for staging is {}", "Password: {}", "the admin password was {}, change it")
    )
    return secret, form.format(secret)


def _near(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 32)
    form = rng.choice(
        (
            "here is the API key you need: {}",
            "our shared secret for the webhook is {}",
            "use this access token {} from now on",
        )
    )
    return secret, form.format(secret)


def _aws_secret(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 40, _B64)
    return secret, rng.choice(
        ("aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}", '"SecretAccessKey": "{}"')
    ).format(secret)


def _account_key(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 86, _B64)
    return secret, f"DefaultEndpointsProtocol=https;AccountName=store;AccountKey={secret}==;EndpointSuffix=core.test"


def _cookie(rng: random.Random) -> tuple[str, str]:
    secret = _some(rng, 48)
    return secret, f"< set-cookie: theme=dark; sid={secret}; Path=/; HttpOnly"


KINDS: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "aws access key": _alone(lambda rng: "AKIA" + _some(rng, 16, string.ascii_uppercase + "234567")),
    "aws secret key": _aws_secret,
    "google api key": _alone(lambda rng: "AIza" + _some(rng, 35)),
    "azure account key": _account_key,
    "anthropic key": _alone(lambda rng: "sk-ant-api03-" + _some(rng, 93)),
    "openai key": _alone(lambda rng: rng.choice(("sk-proj-", "sk-")) + _some(rng, 48)),
    "huggingface token": _alone(lambda rng: "hf_" + _some(rng, 34)),
    "github token": _alone(lambda rng: rng.choice(("ghp_", "gho_", "ghs_", "github_pat_")) + _some(rng, 40)),
    "gitlab token": _alone(lambda rng: "glpat-" + _some(rng, 20)),
    "slack token": _alone(lambda rng: f"xoxb-{_some(rng, 12, string.digits)}-{_some(rng, 24)}"),
    "stripe key": _alone(lambda rng: rng.choice(("sk_live_", "rk_live_")) + _some(rng, 24)),
    "npm token": _alone(lambda rng: "npm_" + _some(rng, 36)),
    "pypi token": _alone(lambda rng: "pypi-AgEIcHlwaS5vcmc" + _some(rng, 70)),
    "sendgrid key": _alone(lambda rng: f"SG.{_some(rng, 22)}.{_some(rng, 43)}"),
    "jwt": _alone(_jwt),
    "private key": _private_key,
    "password in an address": _in_address,
    "bearer header": _bearer,
    "basic header": _basic,
    "environment": _environment,
    "written in code": _in_code,
    "option of a command": _option,
    "told by a person": _told,
    "random near its name": _near,
    "cookie": _cookie,
}


def planted(count: int, seed: int = 24) -> Iterator[Planted]:
    """So many secrets, kind after kind."""
    rng = random.Random(seed)
    kinds = list(KINDS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        secret, text = KINDS[kind](rng)
        yield Planted(kind, secret, text)
