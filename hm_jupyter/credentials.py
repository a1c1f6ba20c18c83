"""Which files mostly hold credentials, and which others no general leave to edit covers: one list, by name.

Of the vocabulary: the client and the built-in agent both go by it. Looks at names only, opens nothing.
"""

from __future__ import annotations

import re
from pathlib import PurePath

_SECRET_FILE = re.compile(
    r"\.env([.~_-].*)?|.+\.env|\.envrc|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|.+\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|[._]netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|\.vault-token|\.my\.cnf|\.boto|\.s3cfg"
    r"|\.dockercfg|\.terraformrc|rclone\.conf|auth\.json"
    r"|credentials(\.json|\.toml|\.ya?ml|\.ini|\.csv)?|secrets?\.(json|toml|ya?ml|env|ini)|service[-_]account.*\.json",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"\.env\.(example|sample|template|dist|defaults?)", re.IGNORECASE)
_SECRET_FOLDERS = {".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker", "gcloud", ".password-store"}
_RULES = {"guard.yaml", ".hm"}


def secret(path: str | PurePath) -> bool:
    """Whether a file of that name mostly holds credentials (a dotenv, a private key, an account of a tool)."""
    path = PurePath(path)
    if any(part.lower() in _SECRET_FOLDERS for part in path.parts[:-1]):
        return True
    if path.name.startswith(".") and path.name.lower() in _SECRET_FOLDERS:
        return True
    return bool(_SECRET_FILE.fullmatch(path.name)) and not _HARMLESS.fullmatch(path.name)


def guarded(path: str | PurePath) -> bool:
    """Whether no rule for edits in general covers a file of that name: what it holds is mostly secret, or is run by other
    programs (hooks, in ``.git``), or says what an agent may do (``guard.yaml``, ``.hm``)."""
    return secret(path) or any(part.casefold() in _RULES | {".git"} for part in PurePath(path).parts)
