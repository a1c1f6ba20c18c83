/** An agent's markdown as safe nodes, block by block, so that a long message that streams redraws only its end.
 *
 * Three walls: marked never passes raw HTML on (it becomes text), DOMPurify keeps a short list of tags and three
 * attributes, and code, links and pictures are finished here from data, never from markup. No class, id, style or data-*
 * of an agent survives, and nothing is fetched before a click.
 */
import DOMPurify from "dompurify";
import { Lexer, Parser, Renderer, type Token, type Tokens } from "marked";
import { h } from "./dom";
import { escapeBelow } from "./escapes";
import { highlight } from "./highlight";
import { icon } from "./icons";

const TAGS = ["p", "br", "hr", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6",
  "table", "thead", "tbody", "tr", "th", "td", "a", "input", "samp"];
const SCHEMES = /^(?:https?:\/\/|mailto:)/i;
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/i;

/** While a code block is still open and longer than this, it is not coloured at every frame. */
const OPEN_CODE = 6_000;

interface Found { codes: { text: string; lang: string }[]; images: { href: string; alt: string }[] }

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
/** What URL parsers ignore must not hide a scheme from us. */
const cleanUrl = (href: string) => href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e]/g, "");

function renderer(found: Found): Renderer {
  const r = new Renderer();
  r.html = ({ text }: { text: string }) => escapeHtml(text);
  r.code = ({ text, lang }: Tokens.Code) => { found.codes.push({ text, lang: lang ?? "" }); return "<pre></pre>"; };
  r.image = ({ href, text }: Tokens.Image) => { found.images.push({ href, alt: text }); return "<samp></samp>"; };
  r.link = function link(this: Renderer, token: Tokens.Link) {
    const inner = this.parser.parseInline(token.tokens);
    const href = cleanUrl(token.href);
    if (SCHEMES.test(href)) return `<a href="${escapeHtml(href)}">${inner}</a>`;
    return href && token.text !== token.href ? `${inner} (${escapeHtml(token.href)})` : inner;
  };
  r.checkbox = ({ checked }: Tokens.Checkbox) => `<input type="checkbox" disabled${checked ? " checked" : ""}> `;
  return r;
}

/** One block of a message as a node. */
function blockNode(token: Token, open: boolean): Element {
  if (token.type === "code") return codeWell((token as Tokens.Code).text, (token as Tokens.Code).lang ?? "", open);
  const found: Found = { codes: [], images: [] };
  const r = renderer(found);
  const html = new Parser({ renderer: r, gfm: true, breaks: false, pedantic: false, silent: true }).parse([token]);
  const clean = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ["href", "start", "type", "checked", "disabled"], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: SCHEMES, RETURN_DOM_FRAGMENT: true,
  });
  finish(clean, found);
  const holder = h("div", { class: "hm-block" });
  holder.append(clean);
  return holder.childElementCount === 1 && holder.firstElementChild && holder.childNodes.length === 1 ? holder.firstElementChild : holder;
}

function finish(root: DocumentFragment, found: Found): void {
  root.querySelectorAll("pre").forEach((pre, i) => {
    const code = found.codes[i];
    pre.replaceWith(code ? codeWell(code.text, code.lang, false) : "");
  });
  root.querySelectorAll("samp").forEach((mark, i) => {
    const image = found.images[i];
    mark.replaceWith(image ? picture(image.href, image.alt) : "");
  });
  root.querySelectorAll("a").forEach((a) => {
    a.target = "_blank";
    a.rel = "noopener noreferrer";
    a.title = a.getAttribute("href") ?? "";
  });
  root.querySelectorAll("table").forEach((table) => {
    const scroll = h("div", { class: "hm-scroll", tabindex: 0 });
    table.replaceWith(scroll);
    scroll.append(table);
  });
  root.querySelectorAll("li > input").forEach((input) => input.parentElement?.classList.add("hm-task"));
  escapeBelow(root, "prose");
}

