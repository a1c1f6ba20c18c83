/** Characters one cannot see, or could mistake for others, shown as boxes that name them: U+202E.
 *
 * "strict" is for what is decided (commands, paths, facts); "prose" leaves alone what languages and emoji need.
 */
import { type Child, h } from "./dom";

export type Strictness = "strict" | "prose";

const DIRECTION = "\\u202A-\\u202E\\u2066-\\u2069";
const CONTROL = "\\u0000-\\u0008\\u000B-\\u001F\\u007F-\\u009F\\u{E0000}-\\u{E007F}";
const PROSE = new RegExp(`[${DIRECTION}${CONTROL}]`, "gu");
const STRICT = new RegExp(
  `[${DIRECTION}${CONTROL}\\u061C\\u200E\\u200F\\u200B-\\u200D\\u2060-\\u206F\\uFEFF\\u180E\\u00AD\\u034F\\u00A0\\u1680\\u2000-\\u200A` +
  "\\u202F\\u205F\\u3000\\u2028\\u2029\\u115F\\u1160\\u3164\\uFFA0\\u2800\\uFE00-\\uFE0F\\u{E0100}-\\u{E01EF}\\uD800-\\uDFFF]", "gu");

/** Cyrillic, Greek and Armenian letters drawn like Latin ones. */
const TWIN = /[\u0405\u0406\u0408\u0410\u0412\u0415\u041A\u041C-\u041E\u0420-\u0422\u0425\u0430\u0435\u043E\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0501\u051B\u051D\u0391\u0392\u0395-\u0397\u0399\u039A\u039C\u039D\u039F\u03A1\u03A4\u03A5\u03A7\u03B1\u03BF\u03C1\u03C5\u0578\u057D]/u;
const FOREIGN = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\uFF01-\uFF5E\u{1D400}-\u{1D7FF}]/u;
const LATIN = /[A-Za-z]/;

const NAMES: Record<number, string> = {
  0x00: "null", 0x07: "bell", 0x08: "backspace", 0x0d: "carriage return", 0x1b: "escape", 0x7f: "delete", 0xa0: "no-break space", 0xad: "soft hyphen",
  0x61c: "arabic letter mark", 0x200b: "zero width space", 0x200c: "zero width non-joiner", 0x200d: "zero width joiner",
  0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding",
  0x202c: "end of direction", 0x202d: "left-to-right override", 0x202e: "right-to-left override", 0x2028: "line separator",
  0x2029: "paragraph separator", 0x2060: "word joiner", 0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate",
  0x2068: "first strong isolate", 0x2069: "end of isolate", 0x3000: "ideographic space", 0xfeff: "byte order mark",
};

export interface Hidden { index: number; char: string; code: number; label: string; kind: string }

function kindOf(code: number, char: string): string {
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0x200e || code === 0x200f || code === 0x61c) return "text direction";
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return "terminal control";
  if (code === 0xa0 || code === 0x202f || code === 0x2007) return "no-break space";
  if (code >= 0xe0000 && code <= 0xe007f) return "invisible tag";
  if (code >= 0xd800 && code <= 0xdfff) return "broken character";
  if (/\p{Zs}|\p{Zl}|\p{Zp}/u.test(char)) return "unusual space";
  if (/\p{Script=Cyrillic}/u.test(char)) return "a Cyrillic letter";
  if (/\p{Script=Greek}/u.test(char)) return "a Greek letter";
  if (FOREIGN.test(char)) return "look-alike letter";
  return "zero width";
}

function describe(index: number, char: string): Hidden {
  const code = char.codePointAt(0) ?? 0;
  const label = code === 0x1b ? "ESC" : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return { index, char, code, label, kind: kindOf(code, char) };
}

/** Every character of `text` that is shown as an escape, in order. */
export function findHidden(text: string, how: Strictness = "strict"): Hidden[] {
  const found: Hidden[] = [];
  for (const match of text.matchAll(how === "strict" ? STRICT : PROSE)) found.push(describe(match.index, match[0]));
  if (how === "strict" && FOREIGN.test(text)) {
    for (const word of text.matchAll(/[\p{L}\p{M}\p{N}_\uFF01-\uFF5E]+/gu)) {
      const letters = [...word[0]];
      const foreign = letters.filter((c) => FOREIGN.test(c));
      // A word in one script is a word of that language, unless each of its letters has a Latin twin.
      if (!foreign.length || !(letters.some((c) => LATIN.test(c)) || foreign.every((c) => TWIN.test(c) || !/[\u0370-\u058F]/.test(c)))) continue;
      let at = word.index;
      for (const c of letters) {
        if (FOREIGN.test(c)) found.push(describe(at, c));
        at += c.length;
      }
    }
    found.sort((a, b) => a.index - b.index);
  }
  return found;
}

export function box(hidden: Hidden): HTMLElement {
  const name = NAMES[hidden.code] ?? hidden.kind;
  return h("span", { class: "hm-esc", role: "img", title: name, "aria-label": `${hidden.label}, ${name}` }, hidden.label);
}

/** `text` as nodes, hidden characters in boxes. */
export function escaped(text: string, how: Strictness = "strict"): Child[] {
  const found = findHidden(text, how);
  if (!found.length) return [text];
  const out: Child[] = [];
  let at = 0;
  for (const hidden of found) {
    out.push(text.slice(at, hidden.index), box(hidden));
    at = hidden.index + hidden.char.length;
  }
  out.push(text.slice(at));
  return out;
}

/** Replace hidden characters in the text nodes below `root` (used after markdown made the nodes). */
export function escapeBelow(root: Node, how: Strictness): void {
  if (!findHidden(root.textContent ?? "", how).length) return;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const nodes = escaped(text.data, how);
    if (nodes.length > 1) text.replaceWith(...(nodes as (string | Node)[]));
  }
}

/** "text direction (U+202E, U+2066), a Cyrillic letter (U+0430)" */
export function summarise(found: Hidden[]): string {
  const kinds = new Map<string, Set<string>>();
  for (const f of found) kinds.set(f.kind, (kinds.get(f.kind) ?? new Set()).add(f.label));
  return [...kinds].map(([kind, labels]) => `${kind} (${[...labels].join(", ")})`).join(", ");
}

/** Agent-chosen names on the widget's own lines: one line, escapes shown, never longer than `max`. */
export function label(text: string, max = 24): Child[] {
  const flat = text.replace(/\s+/g, " ").trim();
  return escaped(flat.length > max ? `${flat.slice(0, max - 1)}…` : flat);
}
