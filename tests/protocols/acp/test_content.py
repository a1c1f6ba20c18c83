"""A message of ours as content blocks, gated by what the agent takes (ACP reference, sections 2 and 6)."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.commands import FollowUp, ImageData, Prompt, Steer
from hm_jupyter.events import Capabilities
from hm_jupyter.protocols.acp.content import gate, prompt_blocks

PICTURE = ImageData(data="AAAA", mime="image/png")


@pytest.mark.parametrize("kind", [Prompt, Steer, FollowUp])
def test_a_message_is_its_text_and_its_pictures(kind: Any) -> None:
    blocks, left_out = prompt_blocks(kind(text="look", images=[PICTURE]), Capabilities(images=True))
    assert blocks == [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]
    assert left_out == []


def test_what_the_agent_does_not_take_is_not_sent_and_said_pitfall_23() -> None:
    blocks, left_out = prompt_blocks(Prompt(text="look", images=[PICTURE]), Capabilities())
    assert blocks == [{"type": "text", "text": "look"}]
    assert len(left_out) == 1
    assert "no images" in left_out[0]


@pytest.mark.parametrize(("kind", "able"), [("image", "images"), ("audio", "audio"), ("resource", "resources")])
def test_every_kind_is_gated_by_its_capability_pitfall_23(kind: str, able: str) -> None:
    block = {"type": kind}
    assert gate([block], Capabilities(**{able: True})) == ([block], [])
    sent, left_out = gate([block], Capabilities())
    assert (sent, len(left_out)) == ([], 1)


def test_text_and_links_are_always_taken() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "resource_link", "uri": "file:///a", "name": "a"}]
    assert gate(blocks, Capabilities()) == (blocks, [])


def test_a_prompt_is_never_empty() -> None:
    assert prompt_blocks(Prompt(images=[PICTURE]), Capabilities())[0] == [{"type": "text", "text": ""}]
    assert prompt_blocks(Prompt(images=[PICTURE]), Capabilities(images=True))[0][0]["type"] == "image"
