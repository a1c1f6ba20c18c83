import { describe, expect, it } from "vitest";
import { lineNodes, Terminal } from "../src/ansi";
import { compare, diffTable, marks } from "../src/diff";
import { h } from "../src/dom";
import { escaped, findHidden, summarise } from "../src/escapes";
import { clock, cost, took, tokens } from "../src/format";
import { highlight } from "../src/highlight";
import { programs, shellParts } from "../src/shell";
import { OutputView } from "../src/output";
import { expectHarmless, HOSTILE } from "./hostile";

const lines = (...pieces: string[]) => { const t = new Terminal(); for (const p of pieces) t.feed(p); return t.lines.map((l) => h("p", null, ...lineNodes(l))); };
const texts = (...pieces: string[]) => lines(...pieces).map((l) => l.textContent);

describe("terminal output", () => {
  it("colours what SGR colours, in the theme's six hues", () => {
    expect(lines("\x1b[1;31mbad\x1b[0m ok \x1b[38;5;46mg\x1b[38;2;0;0;255mb\x1b[m")[0]?.innerHTML).toBe('<span class="hm-ar hm-b">bad</span> ok <span class="hm-ag">g</span><span class="hm-ab">b</span>');
  });
  it("overwrites with carriage returns as progress bars do", () => {
    expect(texts("10%\r20%\r100%\ndone")).toEqual(["100%", "done"]);
    expect(texts("abcdef\rxy\n")).toEqual(["xycdef", ""]);
    expect(texts("abcdef\r\x1b[Kxy")).toEqual(["xy"]);
    expect(texts("ab\bc")).toEqual(["ac"]);
    expect(texts("a\r\nb")).toEqual(["a", "b"]);
  });
  it("drops what moves, clears, titles and links, keeping the text", () => {
    expect(texts("\x1b]8;;https://e.org\x07link\x1b]8;;\x07\x1b[2J\x1b[5A\x1b[?25l!")).toEqual(["link!"]);
  });
  it("does not care where it is cut", () => {
    const whole = "\x1b[31mred\x1b[0m\r\n\x1b]0;t\x07x\ry\x1b[1mz\n";
    const html = lines(whole).map((l) => l.innerHTML);
    for (let i = 1; i < whole.length; i += 1) expect(lines(whole.slice(0, i), whole.slice(i)).map((l) => l.textContent), String(i)).toEqual(lines(whole).map((l) => l.textContent));
    expect(html[0]).toContain("hm-ar");
  });
  it.each(HOSTILE)("is harmless: %s", (text) => {
    const view = new OutputView();
    view.update(text, true);
    expectHarmless(view.node.querySelector("pre") as Element);
  });
  it("adds to what is there when it grows", () => {
    const view = new OutputView();
    view.update("a\nb", true);
    view.update("a\nbc\nd\n", false);
    expect(view.node.querySelector("pre")?.textContent).toBe("a\nbc\nd");
  });
});

describe("hidden characters", () => {
  it("are found and named", () => {
    expect(summarise(findHidden("a\u202e p\u0430y x\u200b\u00a0\x1b"))).toBe("text direction (U+202E), a Cyrillic letter (U+0430), zero width (U+200B), no-break space (U+00A0), terminal control (ESC)");
  });
  it("words of one language are no look-alikes", () => {
    expect(findHidden("привет мир, αβγδ, naïve café, 日本語")).toEqual([]);
  });
  it("a word all of look-alikes is one", () => {
    expect(findHidden("\u0441\u0443\u0440").length).toBe(3);
  });
  it("prose keeps what emoji and languages need", () => {
    expect(findHidden("\u{1F469}\u200d\u{1F52C} \u0645\u200c\u0646\u00a0x", "prose")).toEqual([]);
    expect(findHidden("\u2067", "prose").length).toBe(1);
  });
  it("nothing else of the text is lost", () => {
    expect(h("p", null, ...escaped("a\u202eb\u{E0041}c")).textContent).toBe("aU+202EbU+E0041c");
  });
});

describe("a shell command", () => {
  const of = (command: string) => programs(shellParts(command)).map(([name]) => name);
  it("keeps every character", () => {
    for (const text of [...HOSTILE, "a \\\n b 'x' \"y\" $z `q` <<E\nE\n", "cat <<'EOF' | sh\nrm x\nEOF\nls"]) expect(shellParts(text).map((p) => p.text).join("")).toBe(text);
  });
  it("does not call the shell's grammar programs", () => {
    expect(of("for i in 1 2; do if [ -e go ]; then break; fi; sleep 1; done; while ! curl x; do :; done")).toEqual(["[", "break", "sleep", "curl", ":"]);
  });

  it("names its programs", () => {
    expect(of("FOO=1 python -m pytest | tee out.txt && git push; sudo rm -rf x > log")).toEqual(["python", "tee", "git", "sudo", "rm"]);
    expect(of("cat <<'EOF' | sh\nrm x\nEOF\nls")).toEqual(["cat", "sh", "ls"]);
    expect(of("for f in *; do wc -l $f; done")).toContain("wc");
  });
});

