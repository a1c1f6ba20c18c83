"""Pictures without what is written beside the picture: comments, EXIF (camera, place, time), XMP, text chunks, what follows
the end.

Parts are left out, pixels are never touched, so nothing gets worse and animations go on. A photograph that must be
turned to be seen upright keeps just that of its EXIF. Sources: PNG (third edition) 5, JPEG (ITU T.81) B, GIF89a,
WebP container specification.
"""

from __future__ import annotations

from collections.abc import Iterator

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEEP = frozenset(b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP sBIT cICP bKGD pHYs acTL fcTL fdAT hIST".split())
_WEBP_KEEP = frozenset((b"VP8 ", b"VP8L", b"VP8X", b"ANIM", b"ANMF", b"ALPH", b"ICCP"))


def without_metadata(data: bytes) -> bytes | None:
    """The same picture bare; None when it is no PNG, JPEG, GIF or WebP, or cannot be read to its end."""
    try:
        if data.startswith(_PNG):
            return _png(data)
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return _gif(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except (IndexError, ValueError):
        pass
    return None


def _png(data: bytes) -> bytes:
    out, at = [_PNG], len(_PNG)
    while True:
        size, name = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 12 + size
        if len(name) < 4 or end > len(data):
            raise ValueError("cut off")
        if name in _PNG_KEEP:
            out.append(data[at:end])
        if name == b"IEND":
            return b"".join(out)
        at = end


def _jpeg(data: bytes) -> bytes:
    out, at = [data[:2]], 2
    while True:
        if data[at] != 0xFF:
            raise ValueError("no marker")
        while data[at + 1] == 0xFF:
            at += 1
        marker = data[at + 1]
        if marker == 0xDA:  # the pixels: to the end of the picture, whose marker cannot stand in them
            end = data.rfind(b"\xff\xd9")
            return b"".join([*out, *_scans(data, at)]) if end > at else _cut_off()
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if end > len(data) or end < at + 4:
            raise ValueError("cut off")
        part = data[at:end]
        if marker == 0xE1 and part[4:10] == b"Exif\0\0":
            out.append(_upright(part))
        elif (
            marker in (0xE0, 0xEE)
            or (marker == 0xE2 and part[4:15] == b"ICC_PROFILE")
            or not (0xE0 <= marker <= 0xEF or marker == 0xFE)
        ):
            out.append(part)
        at = end


def _cut_off() -> bytes:
    raise ValueError("cut off")


def _scans(data: bytes, at: int) -> Iterator[bytes]:
    """The scans of a JPEG, each with its head, up to the end of the picture; segments between them without metadata."""
    while True:
        marker = data[at + 1]
        if marker == 0xD9:
            yield data[at : at + 2]
            return
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        end = at + 2 + size
        if marker == 0xDA:
            while True:
                end = data.index(b"\xff", end)
                following = data[end + 1]
                if following == 0xFF:
                    end += 1
                elif following == 0 or 0xD0 <= following <= 0xD7:
                    end += 2
                else:
                    break
        if size < 2 or end > len(data):
            raise ValueError("cut off")
        if not (0xE0 <= marker <= 0xEF or marker == 0xFE):
            yield data[at:end]
        at = end


def _upright(part: bytes) -> bytes:
    """An EXIF segment with nothing in it but how the picture is turned; empty when it is not turned."""
    tiff = part[10:]
    order = {b"II*\0": "little", b"MM\0*": "big"}.get(tiff[:4])
    if order is None:
        return b""
    little = order == "little"

    def number(at: int, size: int) -> int:
        return int.from_bytes(tiff[at : at + size], "little" if little else "big")

    first = number(4, 4)
    for n in range(min(number(first, 2), 200)):
        entry = first + 2 + 12 * n
        if number(entry, 2) == 0x0112 and number(entry + 2, 2) == 3 and 1 < number(entry + 8, 2) <= 8:
            turn = number(entry + 8, 2)
            body = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01" + bytes((0, turn, 0, 0, 0, 0, 0, 0))
            return b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body
    return b""


def _gif(data: bytes) -> bytes:
    at = 13 + (3 << ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    out = [data[:at]]
    while True:
        kind = data[at]
        if kind == 0x3B:
            return b"".join([*out, b";"])
        if kind == 0x21:
            label = data[at + 1]
            end = _blocks(data, at + 2)
            loops = label == 0xFF and data[at + 3 : at + 14] in (b"NETSCAPE2.0", b"ANIMEXTS1.0")
            if label == 0xF9 or (loops and end - at == 19):
                out.append(data[at:end])
        elif kind == 0x2C:
            flags = data[at + 9]
            end = _blocks(data, at + 10 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0) + 1)
            out.append(data[at:end])
        else:
            raise ValueError("no block")
        at = end


def _blocks(data: bytes, at: int) -> int:
    while data[at]:
        at += 1 + data[at]
    return at + 1


def _webp(data: bytes) -> bytes:
    out, at = [], 12
    stop = min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= stop:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + size
        if end > len(data):
            raise ValueError("cut off")
        if name in _WEBP_KEEP:
            part = bytearray(data[at:end] + (b"\0" if size & 1 else b""))
            if name == b"VP8X":
                part[8] &= ~0x0C & 0xFF  # no EXIF, no XMP any more
            out.append(bytes(part))
        at = end + (size & 1)
    if not out:
        raise ValueError("empty")
    body = b"WEBP" + b"".join(out)
    return b"RIFF" + len(body).to_bytes(4, "little") + body
