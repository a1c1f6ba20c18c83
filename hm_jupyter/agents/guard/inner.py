"""The commands that commands run: ``sudo``, ``env``, ``xargs``, ``find -exec``, ``sh -c``, ``eval`` and their like.

:func:`unfold` finds all that a line may run, for rules that forbid; :func:`runs` says what one command runs, for rules
that allow. Runs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .shell import BASH_ONLY, RESERVED, UNKNOWN, Script, Simple, Unreadable, Word, read

LAUNCHERS = set(
    "sudo doas su env nice nohup time timeout setsid stdbuf ionice chrt taskset chroot unshare nsenter strace ltrace"
    " xargs parallel watch flock script command builtin exec eval trap find fd ssh caffeinate busybox toybox coproc"
    " systemd-run runuser pkexec gosu setarch linux32 linux64 firejail bwrap proot fakeroot dbus-run-session xvfb-run"
    " entr screen tmux expect unbuffer gdb lldb valgrind perf hyperfine direnv npx bunx uvx pipx uv poetry pipenv hatch"
    " pdm rye conda mamba docker podman kubectl start-stop-daemon at batch crontab osascript open xdg-open alias".split()
)
"""Programs that run what their words say; a ``*`` covers none of these words."""

_MANAGERS = set(
    "docker podman kubectl uv poetry pipenv hatch pdm rye conda mamba npx bunx uvx pipx direnv screen tmux gdb lldb open"
    " xdg-open osascript crontab start-stop-daemon systemd-run".split()
)
"""Launchers with commands of their own (``docker rm``): what a rule is about *may* be what they run."""
_GIT_RUNS = {"bisect", "submodule", "rebase", "filter-branch", "difftool", "mergetool", "config", "hook"}

SHELLS = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "yash", "rbash", "fish", "csh", "tcsh"}
INTERPRETERS = re.compile(
    r"python[\d.]*|pypy[\d.]*|ipython[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*|lua[\d.]*|luajit|Rscript|R"
    r"|julia|tclsh|awk|gawk|mawk|nawk|sed|gsed|vi|vim|nvim|ex|ed|emacs|make|gmake|ghci|swift|jshell|groovy|sqlite3|psql"
    r"|mysql|m4|bc|dc|git|tar"
)
"""Programs with words that are programs in a language of their own, which nobody reads here."""

_TEXT = {"su", "script", "flock", "watch", "ssh", "trap", "eval", "env", "parallel", "at", "batch", "runuser", "alias"}
STATE = set(
    "alias unalias export readonly declare typeset local unset set shopt enable hash exec eval trap . source builtin"
    " bind complete let getopts umask ulimit pushd popd mapfile readarray read".split()
)
"""Builtins after which later words may mean something else, or that run what they read."""


def program(simple: Simple) -> str:
    """The program's name without its folder, as it is compared ("" where only the shell knows it)."""
    if not simple.words or UNKNOWN in simple.words[0].text or simple.words[0].many:
        return ""
    return simple.words[0].text.rstrip("/").rpartition("/")[2].casefold()


@dataclass(slots=True)
class Runs:
    """What one command runs besides itself. ``transparent``: it does nothing but that. ``unseen``: why it may run
    something that cannot be read here ("": it does not). ``texts``: the program texts that could not be read."""

    commands: list[Simple] = field(default_factory=list)
    transparent: bool = False
    unseen: str = ""
    texts: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)


def runs(simple: Simple, depth: int = 0) -> Runs | None:
    """What ``simple`` runs; None: nothing that is known of."""
    name = program(simple)
    if not simple.words:
        return None
    if not name:
        return Runs(unseen="what its first word stands for is known only to the shell")
    if name in SHELLS:
        return _shell(simple, depth)
    if name == "find":
        return _find(simple)
    if name in LAUNCHERS:
        return _launcher(simple, name, depth)
    if name in (".", "source"):
        return Runs(unseen=f"{name} runs a file in the same shell")
    if INTERPRETERS.fullmatch(name):
        texts = [word.text for word in simple.words[1:]]
        if name == "git" and not _GIT_RUNS & set(texts):
            texts = [text for text in texts if re.search(r"[=!]|::", text)]  # not what a commit's message says
        elif name == "git":
            texts = [" ".join(texts)]
        return Runs(texts=[*texts, *(h or UNKNOWN for h in simple.heredocs)])
    return None


def _of_text(word: Word, depth: int) -> Runs:
    if UNKNOWN in word.text or word.many:
        return Runs(unseen="it runs a text that only the shell knows", texts=[word.text])
    try:
        script = read(word.text, depth + 1) if word.text.strip() else Script()
    except Unreadable as error:
        return Runs(unseen=f"the text it runs cannot be read: {error}", texts=[word.text])
    return Runs(script.commands, functions=script.functions)


