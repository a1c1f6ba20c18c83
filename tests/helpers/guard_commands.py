"""Command lines for the guard's tests, by what the rules of ``RULES`` must make of them."""

from __future__ import annotations

RULES = """
deny:
  - command: rm *
    reason: nothing is deleted here
  - command: git push {--force,-f}
  - command: curl *
  - path: "prod/**"
  - {tool: edit, path: "migrations/**"}
ask:
  - command: pip install *
allow:
  - command: [git status, "git diff *", "git log *", "git show *"]
  - command: "pytest *"
  - command: ["ls *", "cat *", "grep *", "find *", "tar *", "sort *", "wc *", "rg *", "ok *", "head *"]
  - command: "npm run {test,lint}"
  - command: ["python *", "bash *", "sed -n *", "make *"]
  - command: "xargs wc -l"
  - command: "git commit -m *"
  - {tool: edit, path: "out/**"}
"""


def lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


ALLOWED = [
    *lines(r"""
git status
  git   status
git diff
git diff --stat HEAD~1
git diff HEAD~1 -- a.txt
git log --oneline -n 5
git show HEAD
pytest
pytest -x -q tests
pytest tests/test_a.py::test_b
pytest -k 'not slow'
pytest -k "a and b"
ls
ls -la sub
cat a.txt
cat 'a.txt' "sub/b"
cat a\ b
cat < a.txt
grep -rn 'foo|bar' sub
grep '$x; rm -rf y' a.txt
grep "a && b" a.txt
find . -name '*.py' -type f
tar tf x.tar
sort -u a.txt
git status && pytest
git status; git diff
git status || ls
ls | grep a | sort | wc -l
git log --oneline | head -n 3
(git status)
{ git status; }
! git status
if git status; then ls; else pytest; fi
while git status; do ls; done
case x in a) ls;; *) cat a.txt;; esac
git status &
git status # a comment; rm x
echo hello && git status
cd sub && pytest
cd sub; ls
time pytest
nohup pytest
nice -n 5 pytest
timeout 60 pytest -x
env CI=1 pytest
CI=1 NO_COLOR=1 pytest
command ls
bash -c 'git status'
sh -c "git status && ls"
npm run test
npm run lint
python script.py --anything
bash build.sh
ls > /dev/null
ls 2>/dev/null
ls 2>&1 | wc -l
ls > out/list.txt
ls >> out/list.txt
pytest > out/log 2>&1
git commit -m 'rm the old files'
git commit -m "curl: a new section"
sed -n 1,20p a.txt
make test
ls | xargs wc -l
"""),
    "cat <<'EOF'\n$(rm x)\nEOF\ngit status",
    "git status\nls\n",
    "ls \\\n  sub",
    "ls |\n wc -l",
    "git status &&\n ls",
    "ls\t-l",
]
"""Every simple command in these is allowed by a rule."""

