/** Numbers as people read them. */
import type { Usage } from "./model";

/** A running clock: 0:42, 12:05, 1:02:03. */
export function clock(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3600);
  return hours ? `${hours}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** How long something took: 0.9 s, 12.0 s, 1:12. */
export function took(seconds: number): string {
  return seconds < 60 ? `${Math.max(0, seconds).toFixed(1)} s` : clock(seconds);
}

export function tokens(usage: Usage): string {
  const n = usage.input + usage.output + usage.cache_read + usage.cache_write;
  return n ? `${n < 1000 ? n : n < 1e6 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(2)}M`} tok` : "";
}

/** A count in few figures: 812, 84k, 1.5M. */
export function share(n: number): string {
  return n < 1000 ? String(n) : n < 999_500 ? `${Math.round(n / 1000)}k` : `${Number((n / 1e6).toFixed(1))}M`;
}

export function cost(usage: Usage): string {
  if (usage.cost === null || usage.cost === undefined) return "";
  return usage.cost > 0 && usage.cost < 0.01 ? `$${usage.cost.toFixed(4)}` : `$${usage.cost.toFixed(2)}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** `text` cut to `max` characters, for places where nothing is decided. */
export function short(text: string, max: number): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length <= max ? flat : `${flat.slice(0, max - 1)}…`;
}

export function pretty(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value, null, 2) ?? "";
  } catch {
    return String(value);
  }
}