/** A code block: a bar with its language and Copy, and the code. */
export function codeWell(text: string, lang: string, open = false): HTMLElement {
  const name = /^[\w+#.-]{1,24}/.exec(lang)?.[0] ?? "";
  const code = h("code");
  code.append(...(open && text.length > OPEN_CODE ? [text] : highlight(text, name)));
  escapeBelow(code, "prose");
  return h("div", { class: "hm-well" },
    h("div", { class: "hm-well-bar" }, h("span", null, name || "text"), h("span", { class: "hm-acts" }, copyButton(() => text))),
    h("pre", { class: "hm-pre", tabindex: 0 }, code));
}

export function copyButton(text: () => string, what = "Copy"): HTMLButtonElement {
  const name = h("span", null, what);
  const button = h("button", { class: "hm-btn hm-btn-s hm-btn-q", type: "button", onclick: () => {
    const done = (label: string) => { name.textContent = label; setTimeout(() => { name.textContent = what; }, 1600); };
    void (navigator.clipboard?.writeText(text()) ?? Promise.reject()).then(() => done("Copied"), () => done("Could not copy"));
  } }, icon("copy"), name);
  return button;
}

/** A picture: shown when its data is here, a button that says where it would be loaded from when it is not. */
export function picture(href: string, alt: string): HTMLElement {
  if (PICTURE.test(href)) return h("img", { class: "hm-img", src: href, alt });
  const url = cleanUrl(href);
  let host = "";
  try {
    const parsed = new URL(url);
    if (/^https?:$/.test(parsed.protocol)) host = parsed.host;
  } catch { /* not an address: shown as text */ }
  const name = alt ? `“${alt.slice(0, 80)}” ` : "";
  if (!host) return h("span", { class: "hm-help" }, `image ${name}(${href.slice(0, 120)})`);
  const button = h("button", { class: "hm-btn hm-btn-s hm-img-ask", type: "button", title: url, onclick: () => {
    button.replaceWith(h("img", { class: "hm-img", src: url, alt, referrerpolicy: "no-referrer" }));
  } }, icon("image"), h("span", null, `image ${name}from ${host} (click to show)`));
  return button;
}

interface Block { raw: string; node: Element; open: boolean }

/** A message that grows. `update` with the same text and more redraws its last two blocks only. */
export class Markdown {
  readonly node = h("div", { class: "hm-md hm-agent" });
  private blocks: Block[] = [];
  private settled = 0;          // characters of text that finished blocks cover
  private settledBlocks = 0;
  private links: Record<string, Pick<Tokens.Link, "href" | "title">> = {};
  private text = "";

  update(source: string, open: boolean): void {
    const text = source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;   // as marked counts characters
    if (!text.startsWith(this.text) || !open) this.reset();
    this.text = text;
    const lexer = new Lexer({ gfm: true });
    Object.assign(lexer.tokens.links, this.links);
    const tokens = lexer.lex(text.slice(this.settled)) as Token[];
    const shown = tokens.filter((t) => t.type !== "space" && t.type !== "def");
    for (let i = 0; i < shown.length; i += 1) {
      const token = shown[i] as Token;
      const at = this.settledBlocks + i;
      const last = open && i === shown.length - 1;
      const old = this.blocks[at];
      if (old && old.raw === token.raw && old.open === last) continue;
      const node = blockNode(token, last);
      if (old) old.node.replaceWith(node);
      else this.node.append(node);
      this.blocks[at] = { raw: token.raw, node, open: last };
    }
    const count = this.settledBlocks + shown.length;
    for (const extra of this.blocks.splice(count)) extra.node.remove();
    if (open && shown.length > 2) this.settle(tokens, shown, lexer.tokens.links);
  }

  /** The caret, at the end of the last block of text. */
  get tail(): Element {
    let at: Element = this.node;
    while (at.lastElementChild && /^(?:P|UL|OL|LI|BLOCKQUOTE|DIV|PRE)$/.test(at.lastElementChild.tagName)) at = at.lastElementChild;
    return at;
  }

  private settle(tokens: Token[], shown: Token[], links: typeof this.links): void {
    const keep = shown[shown.length - 2];
    for (const token of tokens) {
      if (token === keep) break;
      this.settled += token.raw.length;
      if (token.type !== "space" && token.type !== "def") this.settledBlocks += 1;
    }
    Object.assign(this.links, links);
  }

  private reset(): void {
    this.settled = 0;
    this.settledBlocks = 0;
    this.links = {};
  }
}

/** A sentence of an agent or of ours with `code` in it. */
export function inline(text: string, how: "strict" | "prose" = "prose"): Node[] {
  const holder = h("span");
  for (const part of text.split(/(`[^`\n]+`)/)) {
    if (/^`[^`\n]+`$/.test(part)) holder.append(h("code", null, part.slice(1, -1)));
    else holder.append(part);
  }
  escapeBelow(holder, how);
  return [...holder.childNodes];
}

/** An agent's short text inside a frame: paragraphs and inline code only, links stay written out. */
export function plain(text: string): HTMLElement[] {
  return text.trim().split(/\n\s*\n/).map((paragraph) => h("p", null, inline(paragraph, "strict")));
}
