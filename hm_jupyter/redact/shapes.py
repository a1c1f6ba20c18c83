"""Secrets told by their own look: the formats of well-known providers.

Every pattern begins where a word begins, and none of them looks further than one run of its own characters, so that the
whole is one pass over the text. The formats are the providers' published ones, or those secret scanners go by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span, View

W = r"[A-Za-z0-9_-]"
AN = r"[A-Za-z0-9]"

_SHAPES: list[tuple[str, str, str]] = [
    # kind, what it begins with (one of these; nothing: no fixed beginning), the format
    ("anthropic key", "sk-ant-", rf"sk-ant-{W}{{16,}}"),
    ("openrouter key", "sk-or-", rf"sk-or-{W}{{20,}}"),
    ("openai key", "sk-", rf"sk-(?:proj|svcacct|admin|service|None)-{W}{{20,}}"),
    ("openai key", "sk-", rf"sk-{W}{{16,80}}T3BlbkFJ{W}{{16,}}"),
    ("openai key", "sess-", rf"sess-{AN}{{40,}}"),
    ("deepseek key", "sk-", rf"sk-[0-9a-f]{{32}}(?!{AN})"),
    ("api key", "sk-", rf"sk-(?:[a-z0-9]{{2,10}}-){{0,2}}{AN}{{24,}}"),
    ("google key", "AIza", rf"AIza{W}{{30,}}"),
    ("google token", "ya29.", r"ya29\.[A-Za-z0-9._-]{20,}"),
    ("google secret", "GOCSPX-", rf"GOCSPX-{W}{{20,}}"),
    ("google token", "1//0", rf"1//0{W}{{30,}}"),
    ("aws key", "AKIA ASIA ABIA ACCA", rf"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}(?!{AN})"),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{AN}{{30,}}"),
    ("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab token", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-",
     rf"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct)-(?:[a-z0-9]{{2}}\.)?{W}{{20,}}(?:\.{W}+){{0,2}}"),
    ("slack token", "xox", rf"xox[abceoprs]-(?:\d-)?{W}{{10,}}"),
    ("slack token", "xapp-", rf"xapp-\d-{W}{{10,}}"),
    ("slack webhook", "hooks.slack.com", rf"hooks\.slack\.com/(?:services|workflows|triggers)/{AN}+/{AN}+/{AN}{{12,}}"),
    ("discord webhook", "discord.com/api/ discordapp.com/api/", rf"discord(?:app)?\.com/api/webhooks/\d{{15,22}}/{W}{{40,}}"),
    ("discord token", "", rf"[MNO]{W}{{22,28}}\.{W}{{6}}\.{W}{{27,45}}"),
    ("telegram token", "", rf"\d{{8,10}}:AA{W}{{33}}"),
    ("stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", rf"[sr]k_(?:live|test)_{AN}{{16,}}"),
    ("stripe key", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}"),
    ("hugging face token", "hf_ api_org_", rf"(?:api_org|hf)_{AN}{{30,}}"),
    ("npm token", "npm_", rf"npm_{AN}{{36,}}"),
    ("pypi token", "pypi-", rf"pypi-{W}{{50,}}"),
    ("twilio key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("sendgrid key", "SG.", rf"SG\.{W}{{16,32}}\.{W}{{16,64}}"),
    ("groq key", "gsk_", rf"gsk_{AN}{{40,}}"),
    ("xai key", "xai-", rf"xai-{AN}{{40,}}"),
    ("perplexity key", "pplx-", rf"pplx-{AN}{{40,}}"),
    ("cerebras key", "csk-", rf"csk-{AN}{{40,}}"),
    ("nvidia key", "nvapi-", rf"nvapi-{W}{{40,}}"),
    ("replicate token", "r8_", rf"r8_{AN}{{30,}}"),
    ("fireworks key", "fw_", rf"fw_{AN}{{22,}}"),
    ("tavily key", "tvly-", rf"tvly-(?:dev-|prod-)?{AN}{{20,}}"),
    ("jina key", "jina_", rf"jina_{W}{{40,}}"),
    ("langsmith key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d+)?"),
    ("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{60,}"),
    ("docker token", "dckr_", rf"dckr_(?:pat|oat)_{W}{{20,}}"),
    ("linear key", "lin_api_", rf"lin_api_{AN}{{32,}}"),
    ("notion token", "ntn_", rf"ntn_{AN}{{40,}}"),
    ("shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("square token", "sq0", rf"sq0(?:atp|csp|idp)-{W}{{22,}}"),
    ("mailgun key", "key-", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailchimp key", "", r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    ("new relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("postman key", "PMAK-", rf"PMAK-{W}{{50,}}"),
    ("heroku key", "HRKU-", rf"HRKU-{W}{{36,}}"),
    ("planetscale token", "pscale_", rf"pscale_(?:tkn|pw|oauth)_{W}{{30,}}"),
    ("atlassian token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,}"),
    ("figma token", "figd_", rf"figd_{W}{{30,}}"),
    ("grafana token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{30,}"),
    ("vault token", "hvs. hvb.", rf"hv[bs]\.{W}{{24,}}"),
    ("terraform token", "", rf"{AN}{{14}}\.atlasv1\.{W}{{40,}}"),
    ("sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_+/=]{40,}"),
    ("supabase token", "sbp_ sb_secret_", r"sb(?:p_[0-9a-f]{40}|_secret_[A-Za-z0-9_-]{20,})"),
    ("rubygems key", "rubygems_", r"rubygems_[0-9a-f]{40,}"),
    ("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    ("jwt", "eyJ", rf"eyJ{W}{{8,}}\.(?:eyJ)?{W}{{8,}}(?:\.{W}*)?(?:\.{W}*\.{W}*)?"),
]  # fmt: skip

# A word begins after anything but a letter, digit or "_"; also after an escape of JSON or of an address.
_BEGIN = re.compile(r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))")
_BEGIN_JWT = re.compile(r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))")
_LED = [(kind, literal, re.compile(p)) for kind, begins, p in _SHAPES for literal in begins.split()]
_SEARCHED = [(kind, re.compile(_BEGIN.pattern + p)) for kind, begins, p in _SHAPES if not begins]
_NEEDS = {"discord token": re.compile(rf"[MNO]{W}{{22,28}}\.{W}{{6}}\."), "telegram token": re.compile(r"\d:AA"),
          "mailchimp key": re.compile(r"[0-9a-f]-us\d"), "terraform token": re.compile(r"\.atlasv1\.")}  # fmt: skip
# The secret half of an AWS pair where it stands right behind the key's id.
_AWS_SECRET = re.compile(
    r"[\s\"',:;|=]{1,8}(?:secret|aws_secret_access_key)?[\s\"',:;|=]{0,8}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", re.I
)
_DIGIT = re.compile(r"\d")
_SURE = {"pypi token", "aws key", "jwt", "slack webhook"}


def kind_of(value: str) -> str:
    """The kind of a secret that has a format of its own, else ""."""
    return next((kind for kind, start, end in _matches(value) if start == 0 and end == len(value)), "")


def _believable(kind: str, found: str) -> bool:
    """Names and headings hold no digit, keys of this length nearly always do."""
    if kind in _SURE:
        return True
    body = found[3:]
    return bool(_DIGIT.search(body)) or (len(body) >= 30 and body != body.lower() and body != body.upper())


def _matches(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of everything with a format of its own; several may begin at one place."""
    for kind, literal, pattern in _LED:
        at = text.find(literal)
        while at >= 0:
            end = at + 1
            begins = _BEGIN_JWT if kind == "jwt" else _BEGIN
            if begins.match(text, at) and (m := pattern.match(text, at)) is not None:
                end = m.end()
                if _believable(kind, m[0]):
                    yield kind, at, end
            at = text.find(literal, end)
    for kind, pattern in _SEARCHED:
        if _NEEDS[kind].search(text):
            yield from ((kind, m.start(), m.end()) for m in pattern.finditer(text))