describe("a difference", () => {
  it("has hunks with numbers and counts", () => {
    const d = compare({ path: "a", old: "1\n2\n3\n4\n5\n6\n7\n8\n9\n", new: "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n", partial: false });
    expect([d.added, d.removed, d.hunks.length]).toEqual([2, 1, 1]);
    expect(d.hunks[0]?.title).toBe("lines 2–10");
  });
  it("marks what changed within a line, and nothing in lines that have nothing in common", () => {
    expect(marks('how="inner",', 'how="left",')?.new.filter(([, changed]) => changed).map(([t]) => t)).toEqual(["left"]);
    expect(marks("alpha beta", "one two three four")).toBeNull();
  });
  it("tells of a new, a deleted, and a partial file", () => {
    expect(compare({ path: "a", old: null, new: "x\n", partial: false }).hunks[0]?.title).toBe("new file, 1 line");
    expect(compare({ path: "a", old: "x\n", new: null, partial: false }).note).toBe("the file is deleted");
    expect(compare({ path: "a", old: "x", new: "y", partial: true }).hunks[0]?.title).toContain("line numbers are not known");
  });
  it("says when only line ends change", () => {
    expect(compare({ path: "a", old: "x\r\n", new: "x\n", partial: false }).note).toBe("only line endings change");
    expect(compare({ path: "a", old: "x\n", new: "x", partial: false }).note).toContain("line end");
  });
  it("gives up on the shortest way in time, and still shows all", () => {
    const many = (word: string) => Array.from({ length: 6000 }, (_, i) => `${word} ${i}`).join("\n");
    const before = performance.now();
    const d = compare({ path: "a", old: many("old"), new: many("new"), partial: false });
    expect([d.added, d.removed]).toEqual([6000, 6000]);
    expect(performance.now() - before).toBeLessThan(5000);
  });
  it.each(HOSTILE)("is harmless: %s", (text) => {
    const table = diffTable(compare({ path: text, old: `a\n${text}\n`, new: `b\n${text} \n`, partial: false }));
    expect(table.querySelector("img, script, a, svg, style")).toBeNull();
  });
});

describe("code", () => {
  const html = (code: string, lang: string) => h("p", null, ...highlight(code, lang)).innerHTML;
  it("is coloured by language", () => {
    expect(html('def f(x):  # note\n  return "s" + 1', "python")).toBe('<span class="hm-k">def</span> <span class="hm-d">f</span>(x)<span class="hm-o">:</span>  <span class="hm-c"># note</span>\n  <span class="hm-k">return</span> <span class="hm-s">"s"</span> <span class="hm-o">+</span> <span class="hm-n">1</span>');
    expect(html("select count(*) from t -- all", "SQL")).toContain('<span class="hm-c">-- all</span>');
    expect(html('{"a": [1, true]}', "json")).toContain('<span class="hm-d">"a"</span>');
    expect(html("x: 1 # c", "yaml")).toContain('<span class="hm-c"># c</span>');
    expect(html('echo "$HOME" # c', "bash")).toContain('<span class="hm-k">echo</span>');
    expect(html("-a\n+b", "diff")).toBe('<span class="hm-ar">-a</span>\n<span class="hm-ag">+b</span>');
  });
  it("keeps every character in every language", () => {
    for (const lang of ["python", "ts", "sh", "json", "yaml", "toml", "sql", "r", "julia", "rust", "go", "cpp", "css", "html", "diff"]) {
      for (const text of HOSTILE) expect(h("p", null, ...highlight(text, lang)).textContent).toBe(text);
    }
  });
  it("of no known language is left as it is", () => {
    expect(highlight("x = 1", "constructor")).toEqual(["x = 1"]);
    expect(highlight("x = 1", "")).toEqual(["x = 1"]);
  });
  it("with an open string of any length takes no time", () => {
    const before = performance.now();
    for (const lang of ["python", "js", "bash", "sql", "css", "xml", "yaml"]) highlight(`x = "${"\\a'".repeat(20_000)}`, lang);
    expect(performance.now() - before).toBeLessThan(2000);
  });
});

describe("numbers", () => {
  it("read as people read them", () => {
    expect([clock(42), clock(3723), took(0.94), took(75), took(12)]).toEqual(["0:42", "1:02:03", "0.9 s", "1:15", "12.0 s"]);
    const usage = { input: 15_000, output: 3_200, cache_read: 0, cache_write: 0, cost: 0.071 };
    expect([tokens(usage), cost(usage), cost({ ...usage, cost: null }), cost({ ...usage, cost: 0.0012 })]).toEqual(["18.2k tok", "$0.07", "", "$0.0012"]);
  });
});