DENIED = [
    *lines(r"""
rm x
rm
rm -rf /
  rm x
/bin/rm x
/usr/bin/../bin/rm x
./rm x
RM x
r\m x
'rm' x
"rm" x
r''m x
r""m x
\rm x
'r'"m" x
FOO=1 rm x
PATH=/tmp rm x
git status; rm x
git status && rm x
git status || rm x
git status | rm x
git status & rm x
git status;rm x
git status&&rm x
(rm x)
( rm x )
( (git status); rm x)
{ rm x; }
! rm x
if true; then rm x; fi
if rm x; then :; fi
if true; then :; elif rm x; then :; fi
if true; then :; else rm x; fi
while rm x; do :; done
until rm x; do :; done
while true; do rm x; done
for f in a b; do rm $f; done
for f in $(rm x); do :; done
case a in a) rm x;; esac
case $(rm x) in a) :;; esac
case a in (a|b) :;; c) rm x; esac
f() { rm x; }; f
f() ( rm x )
git status $(rm x)
git status "$(rm x)"
git status `rm x`
git status "`rm x`"
echo $(echo $(rm x))
echo `echo \`rm x\``
echo ${x:-$(rm x)}
echo "${x:-$(rm x)}"
echo ${x:=`rm x`}
echo $((1 + $(rm x)))
x=$(rm x)
x=`rm x` git status
git status > $(rm x)
git status >out/x; rm x
>out/x rm x
<a.txt rm x
2>/dev/null rm x
sudo rm x
sudo -u root rm x
doas rm x
env rm x
env A=1 rm x
env -i rm x
env -u A rm x
env -S 'rm x'
env --split-string='rm x'
/usr/bin/env rm x
nice rm x
nice -n 5 rm x
nohup rm x
time rm x
time -p rm x
timeout 5 rm x
timeout -k 1 5 rm x
setsid rm x
stdbuf -oL rm x
ionice -c 3 rm x
chroot / rm x
command rm x
command -p rm x
builtin rm x
exec rm x
exec -a y rm x
strace -f rm x
busybox rm x
xargs rm
ls | xargs rm
ls | xargs -0 -n 1 rm -f
ls | xargs -I{} rm {}
find . -exec rm {} \;
find . -exec rm {} +
find . -execdir rm {} ';'
find . -ok rm {} \;
find . -name x -o -exec rm {} \;
find . -exec sh -c 'rm x' \;
bash -c 'rm x'
bash -c "rm x"
bash -lc 'rm x'
bash -ec 'rm x'
bash --norc -c 'rm x'
sh -c 'git status; rm x'
sh -c 'sh -c "rm x"'
/bin/sh -c 'rm x'
zsh -c 'rm x'
eval rm x
eval 'rm x'
eval "r""m x"
eval 'git status;' rm x
trap 'rm x' EXIT
su -c 'rm x'
ssh host rm x
ssh host 'ls; rm x'
watch rm x
watch 'rm x'
parallel rm ::: x
flock lock rm x
script -c 'rm x' out/log
alias ls='rm x'
sudo env nice -n 3 sh -c 'rm x'
git push --force
git push -f
git push origin --force
git push origin main -f
git push -uf origin main
git push --force origin
git push --force=x
git push --forc
git -C sub push --force
git -c a=b push --force
git --git-dir x push -f
git --no-pager push -f
curl example.org
curl
cat prod/x
cat ./prod/x
cat sub/../prod/x
cat alias/x
ls prod
cat PROD/x
cat --file=prod/x
cat < prod/x
ls > prod/x
cp prod/key out/x
echo x > migrations/1.sql
echo x >> migrations/1.sql
echo x | cat > 'migrations/1.sql'
[ -f x ] && rm x
"""),
    "git status\nrm x",
    "git status # comment\nrm x",
    "git status \\\n; rm x",
    "\n\nrm x\n",
    "cat <<E\n$(rm x)\nE",
    "cat <<E\n`rm x`\nE",
    "cat <<E\nx\nE\nrm x",
    "cat <<'E' ; rm x\nE",
    "cat <<E | rm x\nE",
    "cat <<-E\n\tx\n\tE\nrm x",
    "cat <<A; cat <<B\nA\nB\nrm x",
    "bash <<E\nrm x\nE",
    "sh -s <<'E'\nrm x\nE",
    "if true\nthen\nrm x\nfi",
    "git status && \\\n rm x",
    "f()\n{\nrm x\n}\nf",
    "rm\tx",
    # not understood, and the words of the rule are in it
    "rm x 'unclosed",
    "$'rm' x; rm y",
    "[[ -n $(rm x) ]]",
    "rm x\r",
    "rm <(ls)",
    "coproc rm x",
    "function f { rm x; }",
    "select x in a; do rm $x; done",
    "rm &>out/x y",
    "cat <<<$(rm x)",
    "rm x |& cat",
    "a=(1 2); rm x",
    "echo a;;rm x",
    "((git status); rm x)",
]
"""A deny rule is about something in these."""

