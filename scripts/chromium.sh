#!/usr/bin/env bash
# Prints the path of a Chromium; installs Debian's where there is none. Playwright's own download is not used.
set -u
find_it() {
    for name in "${HM_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        [ -n "$name" ] && command -v "$name" && return
    done
    return 1
}
find_it && exit 0
echo "== installing chromium (for the browser tests)" >&2
"$(dirname "$0")/apt.sh" chromium fonts-liberation >&2 && find_it && exit 0
cat >&2 <<'END'
make: the browser tests need Chromium, there is none, and it could not be installed (the reason is above).
  * Debian, Ubuntu: sudo apt-get install chromium
  * one that is elsewhere: HM_CHROMIUM=/path/to/chromium make test
  * without these tests, knowingly: HM_NO_BROWSER=1 make test
END
exit 1
