"""Oversize lines of protocol v2: a run of ``rpc_chunk`` lines becomes the one value it carries (omp, "RPC framing").

``{type, chunkId, index, count, byteLength, data}``, ``data`` base64 of a slice of the UTF-8 JSON, in order, nothing between.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from pydantic_core import from_json

MAX_FRAME = 64 * 1024 * 1024
"""What a whole frame may have, in bytes (``maxReassembledFrameBytes`` of the ready frame)."""


class Broken(Exception):
    """A run of chunks that makes no value; the text says why. Never leaves this package."""


class Frames:
    """The run of chunks being read, if one is."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self.limit = limit
        self._id: Any = None
        self._parts: list[bytes] = []
        self._size = 0
        self._skip: Any = None  # the run that is left out: it was said already

    @property
    def open(self) -> bool:
        """Is a run unfinished?"""
        return bool(self._parts)

    def drop(self) -> None:
        """Something else came in between: what was read of the run is lost."""
        self._id, self._parts, self._size = None, [], 0

    def chunk(self, value: dict[str, Any]) -> Any:
        """The next chunk; returns the value once it is whole, else None. Raises :class:`Broken`, once for each run."""
        chunk_id, index, count = value.get("chunkId"), value.get("index"), value.get("count")
        if self._skip is not None and chunk_id == self._skip:
            return None
        if index == 0:
            self.drop()
            self._id, self._skip = chunk_id, None
        elif chunk_id != self._id or index != len(self._parts):
            self._fail(chunk_id, f"chunk {index!r} came where chunk {len(self._parts)} was due")
        data = value.get("data")
        if type(index) is not int or type(count) is not int or not isinstance(data, str) or not 0 <= index < count:
            return self._fail(chunk_id, "a chunk of it cannot be read")
        try:
            part = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            self._fail(chunk_id, "a chunk of it is not base64")
        self._size += len(part)
        if self._size > self.limit:
            self._fail(chunk_id, f"it is longer than {self.limit >> 20} MiB")
        self._parts.append(part)
        if index < count - 1:
            return None
        whole = b"".join(self._parts)
        size = value.get("byteLength")
        self.drop()
        if isinstance(size, int) and size not in (len(whole), len(part)):
            self._fail(chunk_id, f"it has {len(whole)} bytes where {size} were announced")
        try:
            return from_json(whole, allow_inf_nan=False, cache_strings="keys")
        except ValueError:
            return self._odd(chunk_id, whole)

    def _odd(self, chunk_id: Any, whole: bytes) -> Any:
        """JSON the strict reader refuses, for a lone surrogate in it (which no encoder behind us would take)."""
        try:
            return _mend(json.loads(whole.decode("utf-8", "replace"), parse_constant=lambda name: None))
        except (ValueError, RecursionError):
            self._fail(chunk_id, "it is not JSON")

    def _fail(self, chunk_id: Any, why: str) -> Any:
        self.drop()
        self._skip = chunk_id
        raise Broken(why)


def _mend(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    return value