_ACROSS = re.compile(r"[A-Za-z0-9_.-]{2}\\?\r?\n[ \t]*[A-Za-z0-9_.-]{4}")


def may_hold_across(text: str) -> bool:
    """May a line end stand in the middle of a secret? Only where a word goes on, and one that is long for a word."""
    return bool(_ACROSS.search(text))


def _rank(kind: str) -> int:
    return 2 if kind == "api key" else 1  # of all those that begin with "sk-" the one that is nobody's in particular


def find(view: View) -> Iterator[Span]:
    """The secrets in ``view`` that have a format of their own."""
    for kind, start, end in _matches(view.text):
        yield Span(view.start(start), view.end(end), kind, _rank(kind))
        if kind == "aws key" and (pair := _AWS_SECRET.match(view.text, end)):
            yield Span(view.start(pair.start(1)), view.end(pair.end(1)), "aws key", 1)


def find_wrapped(view: View) -> Iterator[Span]:
    """The same where a line was broken in the middle of one: ``view`` is without line breaks.

    What stands on a further line belongs to it as long as it could be no word: it has a digit in it.
    """
    for kind, start, end in _matches(view.text):
        cuts = view.broken(start, end)
        if not cuts:
            continue
        for cut in reversed(cuts):
            if _DIGIT.search(view.text, cut, end) or end - cut >= 24:
                break
            end = cut
        if any(c < end for c in cuts) and kind_of(view.text[start:end]):
            yield Span(view.start(start), view.end(end), kind, _rank(kind))


_CUT = re.compile(
    _BEGIN.pattern + "(" + "|".join(re.escape(x) for _, b, _ in _SHAPES for x in b.split() if len(x) >= 4 and x[-1] in "-_.")
    + rf"){W}{{4,}}(?=\Z|\u2026|\.\.\.)"
)  # fmt: skip
_ENDS = re.compile("\u2026|\\.\\.\\.")
_TAIL = 200  # characters before a cut that are looked at


def find_cut(view: View) -> Iterator[Span]:
    """The beginning of one where a text was cut off, as titles are: at the end, or before an ellipsis."""
    text = view.text
    ends = [m.start() for m in _ENDS.finditer(text)] if "\u2026" in text or "..." in text else []
    for end in {*ends[:200], len(text)}:
        at = max(0, end - _TAIL)
        for m in _CUT.finditer(text, at, min(len(text), end + 3)):
            if m.end() == end and any(c.isdigit() for c in m[0][len(m[1]) :]):
                kind = next(kind for kind, begins, _ in _SHAPES if m[1] in begins.split())
                yield Span(view.start(m.start()), view.end(end), kind, 2)