def _shell(simple: Simple, depth: int) -> Runs:
    words = simple.words[1:]
    name = program(simple)
    for i, word in enumerate(words):
        if not word.known:
            return Runs(unseen="it starts a shell with words that only the shell knows", texts=[w.text for w in words])
        if re.fullmatch(r"[-+][a-zA-Z]*c[a-zA-Z]*", word.text):
            rest = [w for w in words[i + 1 :] if not re.match(r"[-+]", w.text)]
            if not rest:
                return Runs(unseen="it starts a shell")
            found = _of_text(rest[0], depth)
            found.transparent = name in ("sh", "bash", "dash") and simple.words[0].text == name and (
                len(words) == 2 and word.text == "-c" and not found.unseen
            )  # fmt: skip
            if name not in ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash", "yash"):
                found.unseen = found.unseen or f"{name} has a language of its own"
                found.texts.append(rest[0].text)
            return found
        if not word.text.startswith(("-", "+")) or word.text in ("-", "-s", "--"):
            break
    else:
        i = len(words)
    operands = [w for w in words[i:] if not w.text.startswith("-")]
    if operands and not any(w.text == "-s" for w in words):
        return Runs()  # a file, like any other program
    out = Runs()
    for body in simple.heredocs:
        found = _of_text(Word(UNKNOWN if body is None else body), depth)
        out.commands += found.commands
        out.texts += found.texts
        out.unseen = out.unseen or found.unseen
    if not simple.heredocs:
        out.unseen = "it runs what it reads from its input"
    return out


def _find(simple: Simple) -> Runs | None:
    out = Runs()
    words = simple.words
    i = 1
    while i < len(words):
        if words[i].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((j for j in range(i + 1, len(words)) if words[j].text in (";", "+")), len(words))
            inner = [Word(UNKNOWN, False, False) if w.text == "{}" else w for w in words[i + 1 : end]]
            if inner:
                out.commands.append(Simple(inner))
            i = end
        elif not words[i].known:
            out.unseen = "words that only the shell knows may be an -exec"
        i += 1
    return out if out.commands or out.unseen else None


def _launcher(simple: Simple, name: str, depth: int) -> Runs:
    words = simple.words[1:]
    inner = _transparent(name, words) if simple.words[0].text == name else None
    if inner is not None:
        return Runs([inner], transparent=True)
    out = Runs()
    if name in _MANAGERS:
        vague = any(not w.known for w in words)
        return Runs(
            texts=[" ".join(w.text for w in words)], unseen=f"{name} runs what only the shell knows" if vague else ""
        )
    if name == "eval" and words:
        if any(w.many or not w.known for w in words):
            return Runs(unseen="eval runs a text that only the shell knows", texts=[w.text for w in words])
        return _of_text(Word(" ".join(w.text for w in words)), depth)
    last = [Word(UNKNOWN, False, False, True)] if name in ("xargs", "parallel") else []
    for i, word in enumerate(words):  # which word is the program differs from launcher to launcher: any may be
        assigns = []
        j = i
        while j < len(words) and (found := re.match(r"([A-Za-z_]\w*)=", words[j].text)):
            assigns.append((found[1], Word(words[j].text[found.end() :], words[j].known)))
            j += 1
        out.commands.append(Simple(words[j:] + last, assigns))
        if name in _TEXT:
            text = re.sub(r"^(-S|--split-string=|-c|--command=|\w+=)", "", word.text)
            if re.search(r"\s|[;&|$`]", text) or word.many or not word.known:
                found_in = _of_text(Word(text, word.known, False, word.many), depth)
                out.commands += found_in.commands
                out.texts += found_in.texts
                out.unseen = out.unseen or found_in.unseen
    if name in ("parallel", "at", "batch", "entr") or (name in ("su", "ssh") and simple.heredocs):
        out.unseen = f"{name} may run what it reads"
    return out


def _transparent(name: str, words: list[Word]) -> Simple | None:
    """What these words of ``name`` run, where they say nothing but that; None: not so simple."""
    if any(not w.known for w in words):
        return None
    texts = [w.text for w in words]
    i = 0
    assigns: list[tuple[str, Word]] = []
    if name == "time" and texts[:1] == ["-p"]:
        i = 1
    elif name == "nice" and texts[:1] == ["-n"] and re.fullmatch(r"-?\d+", "".join(texts[1:2])):
        i = 2
    elif name == "timeout" and re.fullmatch(r"\d+(\.\d+)?[smhd]?", "".join(texts[:1])):
        i = 1
    elif name == "env":
        while i < len(texts) and (found := re.match(r"([A-Za-z_][A-Za-z0-9_]*)=", texts[i])):
            assigns.append((found[1], Word(texts[i][found.end() :])))
            i += 1
    elif name not in ("time", "nice", "nohup", "command"):
        return None
    if i >= len(texts) or texts[i].startswith("-") or "=" in texts[i] or texts[i] in RESERVED | BASH_ONLY:
        return None
    return Simple(words[i:], assigns)


@dataclass(slots=True)
class Unfolded:
    """All that a line may run. ``sure`` and what is in it really runs or may; ``unseen`` says why there may be more."""

    commands: list[Simple] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    unseen: str = ""
    functions: list[str] = field(default_factory=list)


def unfold(script: Script) -> Unfolded:
    """Every command of ``script``, those that commands run among them."""
    out = Unfolded(functions=list(script.functions))
    todo = [(simple, 0) for simple in script.commands]
    while todo:
        simple, depth = todo.pop()
        out.commands.append(simple)
        if len(out.commands) > 2000:
            out.unseen = "it holds too many commands"
            break
        out.texts += [value.text for _, value in simple.assigns if len(value.text) > 1]
        found = runs(simple, depth)
        if found is None:
            continue
        out.texts += found.texts
        out.functions += found.functions
        out.unseen = out.unseen or found.unseen
        if depth < 5:
            todo += [(inner, depth + 1) for inner in found.commands if inner.words != simple.words]
        elif found.commands:
            out.unseen = out.unseen or "commands run commands too deeply"
    return out
