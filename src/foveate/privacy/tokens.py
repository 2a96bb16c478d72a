"""Tokens: credentials that are known by their form alone, wherever they stand.

Each form begins with a literal that is looked for first, and no part of it can match in two ways: a hostile text costs
a fixed number of steps per character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Span(NamedTuple):
    """Where a secret stands in a text, and of which kind it is."""

    start: int
    end: int
    kind: str


class TokenForm(NamedTuple):
    """A kind of token: the literals it is found by, what it looks like from there on, and how much stands before."""

    kind: str
    prefixes: tuple[str, ...]
    pattern: re.Pattern[str]
    before: int = 0


def token_spans(text: str) -> Iterator[Span]:
    """The tokens of known forms in a text."""
    for run in _RUN.finditer(text):
        at, end = run.span()
        while found := _PREFIX.search(text, at, end):
            span = _token_at(text, found)
            at = span.end if span is not None else found.start() + 1
            # Documentation writes a row of x.
            if span is not None and len(set(text[span.start : span.end])) > _FEW:
                yield span


def _token_at(text: str, found: re.Match[str]) -> Span | None:
    """The token that begins with a prefix which was found."""
    for form in TOKEN_FORMS:
        start = found.start() - form.before
        if found[0].startswith(form.prefixes) and start >= 0 and not _continues_word(text, start):
            token = form.pattern.match(text, start)
            if token is not None:
                return Span(start, token.end(), form.kind)
    return None


def _continues_word(text: str, at: int) -> bool:
    """Whether what stands before a place is part of the same word; an underscore parts words here.

    In the source of a string a word may follow the n of an escaped line break.
    """
    if at == 0 or not text[at - 1].isalnum():
        return False
    return not (at >= 2 and text[at - 2] == "\\" and text[at - 1] in "nrt")


def _form(kind: str, prefixes: str, pattern: str, *, before: int = 0) -> TokenForm:
    return TokenForm(kind, tuple(prefixes.split()), re.compile(pattern), before)


_FEW: Final = 8
_END: Final = r"(?![A-Za-z0-9])"

TOKEN_FORMS: Final[tuple[TokenForm, ...]] = (
    # Clouds.
    _form("aws-access-key", "AKIA ASIA ABIA ACCA", rf"[A-Z]{{4}}[A-Z2-7]{{16}}{_END}"),
    _form("google-api-key", "AIza", rf"AIza[\w-]{{35}}{_END}"),
    _form("google-oauth-token", "ya29. GOCSPX- 1//0", r"(?:ya29\.|GOCSPX-|1//0)[\w-]{20,}+"),
    _form("azure-client-secret", "8Q~ 7Q~", r"[\w~.-]{3}[78]Q~[\w~.-]{31,34}", before=3),
    _form("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"do[opr]_v1_[0-9a-f]{{64}}{_END}"),
    _form("alibaba-access-key", "LTAI", rf"LTAI[A-Za-z0-9]{{16,20}}{_END}"),
    _form("databricks-token", "dapi", rf"dapi[0-9a-f]{{32}}(?:-\d)?{_END}"),
    _form("heroku-key", "HRKU-", r"HRKU-[\w-]{30,}+"),
    _form("fly-token", "fo1_ fm1r_ fm2_", r"f(?:o1|m1r|m2)_[\w+/=,-]{32,}+"),
    _form("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}+"),
    _form("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}+", before=14),
    _form("pulumi-token", "pul-", rf"pul-[0-9a-f]{{40}}{_END}"),
    _form("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa.", r"dp\.(?:pt|st|ct|sa)\.[\w.-]{30,}+"),
    # Models.
    _form("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{16,}+"),
    _form("openrouter-key", "sk-or-", r"sk-or-[\w-]{20,}+"),
    _form("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"sk-[A-Za-z]{4,8}-[\w-]{20,}+"),
    # Names in style sheets begin with sk- as well.
    _form("openai-key", "sk-", rf"sk-(?=[a-zA-Z]{{0,40}}\d)[A-Za-z0-9]{{20,}}+{_END}"),
    _form("groq-key", "gsk_", rf"gsk_[A-Za-z0-9]{{40,}}+{_END}"),
    _form("huggingface-token", "hf_ api_org_", rf"(?:hf|api_org)_[A-Za-z0-9]{{30,}}+{_END}"),
    _form("replicate-token", "r8_", rf"r8_[A-Za-z0-9]{{36,}}+{_END}"),
    _form("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}+"),
    _form("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{32,}+"),
    _form("nvidia-key", "nvapi-", r"nvapi-[\w-]{50,}+"),
    _form("cerebras-key", "csk-", r"csk-[a-z0-9]{32,}+"),
    _form("langchain-key", "lsv2_pt_ lsv2_sk_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    # Forges and registries.
    _form("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,}+"),
    _form("github-token", "github_pat_", r"github_pat_\w{40,}+"),
    _form("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
          r"gl[a-z]{2,6}-[\w.-]{20,}+"),
    _form("bitbucket-token", "ATBB ATCTT3", r"AT(?:BB|CTT3)[\w=-]{28,}+"),
    _form("atlassian-token", "ATATT3", r"ATATT3[\w=-]{50,}+"),
    _form("npm-token", "npm_", rf"npm_[A-Za-z0-9]{{36,}}+{_END}"),
    _form("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,}+"),
    _form("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _form("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{20,}+"),
    _form("crates-token", "cio", rf"cio[A-Za-z0-9]{{32}}{_END}"),
    # Messages and payments.
    _form("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-",
          r"(?:xox[a-es-z]|xoxo|xoxp|xoxr|xapp)[.-][\w%.-]{16,}+"),
    _form("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,}+"),
    _form("discord-webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
          r"discord(?:app)?\.com/api/webhooks/\d{15,21}/[\w-]{50,}+"),
    _form("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rf"[sr]k_(?:live|test)_[A-Za-z0-9]{{16,}}+{_END}"),
    _form("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+"),
    _form("twilio-key", "SK", rf"SK[0-9a-f]{{32}}{_END}"),
    _form("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    _form("mailgun-key", "key-", rf"key-[0-9a-f]{{32}}{_END}"),
    _form("square-token", "sq0atp- sq0csp- sq0idp-", r"sq0(?:atp|csp|idp)-[\w-]{22,}+"),
    _form("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    # Services of a team.
    _form("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+"),
    _form("notion-token", "ntn_", rf"ntn_[A-Za-z0-9]{{40,}}+{_END}"),
    _form("figma-token", "figd_ figo_", r"fig[do]_[\w-]{36,}+"),
    _form("grafana-token", "glc_ glsa_", r"gl(?:c|sa)_[\w=+/-]{32,}+"),
    _form("newrelic-key", "NRAK- NRJS-", rf"NR(?:AK|JS)-[A-Za-z0-9]{{19,27}}{_END}"),
    _form("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[\w=+/.-]{40,}+"),
    _form("dynatrace-token", "dt0c01. dt0s01.", r"dt0[cs]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _form("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _form("supabase-key", "sbp_ sb_secret_", r"(?:sbp|sb_secret)_[\w-]{20,}+"),
    _form("planetscale-password", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}+"),
    _form("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    # Its head is an object in JSON; how long it may be is bounded, as another head may begin at each third character.
    _form("jwt", "eyJ", r"eyJ[\w-]{8,4000}+\.(?:eyJ)?[\w-]{8,}+(?:\.[\w-]*+){0,3}"),
)  # fmt: skip

# Every token is a run of such characters; most lines of code have none that is so long.
_RUN: Final = re.compile(r"[A-Za-z0-9_~+/=.-]{20,}+")
_PREFIX: Final = re.compile(
    "|".join(sorted({re.escape(one) for form in TOKEN_FORMS for one in form.prefixes}, key=len, reverse=True))
)
