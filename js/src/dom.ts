/** Making DOM nodes. Text always goes in as text nodes: there is no way here to parse a string as HTML. */

type Props = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;
export type Child = Node | string | null | undefined | false | Child[];

/** `h("button", {class: "hm-btn", onclick}, "Stop")`. Functions become listeners, true an empty attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props?: Props | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value as EventListener);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

export function add(node: Node, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

export function fill<T extends Element>(node: T, ...children: Child[]): T {
  node.replaceChildren();
  add(node, children);
  return node;
}

/** Set the text if it differs (so that screen readers and selections are not disturbed for nothing). */
export function say(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Make `parent`'s children exactly `wanted`, in order, moving only what must move. */
export function arrange(parent: Element, wanted: readonly Element[]): void {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const node of wanted) {
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
}

/** Make a textarea as high as its text, where the style sheet cannot (`field-sizing` is not everywhere). */
export function grow(area: HTMLTextAreaElement): void {
  if (typeof CSS !== "undefined" && CSS.supports?.("field-sizing", "content")) return;
  area.style.height = "";
  if (area.scrollHeight) area.style.height = `${area.scrollHeight + 2}px`;
}

let counter = 0;
/** An id unique in the page, for aria-labelledby and label-for. */
export function uid(): string {
  counter += 1;
  return `hm-${Math.random().toString(36).slice(2, 8)}-${counter}`;
}
