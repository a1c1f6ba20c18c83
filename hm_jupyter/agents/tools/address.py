"""Where an address of the web leads: is it one we fetch, and is what its name stands for out on the Internet?

Pure but for :func:`resolve`. What is not global (loopback, private, link-local, reserved) needs leave of its own.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit, urlunsplit

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAMES = ("localhost", "local", "internal", "lan", "home.arpa", "intranet", "corp", "home")


class BadAddress(ValueError):
    """An address that is not fetched; the text says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address taken apart. ``host`` is a name or an IP address, in lower case ASCII, without brackets."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _port(self.scheme) else f"{host}:{self.port}"

    def at(self, ip: str) -> str:
        """The same address with ``ip`` in the name's place: it is this one that is connected to."""
        parts = urlsplit(self.url)
        host = f"[{ip}]" if ":" in ip else ip
        return urlunsplit((self.scheme, f"{host}:{self.port}", parts.path or "/", parts.query, ""))


def parse(url: str, base: str = "") -> Address:
    """``url`` (relative to ``base`` if given), without its fragment. Raises :class:`BadAddress`."""
    try:
        url = urljoin(base, url) if base else url
        if any(c <= " " or c == "\x7f" or c == "\\" for c in url) or len(url) > 8000:
            raise BadAddress("the address holds spaces, control characters or backslashes, or is far too long")
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").rstrip("."), parts.port
        if scheme not in ("http", "https"):
            raise BadAddress("only addresses of http and https are fetched")
        if parts.username is not None or parts.password is not None:
            raise BadAddress("the address holds a name or password; fetch sends none")
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        if not host or any(c in host for c in "%<>^|/?#@"):
            raise BadAddress("the address has no proper host")
        if port == 0:
            raise BadAddress("the address has no proper port")
    except (ValueError, UnicodeError) as error:
        if isinstance(error, BadAddress):
            raise
        raise BadAddress(f"that is no address ({error})") from None
    at = Address("", scheme, host.lower(), port or _port(scheme))
    path = parts.path.encode("utf-8", "surrogateescape").decode("latin-1") if not parts.path.isascii() else parts.path
    whole = urlunsplit((scheme, at.authority, _quoted(path), _quoted(parts.query), ""))
    return Address(whole, at.scheme, at.host, at.port)


def _quoted(text: str) -> str:
    return "".join(c if "!" <= c <= "~" else f"%{ord(c):02X}" for c in text)


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that ``host`` is (in the odd forms the system takes too: 127.1, 0x7f000001), or None."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host)) if host[:1].isdigit() else None
    except OSError:
        return None


def is_global(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether ``ip`` is out on the Internet; what stands for an IPv4 address is judged as that."""
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_global(inner)
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def local_by_name(host: str) -> bool:
    """Whether a host is of this machine or its own network, going by what it is called."""
    ip = literal(host)
    if ip is not None:
        return not is_global(ip)
    return "." not in host or host.rpartition(".")[2] in _LOCAL_NAMES or host.endswith(".home.arpa")


async def resolve(address: Address) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """What the host stands for now, IPv4 first. Raises :class:`BadAddress` when nothing."""
    ip = literal(address.host)
    if ip is not None:
        return [ip]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BadAddress(f"there is no host called {address.host}") from None
    ips = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    return sorted(dict.fromkeys(ips), key=lambda i: i.version)