ASKED = [
    *lines(r"""
$x
$x y
${x} y
"$x" y
$(echo rm) x
`echo rm` x
r$y x
r?m x
/bin/r* x
{rm,-rf,x}
r{m,} x
x=rm; $x y
x='rm y'; $x
x='rm y'; eval $x
x='rm y'; eval "$x"
eval "$(cat a.txt)"
bash -c "$x"
bash -c "$(cat a.txt)"
sh -c $x
echo 'rm x' | sh
echo 'rm x' | bash -s
cat a.txt | bash
bash < a.txt
bash
sh -
sh -i
. ./a.sh
source a.sh
ls | xargs -I{} sh -c '{}'
ls | xargs $x
alias ls=rm; ls
rm() { git status; }
python -c 'import os; os.system("rm x")'
python3 -c "__import__('subprocess').run(['rm','x'])"
perl -e 'system("rm x")'
perl -e 'unlink "x"; `rm x`'
ruby -e '`rm x`'
node -e 'require("child_process").execSync("rm x")'
awk 'BEGIN { system("rm x") }'
sed '1e rm x' a.txt
vim -c '!rm x'
git -c alias.x='!rm x' x
git -c core.pager='rm x' log
git config alias.x '!rm x'
git rebase -x 'rm x' HEAD~1
git bisect run rm x
git submodule foreach 'rm x'
docker run x rm y
kubectl -n rm exec x
watch $x
ssh host "$x"
find . -exec $x \;
find . $x
git push $x
git push "$x"
git $x
git $x --force
pip install requests
pip install -r requirements.txt
pip --no-input install x
python -m venv x; pip install y
cat .env
cat ./.env
cat sub/../.env
cat .e*
cat .en?
cat .[e]nv
cat .[!a]nv
cat .['e']nv
cat "$HOME/.ssh/id_rsa"
cat ~/.ssh/id_rsa
cat ~/.netrc
cat < .env
cat <.env
grep KEY .env
cp .env out/x
ls .env
cat --file=.env
tar cf out/x.tar .env
tar -T.env
http -F file=@.env
python -c "print(open('.env').read())"
git diff --no-index a.txt .env
git show HEAD:.env
cat id_rsa
cat keys/server.pem
cat .aws/credentials
cat .npmrc
cat .pypirc
cat .git-credentials
cat ../x
cat ..
cat sub/../../x
cat /etc/passwd
cat /etc/../etc/passwd
cat link/x
cat link
cat ~
cat ~/x
cat ~root/x
cat $HOME/x
cat ${HOME}/x
ls > ../x
ls > /tmp/x
ls > link/x
ls > .git/hooks/pre-commit
ls > .env
ls > guard.yaml
echo x > .hm/guard.yaml
cp a.txt .git/hooks/post-commit
cd
cd ..
cd -
cd ~
cd /
cd /tmp && ls
cd sub && cat away/x
cd sub && cat ../../x
pushd ..
git -C .. status
grep -f /etc/passwd a.txt
tar -C / -xf x.tar
find / -name x
mv migrations/1.sql out/
[[ -f x ]]
((1))
echo $'a'
echo $"a"
echo a &> out/x
ls >& out/x
ls |& cat
cat <(ls)
ls > >(cat)
cat <<< x
a=(1 2)
echo ${x/a/b}
echo ${x^^}
echo ${!x}
echo ${x@P}
echo $[1+1]
echo 'unclosed
echo "unclosed
echo `unclosed
echo $(unclosed
echo ${unclosed
(git status
git status)
{ git status
if git status; then
git status;;
;
&&
git status &&
git status |
| git status
git status ; ; ls
>
for
case x in
function f { ls; }
coproc ls
select x in a; do ls; done
git status ;& ls
x+=1 git status
"""),
    "cat <<E\nno end",
    'cat <<"a b"\nx\na b',
    "git status\r\nls",
    "git status\x0bls",
    "git status\x00ls",
    "cat <<E\na\\\nE\nls\nE",
    "git st\\\natus",
    "\u0433it status\u200b",
    "git status \u202e",
    "git status\u00a0",
    "cat a.txt \u2028ls",
    "ls \ufeff",
    "git status\x1b[2K",
    "(" * 50 + "git status" + ")" * 50,
    "ls " * 8000,
    "ls \\\n# x",
]
"""Nobody here can know what these do, or they touch what always asks."""

