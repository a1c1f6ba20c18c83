"""Where a remote agent is and what is shown to it: one URL, its headers and cookies; and what went wrong, in words.

Holds the secrets of a connection, and never tells them: not in its repr, not in the sentences it makes. Opens nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from http.cookiejar import CookieJar
from typing import Union
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx

from ..errors import TransportError, UsageError

Headers = Union[Mapping[str, str], Callable[[], Mapping[str, str]], None]

PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = {"accept", "content-type", "content-length", "host", "connection", "upgrade", "transfer-encoding"}


class Endpoint:
    """``headers``: sent with every request; a function is asked before each, so that a token may be renewed.
    ``cookies``: sent from the start; what the server sets is kept for the life of the connection (ACP reference 10).

    Raises ``UsageError`` for a URL or header that cannot be right, or when a secret would go over the net in the clear
    (``http://`` or ``ws://`` to another machine, unless ``insecure``).
    """

    def __init__(
        self,
        url: str,
        schemes: tuple[str, str],
        *,
        headers: Headers = None,
        cookies: Mapping[str, str] | None = None,
        insecure: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url
        self._headers = headers
        self._tls = tls
        parts = self._split(url, schemes)
        self.scheme = parts.scheme
        self.host = parts.hostname or ""
        self.secure = parts.scheme in ("https", "wss")
        self.loopback = is_loopback(self.host)
        self.jar = CookieJar()
        self._start_cookies = dict(cookies or {})
        for name, value in self._start_cookies.items():
            if not _NAME.fullmatch(name) or re.search(r"[\x00-\x20\x7f;,\"\\]|[^\x00-\x7f]", value):
                raise UsageError(f"The cookie {name!r} has a character that no cookie can have.")
        self.headers()  # to refuse bad ones at once
        secret = headers is not None and (callable(headers) or bool(headers))
        if (secret or cookies) and not self.secure and not self.loopback and not insecure:
            raise UsageError(
                f"{self.place} is not encrypted, so everybody on the way could read your headers and cookies. "
                f"Use {schemes[1]}://, or say insecure=True if the way is safe (a tunnel, a private network)."
            )

    @staticmethod
    def _split(url: str, schemes: tuple[str, str]) -> SplitResult:
        try:
            parts = urlsplit(url)
            good = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good or re.search(r"[\x00-\x20\x7f]", url):
            raise UsageError(f"An agent's address looks like {schemes[1]}://host/acp; this one does not.")
        if parts.username is not None or parts.password is not None:
            raise UsageError("Leave the name and password out of the address, and pass headers={'Authorization': …}.")
        return parts

    def __repr__(self) -> str:
        return f"<{self.place}>"

    @property
    def place(self) -> str:
        """The address for people: without its query, which may hold a secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def headers(self) -> dict[str, str]:
        """What is sent with the next request. Raises ``UsageError`` for one that cannot be sent."""
        given = self._headers() if callable(self._headers) else self._headers
        found: dict[str, str] = {}
        for name, value in (given or {}).items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise UsageError("A header's name has a character that no header can have.")
            if not isinstance(value, str) or re.search(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]", value):
                raise UsageError(f"The value of the header {name!r} cannot be sent (a line break, or no text).")
            if name.lower() in _OURS or name.lower().startswith("acp-"):
                raise UsageError(f"The header {name!r} is set by the connection itself; leave it out.")
            found[name] = value.strip()
        return found

    @property
    def renews(self) -> bool:
        """May the headers be others the next time they are asked for?"""
        return callable(self._headers)

    def cookies(self) -> CookieJar:
        """The jar, which all connections to this endpoint share."""
        if self._start_cookies:
            start = httpx.Cookies(self.jar)
            for name, value in self._start_cookies.items():
                # The jar knows a dotless host by this name (RFC 2965, effective host name).
                domain = self.host if "." in self.host or ":" in self.host else f"{self.host}.local"
                start.set(name, value, domain=domain)
            self._start_cookies = {}
        return self.jar

    def tls(self) -> ssl.SSLContext:
        """For all connections; the certificates of the system and of certifi (``SSL_CERT_FILE`` and ``SSL_CERT_DIR``
        instead, where they are set) unless a context was given."""
        if self._tls is None:
            self._tls = httpx.create_ssl_context()
            self._tls.load_default_certs()
        return self._tls

    def same_origin(self, location: str) -> str:
        """Where a redirect leads. Raises ``TransportError`` if that is not this very server, which nothing of ours may
        reach."""
        target = urljoin(self.url, location)
        try:
            one, other = urlsplit(self.url), urlsplit(target)
            here = (one.scheme, (one.hostname or "").lower(), one.port or PORTS.get(one.scheme))
            there = (other.scheme, (other.hostname or "").lower(), other.port or PORTS.get(other.scheme))
        except ValueError:
            raise TransportError(f"{self.place} redirects to something that is no address.") from None
        if here != there or other.username is not None:
            where = f"{other.scheme}://{other.netloc.rpartition('@')[2]}{other.path}"
            raise TransportError(
                f"{self.place} redirects to {self.scrub(where)}, another server, and your headers are not sent there. "
                "If you trust it, connect to that address instead."
            )
        return target

    def scrub(self, text: str) -> str:
        """``text`` from elsewhere without our secrets, and short."""
        for secret in self._secrets():
            if len(secret) >= 4:
                text = text.replace(secret, "…")
        return " ".join(text.split())[:300]

    def _secrets(self) -> Iterator[str]:
        try:
            values = list(self.headers().values())
        except Exception:  # the person's function failed, and we are only about to say something
            values = []
        for value in values:
            yield value
            yield value.rpartition(" ")[2]  # of "Bearer …"
        for cookie in self.jar:
            yield cookie.value or ""
        yield urlsplit(self.url).query

    def not_reached(self, why: str, *, advised: bool = False) -> str:
        """That no connection came about, in whole sentences; with what to look at, unless ``why`` tells (``advised``, or
        it goes on after its first sentence)."""
        to = "" if self.place in why else f" to {self.place}"
        end = "" if why.endswith("?") else "."
        advice = "" if advised or ". " in why else " Is it the address of an ACP endpoint, and does it run?"
        return f"No connection{to}: {why}{end}{advice}"

    def explain(self, error: BaseException) -> str:
        """Why no connection came about or it broke, in a sentence without the final full stop's advice."""
        for cause in _causes(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                why = cause.verify_message or "it is not valid"
                return (
                    f"the certificate of {self.host} is not trusted ({why}). If it is your own authority's, set "
                    "SSL_CERT_FILE to its certificate"
                )
            if isinstance(cause, ssl.SSLError):
                why = (cause.reason or "TLS failed").replace("_", " ").lower()
                return f"no secure connection to {self.host} came about ({why}). Does it speak {self.scheme}?"
        for cause in _causes(error):
            if isinstance(cause, ConnectionRefusedError) or "refused" in str(cause).lower():
                return f"nobody listens at {self.place}"
            if isinstance(cause, socket.gaierror):
                return f"{self.host} was not found ({self.scrub(cause.strerror or str(cause)).lower()})"
        name = type(error).__name__
        if "Timeout" in name or isinstance(error, TimeoutError):
            return f"{self.host} did not answer in time"
        if isinstance(error, httpx.ProxyError):
            return f"the proxy refused the connection ({self.scrub(str(error))}). See HTTPS_PROXY and NO_PROXY"
        text = self.scrub(str(error))
        return f"the connection to {self.host} failed ({text or name})"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 10:
        yield error
        seen += 1
        error = error.__cause__ or error.__context__


def is_loopback(host: str) -> bool:
    """Is this host this machine (by its name or address, without asking anybody)?"""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def status_words(status: int) -> str:
    """What an HTTP status means here, to go on with "(404)"."""
    return {
        400: "it did not understand the request",
        401: "it wants to know who you are",
        402: "it wants to be paid",
        403: "it does not let you in",
        404: "there is nothing at this address",
        405: "it does not speak ACP at this address",
        406: "it does not speak ACP at this address",
        407: "the proxy wants to know who you are",
        409: "somebody else reads this stream",
        410: "it is gone",
        413: "the message is too large for it",
        415: "it does not take JSON",
        421: "the request reached the wrong server",
        429: "too many requests",
        500: "it failed",
        501: "it cannot do that",
        502: "the server behind it is down",
        503: "it is not available now",
        504: "the server behind it did not answer",
    }.get(status, "it refused")


AUTH_HINT = "Pass headers={…} or token=… (with %hm start: --token $NAME), or renew the token if you did."
