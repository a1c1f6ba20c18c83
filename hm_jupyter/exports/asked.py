"""The words of what is said and asked besides calls: questions, forms and pages, plans, messages of the person.

Plain text in, plain text out, as in :mod:`.wording`; whoever writes them down escapes them.
"""

from __future__ import annotations

from ..transcript import PlanEntry, QuestionEntry, UserEntry
from . import safe


def answer(question: QuestionEntry) -> str:
    """What became of a question, without the answer's text."""
    if question.url and question.by == "you" and question.status in ("answered", "skipped"):
        return "You agreed to open it" if question.status == "answered" else "You declined"
    if question.status == "answered":
        return {
            "you": "You answered",
            "policy": "Answered by the session’s policy",
            "agent": "The agent answered it itself",
        }[question.by]
    return {
        "skipped": "You skipped it" if question.by == "you" else "Skipped: nobody could be asked",
        "withdrawn": "The agent withdrew its question",
        "interrupted": "Not answered: the turn ended first",
    }.get(question.status, "Not answered yet")


def reply(question: QuestionEntry) -> str:
    """The answer's text, by the label of the choice where it is one; "" where there is none to show."""
    if question.status != "answered" or (question.url and question.answer == question.url):
        return ""
    return {c.value: c.label or c.value for c in question.choices}.get(question.answer, question.answer)


def asked_for(question: QuestionEntry) -> str:
    """What a form that was not answered asked for; the answer names the fields itself."""
    if question.status == "answered" or not question.form:
        return ""
    return "Asked for: " + ", ".join(safe.one_line(f.title or f.name, 80) for f in question.form[:50]) + "."


# ---- plans, messages -----------------------------------------------------------------------------------------------------


def plan_head(plan: PlanEntry) -> str:
    """ "2 of 4 done", and that it was withdrawn; "" for one in prose."""
    kept = [i for i in plan.items if i.get("status") != "cancelled"]
    done = sum(i.get("status") == "done" for i in kept)
    parts = [f"{done} of {len(kept)} done" if kept else "", "withdrawn by the agent" if plan.removed else ""]
    return ", ".join(p for p in parts if p)


def plan_note(item: dict[str, str]) -> str:
    """What is to be said of an item behind its text: that it was cancelled, or how urgent it is while it is open."""
    status, priority = item.get("status"), item.get("priority")
    if status == "cancelled":
        return "cancelled"
    return f"{priority} priority" if priority in ("high", "low") and status != "done" else ""


def sent(message: UserEntry) -> str:
    """How a message of the person was delivered."""
    what = {"prompt": "You asked", "steer": "You steered", "follow_up": "You queued"}.get(message.delivery, "You wrote")
    if message.delivery == "prompt":
        return what
    return what + {"read": ", read by the agent", "dropped": ", never read by the agent"}.get(message.status, "")
