"""MCP servers, as people give them and as both versions of ACP want them (session/new, mcpServers)."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.protocols.acp.servers import servers


def test_a_program_is_written_without_a_type_in_v1_and_with_one_in_v2():
    (server,) = servers([{"name": "files", "command": "mcp-files", "args": ["."], "env": {"A": "b"}}])
    stdio = {"name": "files", "command": "mcp-files", "args": ["."], "env": [{"name": "A", "value": "b"}]}
    assert server.wire(1) == stdio
    assert server.wire(2) == {"type": "stdio", **stdio}


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_an_address_has_its_type_and_headers_in_both(kind: str):
    (server,) = servers([{"name": "web", "type": kind, "url": "https://h/mcp", "headers": {"A": "b"}}])
    wire = {"type": kind, "name": "web", "url": "https://h/mcp", "headers": [{"name": "A", "value": "b"}]}
    assert server.wire(1) == server.wire(2) == wire


def test_the_shapes_of_other_programs_are_understood():
    found = servers({"a": {"command": ["mcp", "x"], "args": ["y"]}, "b": {"url": "http://127.0.0.1:1/mcp"}})
    assert [(s.name, s.type, s.command, s.args) for s in found] == [
        ("a", "stdio", "mcp", ["x", "y"]),
        ("b", "http", "", []),
    ]
    assert servers(found) == found
    listed = servers([{"name": "c", "command": "m", "env": [{"name": "A", "value": "b"}]}])
    assert listed[0].env == {"A": "b"}
    assert servers([]) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mcp-files", "give a list"),
        ([{"command": "x"}], "number 1, name"),
        ([{"name": "a"}], "a: a stdio server"),
        ([{"name": "a", "type": "http"}], "a: a server of type http"),
        ([{"name": "a", "url": "ftp://h"}], "a: a server of type http"),
        ([{"name": "a", "command": "x", "comand": "y"}], "a, comand"),
        ([{"name": "a", "command": "x"}, {"name": "a", "command": "y"}], "twice"),
        (["x"], "number 1"),
    ],
)
def test_one_that_cannot_be_right_is_refused_by_name_and_field(given: Any, said: str):
    with pytest.raises(UsageError) as error:
        servers(given)
    assert said in str(error.value)


def test_what_it_is_given_secretly_is_in_no_repr_and_no_error():
    (server,) = servers([{"name": "a", "url": "https://h?key=hush", "headers": {"A": "hush"}}])
    assert "hush" not in repr(server)
    with pytest.raises(UsageError) as error:
        servers([{"name": "a", "command": "x", "env": {"A": "hush"}, "headers": {"B": "hush"}}])
    assert "hush" not in str(error.value)
