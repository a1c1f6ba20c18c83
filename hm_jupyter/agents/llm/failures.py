"""What went wrong with a model, for people: what happened, what the provider said, what to try; and whether to retry.

Reads pydantic-ai's exceptions by status, headers and words, so that several versions of it will do. A provider's
words are hostile text: cut short, one line, without control characters, without keys.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from ..providers import ContextTooLong, ModelError
from .keys import Secrets, how_to_give

LONGEST = 400
"""Characters of a provider's own message that are shown."""

_TOO_LONG = re.compile(
    r"prompt is too long|context.?length|context.?window|maximum context|input token count|too many (input )?tokens"
    r"|reduce the length|exceeds? the (model'?s? )?(maximum|available) (context|number of tokens)|input is too long"
    r"|exceed_context_size",
    re.I,
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing|spend.?limit", re.I)
_BUSY = re.compile(r"overloaded|over capacity|rate.?limit|too many requests|try again|temporarily|unavailable", re.I)
_BAD_KEY = re.compile(r"api.?key.{0,20}(not valid|invalid|incorrect)|(invalid|incorrect).{0,20}api.?key", re.I)
_OWN_PARTS = re.compile(r"signature|thinking|thought|reasoning|encrypted", re.I)


@dataclass(slots=True)
class Place:
    """Where a model is, as errors name it. ``key_variable`` "" where no key is sent."""

    provider: str
    model: str
    base_url: str
    key_variable: str
    secrets: Secrets


@dataclass(slots=True)
class Failure:
    """``error`` is what to raise; ``reason`` says it in a few words; ``wait``: seconds the provider asked for.

    ``plain``: the provider may take the conversation without the private parts of earlier answers.
    """

    error: ModelError
    reason: str
    retry: bool = False
    wait: float | None = None
    plain: bool = False


def failure(error: Exception, place: Place) -> Failure:
    """``error`` of a request told apart."""
    status = getattr(error, "status_code", None)
    said = _tidy(place.secrets.redact(_message(error)))  # cut last: half a key is not known for one
    kind = f"{type(error).__name__} {said} {getattr(error, 'provider_error_code', '') or ''} {_code(error)}"
    wait = getattr(error, "retry_after", None)
    if _is_context(kind) or status == 413:
        text = f"the conversation is too long for {place.model}: {said}. Compact it, or choose a model that takes more"
        return Failure(ContextTooLong(text), "the conversation is too long")
    if not isinstance(status, int) or status < 400:
        return _without_status(error, said, kind, place, wait)
    if _QUOTA.search(kind) and status in (400, 402, 403, 429):
        text = f"{place.provider} says the account's quota or credit is used up ({status}): {said}"
        return Failure(ModelError(f"{text}. Top it up, or choose another provider"), "quota used up")
    if status in (401, 403) or _BAD_KEY.search(kind):
        return Failure(ModelError(_key_text(status, said, place)), "key not accepted")
    if status == 404:
        text = (
            f"{place.provider} has no model {place.model!r} at {place.base_url} (404): {said}."
            f" Choose another model, or put base_url right in hm.toml"
        )
        return Failure(ModelError(text), "no such model")
    if status in (408, 409, 425, 429) or status >= 500:
        what = "is asked too often" if status == 429 else "is overloaded" if status in (503, 529) else "failed"
        reason = f"{place.provider} {what} ({status}): {said}"
        again = getattr(error, "provider_retry_hint", None) is not False  # X-Should-Retry, of OpenAI and Anthropic
        return Failure(ModelError(f"{reason}. Try again in a while"), reason, again, wait)
    text = f"{place.provider} did not take the request ({status}): {said}"
    fix = "Try another model or effort, or begin a new session"
    return Failure(ModelError(f"{text}. {fix}"), text, plain=status == 400 and bool(_OWN_PARTS.search(said)))


def _without_status(error: Exception, said: str, kind: str, place: Place, wait: float | None) -> Failure:
    """A connection that failed or broke off, or an error told within the stream."""
    from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior, UserError

    if _QUOTA.search(kind):
        text = f"{place.provider} says the account's quota or credit is used up: {said}. Top it up"
        return Failure(ModelError(text), "quota used up")
    if isinstance(error, UnexpectedModelBehavior) and "ended without" in said:
        return broken_off(place)
    if isinstance(error, UserError):
        text = f"{place.provider} cannot be used as it is set up: {said}"
        return Failure(ModelError(text), "set up wrongly")
    if re.search(r"certificate|CERTIFICATE_VERIFY|SSL", kind):
        text = f"the connection to {place.base_url} is not safe: {said}. Name your own authority in SSL_CERT_FILE"
        return Failure(ModelError(text), "no safe connection")
    if _is_transport(error):
        reason = f"no connection to {place.base_url}: {said}"
        return Failure(ModelError(f"{reason}. Is the server running, and is base_url right?"), reason, True, wait)
    if isinstance(error, ModelAPIError) or _BUSY.search(kind):
        reason = f"{place.provider} broke off: {said}"
        return Failure(ModelError(f"{reason}. Try again in a while"), reason, True, wait)
    text = f"{place.provider} answered in a way that is not understood: {said}"
    return Failure(ModelError(f"{text}. Is base_url the address of this kind of API?"), text)


def broken_off(place: Place) -> Failure:
    """A stream that ended before its end was told."""
    reason = f"{place.provider} broke off in mid-answer"
    return Failure(ModelError(f"{reason}. Try again in a while"), reason, True)


def _key_text(status: int, said: str, place: Place) -> str:
    if not place.key_variable:
        return (
            f"{place.base_url} wants a key ({status}): {said}. Name the environment variable that holds it as"
            f" key_variable of providers.{place.provider} in hm.toml"
        )
    what = "may not do this" if status == 403 else "was not accepted"
    return f"the key of {place.provider} {what} ({status}): {said}. Check it: {how_to_give(place.key_variable)}"


def _is_context(kind: str) -> bool:
    return bool(_TOO_LONG.search(kind)) or "ModelContextWindowExceeded" in kind or "context_length_exceeded" in kind


def _is_transport(error: BaseException | None) -> bool:
    while error is not None:
        module = type(error).__module__.partition(".")[0]
        if module in ("httpx", "httpx2", "httpcore", "httpcore2") or isinstance(error, OSError):
            return True
        if type(error).__name__ in ("APIConnectionError", "APITimeoutError", "ModelConnectionError"):
            return True
        error = error.__cause__
    return False


def _code(error: Exception) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    return " ".join(str(inner.get(k) or "") for k in ("code", "type", "status")) if isinstance(inner, dict) else ""


def _message(error: BaseException) -> str:
    """The provider's own words where it gave any, else the innermost reason."""
    found = _in_body(getattr(error, "body", None))
    if found:
        return found
    deepest: BaseException = error
    while deepest.__cause__ is not None:
        deepest = deepest.__cause__
    return str(deepest) or str(error) or type(deepest).__name__


def _in_body(body: Any) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, dict):
        for name in ("message", "error", "detail"):
            found = _in_body(body.get(name))
            if found:
                return found
    if isinstance(body, list) and body:
        return _in_body(body[0])
    return ""


def _tidy(text: str) -> str:
    line = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in text[: LONGEST * 4])
    line = " ".join(line.split())
    line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    return line.rstrip(". ") or "no reason given"
