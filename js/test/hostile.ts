/** What an agent may send to break out of its column. Read by tests/browser/test_widget_alone.py too. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect } from "vitest";

export const HOSTILE = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../tests/golden/hostile.json"), "utf8")) as string[];

const ALLOWED = new Set(["class", "href", "target", "rel", "title", "start", "type", "checked", "disabled", "tabindex", "src", "alt", "role", "aria-label", "align",
  "viewBox", "width", "height", "fill", "stroke", "aria-hidden", "d", "stroke-width"]);

/** Nothing in `root` may run, fetch, or carry an attribute of the agent's. */
export function expectHarmless(root: Element): void {
  expect(root.querySelector("script, style, iframe, object, embed, link, meta, form, video, audio, math, base, template")).toBeNull();
  for (const el of root.querySelectorAll("*")) {
    for (const { name, value } of el.attributes) {
      expect(ALLOWED, `${el.tagName} ${name}=${value}`).toContain(name);
      if (name === "class") expect(value, el.outerHTML).toMatch(/^(?:hm-[\w-]+ ?)*$/);
    }
    if (el.tagName === "A") {
      expect(el.getAttribute("href")).toMatch(/^(?:https?:\/\/|mailto:)/i);
      expect(el.getAttribute("rel")).toBe("noopener noreferrer");
      expect(el.getAttribute("target")).toBe("_blank");
    }
    if (el.tagName === "IMG") expect(el.getAttribute("src")).toMatch(/^data:image\/(?:png|jpeg|gif|webp);base64,/);
    if (el.tagName === "svg") expect(el.classList.contains("hm-ic")).toBe(true);
  }
}
