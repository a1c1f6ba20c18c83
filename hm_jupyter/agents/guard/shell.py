"""A shell command line, read strictly: every simple command in it, wherever it stands.

What runs is ``/bin/sh``: dash on one machine, bash on the next. Only what all of them read alike is read here; anything
else raises :class:`Unreadable`, and an unreadable line is never allowed by a rule. Nothing is expanded: a word that the
shell would change (``$x``, ``*.py``, ``{a,b}``, ``~``) is *unknown*. Knows no rules and touches no files.

Source: POSIX.1-2017, Shell Command Language, 2.2 (quoting), 2.3 (tokens), 2.7 (redirection), 2.10 (grammar).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

UNKNOWN = "\0"
"""Stands in a word's text for what only the shell will know. A command line cannot hold it."""

MAX_LENGTH = 20_000
_MAX_DEPTH = 16

_META = " \t\n;&|()<>"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_DELIMITER = re.compile(r"""(?:([\w.-]+)|'([\w.-]+)'|"([\w.-]+)")(?=[\s;&|<>)]|$)""", re.ASCII)
_STOP = {"then", "else", "elif", "fi", "do", "done", "esac", "}", "in"}
RESERVED = {"if", "while", "until", "for", "case", "{", "!", *_STOP}
BASH_ONLY = {"function", "select", "coproc", "[[", "]]"}


class Unreadable(ValueError):
    """The line cannot be read, or not all shells would read it alike. The text says why, for a person."""


@dataclass(slots=True)
class Word:
    """One word. ``known``: the shell changes nothing of ``text``. ``bare``: nothing in it is quoted or expanded.
    ``many``: it may become several words, or none."""

    text: str
    known: bool = True
    bare: bool = True
    many: bool = False


@dataclass(slots=True)
class Redirect:
    """``op`` is one of ``< > >> >| <>``; a here-document is in :attr:`Simple.heredocs`."""

    op: str
    target: Word


@dataclass(slots=True)
class Simple:
    """One simple command. ``heredocs`` are the texts it gets as input (None: with expansions in it)."""

    words: list[Word] = field(default_factory=list)
    assigns: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    heredocs: list[str | None] = field(default_factory=list)


@dataclass(slots=True)
class Script:
    """All simple commands of a line, those in substitutions and compounds too; ``functions`` it defines."""

    commands: list[Simple] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)


def read(text: str, depth: int = 0) -> Script:
    """``text`` as commands. Raises :class:`Unreadable`."""
    if len(text) > MAX_LENGTH:
        raise Unreadable(f"it is longer than {MAX_LENGTH} characters")
    if any((c < " " and c not in "\n\t") or c == "\x7f" for c in text):
        raise Unreadable("it holds control characters")
    if depth > _MAX_DEPTH:
        raise Unreadable("it is nested too deeply")
    reader = _Reader(text, Script(), depth)
    reader.list_until(())
    if reader.at < len(text):
        raise Unreadable(f"there is a {text[reader.at]!r} that nothing opens")
    reader.no_open_heredoc()
    return reader.script


