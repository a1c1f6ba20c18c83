"""Who decides when nobody clicks: ``ask``, ``edits``, ``all``, ``deny``, or a function; and scripted answers.

Pure decisions. The controller carries them out, so that they count alike for every agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from ..commands import FileEdit
from ..errors import UsageError
from ..transcript import PendingApproval, PendingQuestion
from ..workspace.roots import guarded

WORDS = ("ask", "edits", "all", "deny")
REFUSES_ALL = "The policy for this session refuses every call that needs leave."

Verdict = Union[bool, str, Mapping[str, Any], None]
ApprovePolicy = Union[str, Callable[[PendingApproval], Verdict], Sequence[Verdict]]
Reply = Union[str, Mapping[str, Any], None]
AnswerPolicy = Union[Mapping[str, Reply], Sequence[Reply], Callable[[PendingQuestion], Reply], None]


@dataclass(slots=True)
class Ruling:
    """A decision a policy made (the fields of the ``Approve`` command)."""

    allow: bool
    note: str = ""
    for_session: bool = False
    edits: list[FileEdit] | None = None


def _plain_edit(request: PendingApproval) -> bool:
    """An edit, and none of a file that no rule for edits in general is for."""
    return request.category == "edit" and not any(
        map(guarded, (*request.paths, *(diff.path for diff in request.diffs)))
    )


@dataclass
class Policy:
    """What is decided without a person.

    ``approve``: ``"ask"`` leaves every call to the person, ``"edits"`` allows file edits (but of files that mostly hold
    secrets, and in ``.git``, where hooks are), ``"all"`` everything, ``"deny"`` nothing; a function gets the
    :class:`~hm_jupyter.transcript.PendingApproval` and returns a verdict; a sequence holds verdicts for the calls to come,
    in order. A verdict is True, False, ``"allow"``, ``"deny"``, None (ask), or a mapping with ``allow`` and optionally
    ``note``, ``for_session``, ``files`` (the paths to apply) or ``edits`` (``{path: content}``).

    ``answers``: answers to questions: a mapping of regular expressions (searched in the question) to answers, a
    sequence of answers to come, or a function. The answer to a form is a mapping of its fields.
    """

    approve: ApprovePolicy = "ask"
    answers: AnswerPolicy = None
    _next_verdict: int = field(default=0, repr=False)
    _next_answer: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.approve, str) and self.approve not in WORDS:
            raise UsageError(
                f"approve={self.approve!r}: give one of {', '.join(WORDS)}, or a function of the approval."
            )
        if isinstance(self.answers, str):
            raise UsageError('answers: give a list of answers or a mapping such as {"which database": "sqlite"}.')
        for pattern in self.answers if isinstance(self.answers, Mapping) else ():
            try:
                re.compile(pattern)
            except (re.error, TypeError) as error:
                raise UsageError(f"answers: {pattern!r} is no regular expression: {error}.") from None

    @property
    def name(self) -> str:
        """The policy in a word, for people."""
        return self.approve if isinstance(self.approve, str) else "scripted"

    @property
    def quick(self) -> bool:
        """Is a decision a look-up (and not a call of somebody's function)?"""
        return not callable(self.approve)

    def rule(self, request: PendingApproval) -> Ruling | None:
        """The decision on ``request``; None leaves it to the person. Raises ``UsageError`` for no verdict."""
        if isinstance(self.approve, str):
            if self.approve == "all" or (self.approve == "edits" and _plain_edit(request)):
                return Ruling(True)
            if self.approve == "deny":
                return Ruling(False, REFUSES_ALL)
            return None
        if callable(self.approve):
            return ruling(self.approve(request), request)
        if self._next_verdict >= len(self.approve):
            return None
        verdict = self.approve[self._next_verdict]
        self._next_verdict += 1
        return ruling(verdict, request)

    def answer(self, question: PendingQuestion) -> Reply:
        """The scripted answer to ``question``, or None. Raises ``UsageError`` for one that is no text (or, of a form, no
        mapping of its fields)."""
        reply = self._answer(question)
        if reply is None or isinstance(reply, str) or (isinstance(reply, Mapping) and question.form):
            return reply
        raise UsageError(f"{reply!r} is no answer: give text, or None to leave the question to the person.")

    def _answer(self, question: PendingQuestion) -> Any:
        if self.answers is None:
            return None
        if callable(self.answers):
            return self.answers(question)
        if isinstance(self.answers, Mapping):
            for pattern, text in self.answers.items():
                if re.search(pattern, question.text, re.IGNORECASE):
                    return text
            return None
        if self._next_answer >= len(self.answers):
            return None
        self._next_answer += 1
        return self.answers[self._next_answer - 1]


def ruling(verdict: Verdict, request: PendingApproval) -> Ruling | None:
    """A verdict as a ruling. Raises ``UsageError`` saying what a verdict may be."""
    if verdict is None or verdict == "ask":
        return None
    if isinstance(verdict, Ruling):
        return verdict
    if isinstance(verdict, bool):
        return Ruling(verdict)
    if verdict in ("allow", "deny"):
        return Ruling(verdict == "allow")
    if isinstance(verdict, Mapping) and isinstance(verdict.get("allow"), bool):
        edits = edits_of(verdict.get("edits"))
        if verdict.get("files") is not None:
            edits = [*chosen(request, verdict["files"]), *(edits or [])]
        return Ruling(verdict["allow"], str(verdict.get("note", "")), bool(verdict.get("for_session", False)), edits)
    raise UsageError(
        f"{verdict!r} is no verdict: return True, False, None (ask), or a mapping such as "
        '{"allow": False, "note": "run only the store\'s tests"}.'
    )


def chosen(request: PendingApproval, paths: Sequence[str]) -> list[FileEdit]:
    """The planned new contents of the named files only. Raises ``UsageError`` for a file the call does not change."""
    planned = {d.path: d.new for d in request.diffs if d.new is not None and not d.partial}
    missing = [p for p in paths if p not in planned]
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: not among the files this call changes ({', '.join(planned) or 'none'})."
        )
    return [FileEdit(path=p, content=planned[p] or "") for p in paths]


def edits_of(value: Any) -> list[FileEdit] | None:
    """``{path: content}`` or a list of ``{"path", "content"}`` as edits; None stays None."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return [FileEdit(path=str(k), content=str(v)) for k, v in value.items()]
    try:
        return [e if isinstance(e, FileEdit) else FileEdit(**e) for e in value]
    except (TypeError, ValueError) as error:
        raise UsageError('edits: give {"path": "whole new content"} for each file to apply.') from error