LEFT_OPEN = lines(r"""
git statusx
gitstatus
git status x
git status --porcelain
git
git log --output=out/x
git log --outp=out/x
git diff --ext-diff
git diff -O out/x
git -c a=b status
git -p status
git diff --no-index --output=x
git log --exec=x
git show --textconv HEAD
git fetch --upload-pack=x
./git status
/usr/bin/git status
Git status
ls *.txt
ls [ab]
ls $x
ls "$x"
ls ${x}
ls $?
ls {a,b}
cat a?txt
pytest $(ls)
pytest `ls`
pytest "$(ls)"
pytest *
pytest -p evil
pytest -c evil.ini
pytest -oaddopts=x
pytest --override-ini=x=y
pytest --rootdir=x
pytest --rootd=x
pytest --confcutdir=x
pytest --basetemp=sub
pytest -xp evil
python -c 'print(1)'
python -m http.server
python -mhttp.server
python -X dev a.py
python -i a.py
python
python -
bash -x build.sh
bash --rcfile x build.sh
sed -n '1e ls' a.txt
sed -n 1,5w a.txt
sed -i s/a/b/ a.txt
tar -xf x.tar --checkpoint-action=exec=sh
tar -xf x.tar --checkpoint-act=exec=sh
tar -xf x.tar --to-command=sh
tar -xf x.tar --use-compress-program=sh
tar xIf sh x.tar
tar -I sh -xf x.tar
tar -xIsh -f x.tar
tar --rsh-command=sh -xf x
find . -delete
find . -fprint out/x
find . -exec ls {} \;
sort -o a.txt a.txt
sort --output=a.txt
sort --compress-program=sh a.txt
sort --comp=sh a.txt
sort -T sub a.txt
rg --pre sh x
rg --hostname-bin=sh x
grep -f a.txt x
make SHELL=sh
make -f x
make --eval=x
xargs wc
xargs wc -l a.txt
xargs ls
ls | xargs
env -i git status
env -S 'git status'
timeout --foreground 5 ls
nice -5 ls
time -o out/x ls
PATH=. git status
LD_PRELOAD=x.so git status
GIT_PAGER=x git status
GIT_SSH_COMMAND=x git status
GIT_EXTERNAL_DIFF=x git diff
PYTHONPATH=x pytest
PYTEST_ADDOPTS=x pytest
BASH_ENV=x bash build.sh
ENV=x git status
IFS=x git status
CI='$(x)' pytest
CI=$x pytest
env PATH=. git status
env LD_PRELOAD=x ls
PATH=.; git status
export PATH=sub
export CI=1
export PATH=sub; git status
for PATH in sub; do git status; done
ls() { git status; }; ls
set -x
unset x
umask 0
hash -p sub/x ls
enable -f x y
npm run build
npm run test -- --x
npm run
npm test
ls > x
ls > sub/x
ls >> a.txt
ls > out/x > sub/y
{ ls; } > x
(ls) > x
if ls; then ls; fi > x
: > x
> x
ls <> x
ls >| x
echo hello
true
cd sub
pwd
ls; unknown
unknown; ls
unknown | ls
ls & unknown
ls && (unknown)
echo $(unknown)
ls 2>&1 | tee x
ok; notok x
timeout 5 unknown
bash -c 'git status; unknown'
sh -c 'unknown'
bash -c 'ls > x'
sh -ec 'git status'
/bin/sh -c 'git status'
sh -c 'git status' sh x
builtin ls
exec ls
sudo ls
git rebase
""")
"""No rule covers all of these; the mode decides, or they ask."""