class _Reader:
    """Recursive descent over ``text`` from ``at`` on."""

    def __init__(self, text: str, script: Script, depth: int) -> None:
        self.text, self.at, self.script, self.depth = text, 0, script, depth
        self._heredocs: list[tuple[Simple, str, bool, bool]] = []

    # ---- characters ----

    def peek(self, n: int = 1) -> str:
        return self.text[self.at : self.at + n]

    def blanks(self) -> None:
        """Over blanks, comments and continued lines."""
        while True:
            if self.peek() in (" ", "\t"):
                self.at += 1
            elif self.peek(2) == "\\\n":
                if (self.at and self.text[self.at - 1] not in " \t\n;|&(") or self.text[self.at + 2 :][:1] == "#":
                    raise Unreadable("a line is continued in the middle of a word")
                self.at += 2
            elif self.peek() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def newlines(self) -> None:
        self.blanks()
        while self.peek() == "\n":
            self.at += 1
            self._bodies()
            self.blanks()

    def take(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def expect(self, token: str) -> None:
        self.newlines()
        if not self.take(token):
            raise Unreadable(f"{token!r} is missing")

    # ---- lists, pipelines, commands ----

    def list_until(self, ends: tuple[str, ...]) -> str:
        """Commands up to one of the reserved words ``ends`` (taken), or up to ``)``, ``;;`` or the end of the text."""
        while True:
            self.newlines()
            if not self.peek() or self.peek() == ")" or self.peek(2) == ";;":
                if ends:
                    raise Unreadable(f"{ends[-1]!r} is missing")
                return ""
            if end := self.reserved(*ends):
                return end
            self._and_or()
            self.blanks()
            if self.peek(2) in (";;", ";&", "&>", "|&"):
                if self.peek(2) == ";;":
                    continue
                raise Unreadable(f"not all shells read {self.peek(2)!r} alike")
            if self.peek() in (";", "&"):
                self.at += 1
            elif self.peek() not in ("\n", ")", ""):
                raise Unreadable(f"{self.peek()!r} stands where no command can")

    def _and_or(self) -> None:
        while True:
            self._command()
            self.blanks()
            if self.peek(2) in ("&>", "|&"):
                raise Unreadable(f"not all shells read {self.peek(2)!r} alike")
            if not (self.take("&&") or self.take("||") or self.take("|")):
                return
            self.newlines()

    def reserved(self, *names: str) -> str:
        """Takes the unquoted word at this place if it is one of ``names``."""
        for name in names:
            end = self.at + len(name)
            if self.text.startswith(name, self.at) and (end >= len(self.text) or self.text[end] in _META):
                self.at = end
                return name
        return ""

    def need(self, *names: str) -> str:
        self.newlines()
        found = self.reserved(*names)
        if not found:
            raise Unreadable(f"{names[0]!r} is missing")
        return found

    def _command(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise Unreadable("it is nested too deeply")
        self.blanks()
        while self.reserved("!"):
            self.blanks()
        if self.peek(2) == "((":
            raise Unreadable("not all shells read '((' alike")
        if self.take("("):
            self.list_until(())
            self.expect(")")
            self._tail()
        elif self.reserved("{"):
            self.list_until(("}",))
            self._tail()
        elif self.reserved("if"):
            self._if()
            self._tail()
        elif self.reserved("while", "until"):
            self.list_until(("do",))
            self.list_until(("done",))
            self._tail()
        elif self.reserved("for"):
            self._for()
            self._tail()
        elif self.reserved("case"):
            self._case()
            self._tail()
        else:
            self._simple()
        self.depth -= 1

    def _if(self) -> None:
        self.list_until(("then",))
        while True:
            end = self.list_until(("elif", "else", "fi"))
            if end == "fi":
                return
            if end == "else":
                self.list_until(("fi",))
                return
            self.list_until(("then",))

    def _for(self) -> None:
        self.blanks()
        name = _NAME.match(self.text, self.at)
        if not name:
            raise Unreadable("a for without a plain name")
        self.at = name.end()
        self.script.commands.append(Simple(assigns=[(name[0], Word(UNKNOWN, False, False, True))]))
        self.newlines()
        if self.reserved("in"):
            self.blanks()
            while self.peek() not in (";", "\n", ""):
                self.word()
                self.blanks()
        self.blanks()
        self.take(";")
        self.need("do")
        self.list_until(("done",))

    def _case(self) -> None:
        self.blanks()
        self.word()
        self.need("in")
        while True:
            self.newlines()
            if self.reserved("esac"):
                return
            self.take("(")
            while True:
                self.blanks()
                self.word()
                self.blanks()
                if not self.take("|"):
                    break
            self.expect(")")
            self._branch()
            if not self.take(";;"):
                self.need("esac")
                return

    def _branch(self) -> None:
        """The commands of a case's branch: up to ``;;`` (left there) or ``esac`` (left there)."""
        while True:
            self.newlines()
            start = self.at
            if self.peek(2) == ";;" or self.reserved("esac"):
                self.at = start
                return
            if not self.peek() or self.peek() == ")":
                raise Unreadable("'esac' is missing")
            self._and_or()
            self.blanks()
            if self.peek(2) in (";;", ";&", "&>"):
                if self.peek(2) != ";;":
                    raise Unreadable(f"not all shells read {self.peek(2)!r} alike")
            elif self.peek() in (";", "&"):
                self.at += 1
            elif self.peek() != "\n":
                raise Unreadable("'esac' is missing")

    def _tail(self) -> None:
        """Redirections behind a compound command."""
        simple = Simple()
        self.blanks()
        while self._redirect(simple):
            self.blanks()
        if simple.redirects or simple.heredocs:
            self.script.commands.append(simple)
        if self.peek() not in ("", "\n", ";", "&", "|", ")"):
            raise Unreadable(f"{self.peek()!r} stands where no command can")

    def _simple(self) -> None:
        simple = Simple()
        self.script.commands.append(simple)
        while True:
            self.blanks()
            if self._redirect(simple):
                continue
            if self.peek() == "(":
                self._function(simple)
                return
            if not self.peek() or self.peek() in _META:
                break
            start = self.at
            assign = None if simple.words else _ASSIGN.match(self.text, self.at)
            word = self.word(assignment=bool(assign))
            if assign:
                if assign[0].endswith("+="):
                    raise Unreadable("not all shells read '+=' alike")
                value = Word(word.text[len(assign[0]) :], word.known, word.bare, word.many)
                simple.assigns.append((assign[1], value))
                continue
            if not simple.words and word.bare and (word.text in RESERVED or word.text in BASH_ONLY):
                raise Unreadable(f"{self.text[start : self.at]!r} stands where no command can, or only bash reads it")
            simple.words.append(word)
        if not simple.words and not simple.assigns and not simple.redirects and not simple.heredocs:
            raise Unreadable("a command is missing")

    def _function(self, simple: Simple) -> None:
        if len(simple.words) != 1 or simple.assigns or simple.redirects or not _NAME.fullmatch(simple.words[0].text):
            raise Unreadable("a '(' stands where none can")
        self.at += 1
        self.blanks()
        self.expect(")")
        self.newlines()
        self.script.commands.remove(simple)
        self.script.functions.append(simple.words[0].text)
        if self.peek() != "(" and not re.compile(r"\{\s").match(self.text, self.at):
            raise Unreadable("a function's body is no group")
        self._command()

    # ---- redirections and here-documents ----

    def _redirect(self, simple: Simple) -> bool:
        number = re.compile(r"\d*(?=[<>])").match(self.text, self.at)
        if not number:
            return False
        self.at = number.end()
        for op in ("<<<", "<<-", "<<", "<>", "<&", ">&", ">>", ">|", "<", ">"):
            if self.take(op):
                break
        if op == "<<<" or self.peek() in ("(", "&"):
            raise Unreadable(f"not all shells read {op + self.peek()!r} alike")
        self.blanks()
        if op in ("<<", "<<-"):
            self._heredoc(simple, op == "<<-")
            return True
        if not self.peek() or self.peek() in _META:
            raise Unreadable(f"a file is missing behind {op!r}")
        target = self.word()
        if op in ("<&", ">&"):
            if not re.fullmatch(r"\d+|-", target.text) or not target.bare:
                raise Unreadable(f"not all shells read {op!r} with a file alike")
            return True
        simple.redirects.append(Redirect(op, target))
        return True

    def _heredoc(self, simple: Simple, tabs: bool) -> None:
        found = _DELIMITER.match(self.text, self.at)
        if not found:
            raise Unreadable("a here-document with an unusual end word")
        self.at = found.end()
        self._heredocs.append((simple, found[1] or found[2] or found[3], found[1] is not None, tabs))

    def _bodies(self) -> None:
        """The bodies of the here-documents begun on the line that has just ended."""
        for simple, end, expands, tabs in self._heredocs:
            lines: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise Unreadable(f"the here-document's end, {end!r}, is missing")
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == end:
                    break
                if expands and line.endswith("\\"):
                    raise Unreadable("a here-document's line is continued")
                lines.append(line)
            body = "\n".join([*lines, ""])
            if expands and re.search(r"[$`\\]", body):
                inner = _Reader(body, self.script, self.depth + 1)
                inner.expansions()
                simple.heredocs.append(None)
            else:
                simple.heredocs.append(body)
            if self.at >= len(self.text):
                self.at = len(self.text)
        self._heredocs.clear()

    def expansions(self) -> None:
        """The commands in a here-document's body (double quotes' rules, but a ``"`` is nothing special)."""
        while self.at < len(self.text):
            if self.peek() == "\\":
                self.at += 2
            elif self.peek() in ("$", "`"):
                self._expansion([])
            else:
                self.at += 1

    def no_open_heredoc(self) -> None:
        if self._heredocs:
            raise Unreadable("a here-document's text is missing")

    # ---- words ----

    def word(self, *, assignment: bool = False) -> Word:
        """One word. Raises :class:`Unreadable` where there is none."""
        out: list[str] = []
        start = self.at
        known = bare = True
        many = False
        while self.at < len(self.text):
            c = self.peek()
            if c in _META:
                break
            if c == "'":
                bare = False
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise Unreadable("a quote is not closed")
                out.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif c == '"':
                bare = False
                self.at += 1
                known &= self._quoted(out)
            elif c == "\\":
                bare = False
                following = self.text[self.at + 1 : self.at + 2]
                if following in ("", "\n"):
                    if out or not following:
                        raise Unreadable("a line is continued in the middle of a word")
                    raise Unreadable("a line is continued where a word is expected")
                out.append(following)
                self.at += 2
            elif c in "$`":
                bare = False
                if self._expansion(out):
                    known, many = False, True
            else:
                # {} alone is a word of find's and of no shell's; [ alone is a command.
                alone = self.at == start and (self.at + 1 >= len(self.text) or self.text[self.at + 1] in _META)
                pair = self.at == start and re.compile(r"\{\}(?=[\s;&|()<>]|$)").match(self.text, self.at)
                if pair:
                    out.append("{}")
                    self.at += 2
                    continue
                if c in "*?[" and not (c == "[" and alone):
                    known, many = False, True
                    out.append(UNKNOWN)
                    if c == "[":
                        self._bracket()
                elif (c == "{" and not alone) or (c == "~" and (self.at == start or self.text[self.at - 1] in "=:")):
                    known = False
                    many = many or c == "{"
                    out.append(c if c == "~" else UNKNOWN)
                else:
                    out.append(c)
                self.at += 1
        if self.at == start:
            raise Unreadable(f"{self.peek()!r} stands where a word is expected" if self.peek() else "it ends too early")
        return Word("".join(out), known, bare and known, many and not assignment)

    def _bracket(self) -> None:
        """Up to the last character of a ``[…]``, which is one unknown; a ``[`` that is none stays one."""
        found = re.compile(r"""\[[!^]?\]?[^\s;&|()<>'"\\$`\]]*(\]?)""").match(self.text, self.at)
        if found and found[1]:
            self.at = found.end() - 1
        elif found and self.text[found.end() : found.end() + 1] not in ("", *_META):
            raise Unreadable("quotes in a [...]")

    def _quoted(self, out: list[str]) -> bool:
        """Up to the closing double quote; was all of it known?"""
        known = True
        while True:
            c = self.peek()
            if not c:
                raise Unreadable("a quote is not closed")
            if c == '"':
                self.at += 1
                return known
            if c == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                if following == "\n":
                    if self.text[self.at - 1] in "$`{\\":
                        raise Unreadable("a line is continued in the middle of a word")
                elif following and following in '$`"\\':
                    out.append(following)
                else:
                    out.append("\\" + following)
                self.at += 2
            elif c in "$`":
                known &= not self._expansion(out, quoted=True)
            else:
                out.append(c)
                self.at += 1

    def _expansion(self, out: list[str], *, quoted: bool = False) -> bool:
        """A ``$…`` or backticks; False: it was just a dollar sign."""
        if self.take("`"):
            self._backticks(quoted)
        elif self.peek(3) == "$((":
            self._arithmetic()
        elif self.take("$("):
            inner = _Reader(self.text, self.script, self.depth + 1)
            inner.at = self.at
            if inner.depth > _MAX_DEPTH:
                raise Unreadable("it is nested too deeply")
            inner.list_until(())
            inner.no_open_heredoc()
            self.at = inner.at
            if not self.take(")"):
                raise Unreadable("a $( is not closed")
        elif self.take("${"):
            home = self.take("HOME}")
            if home and not out:
                out.append("~")
                return True
            if not home:
                self._parameter(quoted)
        elif found := re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])").match(self.text, self.at):
            self.at = found.end()
            if found[1] == "HOME" and not out:
                out.append("~")  # so that a path that starts with it can be looked at
                return True
        elif self.peek(2) in ("$'", '$"', "$[", "$\\") and not (quoted and self.peek(2) in ("$'", '$"')):
            raise Unreadable(f"not all shells read {self.peek(2)!r} alike")
        else:
            out.append("$")
            self.at += 1
            return False
        out.append(UNKNOWN)
        return True

    def _backticks(self, quoted: bool) -> None:
        out: list[str] = []
        while True:
            c = self.peek()
            if not c:
                raise Unreadable("a backtick is not closed")
            self.at += 1
            if c == "`":
                break
            if c == "\\":
                following = self.peek()
                if following == "\n" or (quoted and following == '"'):
                    raise Unreadable("not all shells read these backticks alike")
                if following and following in "$`\\":
                    c = following
                    self.at += 1
            out.append(c)
        inner = read("".join(out), self.depth + 1) if "".join(out).strip() else Script()
        self.script.commands += inner.commands
        self.script.functions += inner.functions

    def _arithmetic(self) -> None:
        self.at += 3
        level = 0
        start = self.at
        while True:
            c = self.peek()
            if not c or c in "'\"\\\n;#&":
                raise Unreadable("an arithmetic expression that is unusual, or not closed")
            if c in "$`":
                self._expansion([])
                continue
            if c == ")" and level == 0:
                if not self.take("))"):
                    raise Unreadable("an arithmetic expression that is unusual, or not closed")
                if re.search(r"\w\s+[\w$]", self.text[start : self.at]):  # a $( ( for some shells
                    raise Unreadable("a $(( that may be a subshell in a $(")
                return
            level += (c == "(") - (c == ")")
            self.at += 1

    def _parameter(self, quoted: bool) -> None:
        found = re.compile(r"#?([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(:?[-+=?]|%%?|##?)?").match(self.text, self.at)
        if not found:
            raise Unreadable("not all shells read this ${ alike")
        self.at = found.end()
        if not found[2] and self.peek() != "}":
            raise Unreadable("not all shells read this ${ alike")
        while True:
            c = self.peek()
            if not c or c in "\n'\"\\{":
                # Shells differ in how quotes in here go together with those around.
                raise Unreadable("quotes in a ${…}, or one that is not closed")
            if c == "}":
                self.at += 1
                return
            if c in "$`":
                self._expansion([], quoted=quoted)
            else:
                self.at += 1
