"""Which names are those of secrets (``DB_PASSWORD``, ``apiKey``), and which values beside such a name look like one.

A name is read as words, so that ``max_tokens``, ``password_hash`` and ``nextPageToken`` are not secrets. A value that
is code (``get_password()``), a type (``str``), a reference (``$TOKEN``) or a placeholder is none either.
"""

from __future__ import annotations

import re
from typing import Literal

Category = Literal["password", "secret", "token", "key", ""]

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_AFTER = frozenset(
    "value prod production dev test testing staging live old new current default b64 base64 plain "
    "plaintext raw main primary secondary".split()
)
_PASSWORDS = frozenset(
    "password passwd passwort pwd passphrase passcode userpass dbpass passw motdepasse contraseña".split()
)
_KEYS = frozenset("apikey secretkey accesskey privatekey authkey accountkey sharedkey masterkey".split())
_OF_KEY = frozenset(
    "api access secret private auth signing sign encryption master account storage service subscription app application "
    "admin shared session integration deploy webhook ssh rsa hmac aes jwt cipher sharedaccess write "
    "license server client".split()
)
_TOKENS = frozenset("token authtoken accesstoken refreshtoken idtoken jwt bearer pat".split())
_NO_TOKEN = frozenset(
    "next page continuation pagination cursor pad eos bos unk mask sep cls stop special max min start end first last "
    "per num n new this each current next sync skip the a one every image audio vision prompt "
    "delimiter cancellation cancel".split()
)  # fmt: skip
SUSPECT = re.compile(r"pass|pwd|secret|token|key|credential|auth|jwt|bearer|cookie|_pat\b", re.I)
"""Anything that may be part of a secret's name."""


def words(name: str) -> list[str]:
    """``dbPassword_2`` as ``["db", "password", "2"]``."""
    return [w.lower() for w in _WORDS.findall(name)]


def category(name: str) -> Category:
    """What the thing so called is; "" when it is no secret."""
    parts = words(name)
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _AFTER):
        parts.pop()
    if not parts:
        return ""
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if before in ("public", "pub", "publishable"):
        return ""
    if last in _PASSWORDS or last.endswith(("password", "passwd", "passphrase")) or (last in ("pass", "pw") and before):
        return "password"
    if last in ("secret", "credential", "credentials"):
        return "secret"
    if last in _TOKENS and before not in _NO_TOKEN and not (last in ("jwt", "bearer", "pat") and not before):
        return "token"
    if (
        last in _KEYS
        or last.endswith("apikey")
        or (last == "key" and before in _OF_KEY)
        or (last == "secret" and before)
    ):
        return "key"
    if last == "key" and name.isupper() and before not in ("primary", "foreign", "sort", "cache", "partition", "gpg"):
        return "key"
    return "secret" if last == "auth" and before == "" and name.startswith("_") else ""


# ---- values --------------------------------------------------------------------------------------------------------

_STOP = frozenset(
    "password passwd secret token apikey string str bytes int bool boolean number none null nil true false undefined "
    "required optional default unknown empty hidden invalid missing incorrect wrong expired basic bearer digest value "
    "username changeme placeholder example redacted prompt input text any object optional[str] secretstr self env "
    "keyring forgot reset bcrypt argon2 sha256 sha512 sha1 md5 pbkdf2 oauth oauth2 sha-256 base64 hs256 rs256 es256 "
    "hs512 rs512 utf-8 utf8 anonymous postgres admin production development testing localhost".split()
)
_REFERENCE = re.compile(
    r"[$<%{]|\[redacted|your[-_ ]|my[-_ ]?(?:pass|secret|token|api|key)|x{4,}|\*{3,}|\.{3}|…|example|placeholder|replace[-_ ]?"
    r"(?:me|with|this)|todo|insert[-_ ]|(?:os\.|process\.)?(?:environ|getenv)|env[.:(\[]|changeme|dummy"
    r"|not[-_ ]?(?:a|real)[-_ ]|(?:secret|vault|ref|file|arn|op|gcp|aws)[:+]",
    re.I,
)  # fmt: skip
_PLACE = re.compile(
    r"(?:~|\.{0,2}/|[A-Za-z]:\\)[^\s]*[/\\.]|[a-z][a-z0-9+.-]*://|\d{4}-\d\d-\d\d|v?\d+(?:\.\d+)+$|sha\d+[-:]"
    r"|[\w./-]+\.(?:json|ya?ml|toml|txt|pem|key|crt|py|[jt]sx?|env|cfg|ini|md|html?|go|rs|rb|java|sh|lock|log)$",
    re.I,
)  # fmt: skip
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*")
_WORD_LIKE = re.compile(r"[a-z]+(?:[-_. /:][a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z]?[a-z]+|[A-Z]+")
_KEYWORD = re.compile(r"pass|pwd|secret|token|key|cred|auth|login", re.I)
_CODE = re.compile(r"[(){}\[\]$<>|`\\]|::|->|=>")


def no_secret(value: str) -> bool:
    """A placeholder, a reference, a path, a date, a name: certainly none."""
    return (
        len(value) < 4
        or value.lower() in _STOP
        or bool(_REFERENCE.match(value))
        or ("{" in value and "}" in value)
        or "${" in value
        or bool(_PLACE.match(value))
        or bool(_VARIABLE.fullmatch(value))
        or len(set(value)) < 3
    )


def random_like(value: str, least: int = 8) -> bool:
    """Letters and digits mixed, in one piece: no word of a language, no name of code."""
    if len(value) < least or any(c.isspace() for c in value):
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if digits and letters:
        return True
    return (
        len(value) >= 20
        and letters > 0
        and value != value.lower()
        and value != value.upper()
        and not _WORD_LIKE.fullmatch(value)
    )


def quoted_secret(value: str, what: Category) -> bool:
    """Does a text in quotes, given to a secret's name, look like the secret?"""
    if no_secret(value):
        return False
    if any(c.isspace() for c in value):
        return (
            what == "password" and value.count(" ") >= 3 and value == value.lower() and value.replace(" ", "").isalpha()
        )
    if what in ("password", "secret"):
        least = 4 if what == "password" else 8
        return len(value) >= least and not (_WORD_LIKE.fullmatch(value) and _KEYWORD.search(value)) and (
            len(value) >= 6 or not value.isalpha()
        )  # fmt: skip
    return random_like(value)


def bare_secret(value: str, what: Category, place: Literal["line", "shell", "code", "text"]) -> bool:
    """Does a word without quotes look like one? ``place``: alone on its line, of a shell's variable or flag, in code, or
    anywhere else."""
    if no_secret(value) or _CODE.search(value):
        return False
    digits = any(c.isdigit() for c in value)
    name = bool(_IDENTIFIER.fullmatch(value))
    least = 6 if what == "password" else 8
    if place == "code":
        return random_like(value, 16 if name else 8) and (not name or sum(c.isdigit() for c in value) >= 3)
    if name and ("." in value or "->" in value or "::" in value):
        return False
    if name and _KEYWORD.search(value) and not random_like(value, 20):
        return False
    if place == "shell" and what in ("password", "secret"):
        return len(value) >= least and (digits or not _KEYWORD.search(value))
    if what == "password" and len(value) >= least:
        return digits or (not name and bool(re.search(r"[^\w.,:;'-]", value)))
    return random_like(value, least)
