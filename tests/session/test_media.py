"""Figures, pictures and data on their way into a prompt."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from hm_jupyter.errors import UsageError
from hm_jupyter.session.media import attachments, compose, describe, image_data, image_list, sniff


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize(("kind", "mime"), [("PNG", "png"), ("JPEG", "jpeg"), ("GIF", "gif"), ("WEBP", "webp")])
def test_the_four_formats_go_as_they_are(kind: str, mime: str):
    raw = picture(kind)
    sent = image_data(raw)
    assert (base64.b64decode(sent.data), sent.mime) == (raw, f"image/{mime}")


def test_another_format_becomes_a_png():
    assert sniff(base64.b64decode(image_data(picture("BMP")).data)) == "image/png"


def test_a_pillow_image_a_path_and_an_array_become_images(tmp_path: Path):
    numpy = pytest.importorskip("numpy")
    file = tmp_path / "a.png"
    file.write_bytes(picture("PNG"))
    for value in (Image.new("CMYK", (2, 2)), file, str(file), numpy.zeros((4, 4, 3), dtype="uint8")):
        assert sniff(base64.b64decode(image_data(value).data)) == "image/png"


def test_a_matplotlib_figure_and_its_axes_become_images():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    for value in (figure, axes):
        assert sniff(base64.b64decode(image_data(value).data)) == "image/png"


@pytest.mark.parametrize("value", [b"plain text", 7, "no/such/file.png", object()])
def test_what_is_no_image_is_refused_in_words(value: object):
    with pytest.raises(UsageError):
        image_data(value)


def test_one_image_need_not_be_in_a_list():
    assert len(image_list(picture("PNG"))) == 1
    assert image_list(None) == []


def test_a_data_frame_is_told_with_shape_and_dtypes_and_a_long_one_is_cut():
    pandas = pytest.importorskip("pandas")
    text = describe(pandas.DataFrame({"id": range(5000)}))
    assert "(5000, 1)" in text
    assert "int64" in text
    assert "4970 more rows" in text


def test_attachments_are_named_and_fenced_however_they_look():
    attached = attachments({"notes": "a ``` fence"})
    assert compose("read it", attached) == "read it\n\nnotes:\n````\na ``` fence\n````"
