/** The widget's drawings: 16 px, one stroke, currentColor, inline (no sprite, so several views never clash). */

const SHAPES = {
  check: ["M3.5 8.5l3 3 6-7"], cross: ["M4 4l8 8M12 4l-8 8"], off: ["M2.5 8a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0", "M5.5 8h5"],
  todo: ["M3 8a5 5 0 1 0 10 0a5 5 0 1 0-10 0"], run: ["M8 2.5a5.5 5.5 0 1 1-5.5 5.5"],
  now: ["M3 8a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "!M6.5 5.5l3.5 2.5-3.5 2.5z"],
  clock: ["M2.5 8a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0", "M8 5v3l2 1.5"], chev: ["M6 4l4 4-4 4"],
  shield: ["M8 1.8l5 1.9v3.8c0 3.2-2.1 5.5-5 6.7-2.9-1.2-5-3.5-5-6.7V3.7z", "M8 5v3.2", "M8 10.7v.1"],
  ask: ["M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0", "M6.2 6.3a1.9 1.9 0 1 1 2.7 1.7c-.6.3-.9.7-.9 1.3", "M8 11.4v.1"],
  stop: ["!M3.5 3.5h9v9h-9z"], live: ["M2.5 8h2.8l1.7-4 2.5 8 1.5-4h2.5"],
  plug: ["M6 2.5v3M10 2.5v3M4.5 5.5h7v2a3.5 3.5 0 0 1-7 0zM8 11v2.5"],
  info: ["M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0", "M8 7.3v3.5M8 5.1v.1"], warn: ["M8 2.5l6 10.5H2z", "M8 6.5v3M8 11.2v.1"],
  pencil: ["M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z"], copy: ["M5.5 5.5h8v8h-8z", "M3 10.5h-.5v-8h8V3"],
  steer: ["M3 13V8a3 3 0 0 1 3-3h7M10 2l3 3-3 3"], note: ["M3 3h10v7H8l-3 3v-3H3z"],
  thought: ["M3.5 8h.1M8 8h.1M12.4 8h.1"], image: ["M2.5 3h11v10h-11z", "M3 11.5l3.5-4 2.5 2.5 1.8-1.8 2.2 2.8"],
  out: ["M9.5 3h3.5v3.5M13 3L7.5 8.5", "M11.5 9v4h-8.5v-8.5h4"],
  gear: ["M3 4.5h6M12 4.5h1M3 11.5h1M7 11.5h6", "M9 4.5a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0", "M4 11.5a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0"],
  clip: ["M12.5 7.5l-4.6 4.6a2.6 2.6 0 0 1-3.7-3.7l5-5a1.7 1.7 0 0 1 2.4 2.4l-4.9 4.9"],
} as const;
export type IconName = keyof typeof SHAPES;

const NS = "http://www.w3.org/2000/svg";

export function icon(name: IconName, cls = ""): SVGSVGElement {
  const svg = document.createElementNS(NS, "svg");
  for (const [key, value] of Object.entries({
    class: `hm-ic ${cls}`.trim(), viewBox: "0 0 16 16", width: "16", height: "16", fill: "none", stroke: "currentColor", "aria-hidden": "true",
  })) svg.setAttribute(key, value);
  for (const shape of SHAPES[name]) {
    const path = document.createElementNS(NS, "path");
    const filled = shape.startsWith("!");
    path.setAttribute("d", filled ? shape.slice(1) : shape);
    if (filled) path.setAttribute("class", "hm-ic-fill");
    if (name === "thought") path.setAttribute("stroke-width", "2.2");
    svg.appendChild(path);
  }
  return svg;
}

export const spinner = (): SVGSVGElement => icon("run", "hm-spin hm-glyph-run");
