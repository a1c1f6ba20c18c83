"""Functions and documents of the notebook's, offered to omp."""

from __future__ import annotations

from omp_talk import Talk

from hm_jupyter.protocols.base import HostCall, HostFailure

CALL = {"type": "host_tool_call", "id": "h1", "toolCallId": "c1", "toolName": "cell", "arguments": {"code": "1+1"}}


def test_a_call_of_a_host_tool_is_ours_to_do_and_its_result_goes_back() -> None:
    t = Talk().prompt()
    t.hears(CALL)
    assert t.calls == [HostCall("h1", "tool", {"name": "cell", "arguments": {"code": "1+1"}, "call_id": "c1"})]
    content = [{"type": "text", "text": "2"}]
    assert t.adapter.host_done("h1", {"content": content}).messages == [
        {"type": "host_tool_result", "id": "h1", "result": {"content": content}}
    ]
    assert t.adapter.host_done("h1", {"content": content}).messages == []


def test_one_that_fails_is_answered_as_failed() -> None:
    t = Talk().prompt()
    t.hears(CALL)
    (line,) = t.adapter.host_done("h1", HostFailure("failed", "NameError")).messages
    assert (line["isError"], line["result"]["content"][0]["text"]) == (True, "NameError")


def test_its_output_so_far_may_be_told() -> None:
    t = Talk().prompt()
    t.hears(CALL)
    (line,) = t.adapter.host_output("h1", "running").messages
    assert line == {
        "type": "host_tool_update",
        "id": "h1",
        "partialResult": {"content": [{"type": "text", "text": "running"}]},
    }
    assert t.adapter.host_output("h9", "x").messages == []


def test_one_that_nobody_waits_for_is_dropped() -> None:
    t = Talk().prompt()
    t.hears(CALL, {"type": "host_tool_cancel", "id": "h2", "targetId": "h1"})
    assert t.dropped == ["h1"]
    assert t.adapter.host_done("h1", {"content": []}).messages == []


def test_a_document_of_the_notebooks_is_read_and_written() -> None:
    t = Talk().prompt()
    t.hears({"type": "host_uri_request", "id": "u1", "operation": "read", "url": "cell://3"})
    t.hears({"type": "host_uri_request", "id": "u2", "operation": "write", "url": "cell://3", "content": "x = 2"})
    assert [(c.name, c.args["url"], c.args.get("content")) for c in t.calls] == [
        ("uri_read", "cell://3", None), ("uri_write", "cell://3", "x = 2"),
    ]  # fmt: skip
    read = t.adapter.host_done("u1", {"content": "x = 1", "content_type": "text/plain"}).messages
    assert read == [{"type": "host_uri_result", "id": "u1", "content": "x = 1", "contentType": "text/plain"}]
    assert t.adapter.host_done("u2", {}).messages == [{"type": "host_uri_result", "id": "u2"}]


def test_an_operation_nobody_knows_is_refused_and_a_failure_told() -> None:
    t = Talk().prompt()
    t.written()
    t.hears({"type": "host_uri_request", "id": "u1", "operation": "delete", "url": "cell://3"})
    assert (t.calls, t.written()[0]["isError"]) == ([], True)
    t.hears({"type": "host_uri_request", "id": "u2", "operation": "read", "url": "cell://3"})
    (line,) = t.adapter.host_done("u2", HostFailure("not_found", "no such cell")).messages
    assert (line["isError"], line["error"]) == (True, "no such cell")
