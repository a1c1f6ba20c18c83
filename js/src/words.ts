/** The widget's sentences about tools and decisions. No DOM. */
import { plural, short } from "./format";
import type { Capabilities, Decision, NoteWay, ToolEntry } from "./model";

export const VERBS: Record<string, string> = {
  shell: "Shell", read: "Read", edit: "Edit", search: "Search", fetch: "Fetch", ask: "Ask", plan: "Plan", think: "Think", agent: "Sub-agent",
};

const OBJECT_KEYS: Record<string, string[]> = {
  shell: ["command", "cmd", "script"], read: ["path", "file_path", "file", "filename"], edit: ["path", "file_path", "file", "filename"],
  search: ["pattern", "query", "regex", "glob", "path"], fetch: ["url", "uri"], ask: ["text", "question"],
};

/** The argument a tool call is about, for its row, and the key it came from. */
export function objectOf(entry: { category: string; input: unknown; title?: string; diffs?: { path: string }[]; locations?: string[] }): { text: string; key: string } {
  const input = entry.input;
  const title = bareTitle(entry.title ?? "", VERBS[entry.category] ?? "");
  if (entry.diffs?.length) return { text: entry.diffs.map((d) => d.path).join(", "), key: "" };
  if (input && typeof input === "object" && !Array.isArray(input)) {
    const fields = input as Record<string, unknown>;
    for (const key of OBJECT_KEYS[entry.category] ?? []) {
      if (typeof fields[key] === "string") return { text: fields[key], key };
    }
    const values = Object.entries(fields);
    if (title) return { text: title, key: values.find(([, value]) => value === entry.title)?.[0] ?? "" };
    if (values.length === 1 && typeof values[0]?.[1] === "string") return { text: values[0][1], key: values[0][0] };
    if (values.length) return { text: short(JSON.stringify(input), 200), key: "" };
  }
  if (typeof input === "string" && input) return { text: input, key: "*" };
  return { text: title || (entry.locations ?? []).join(", "), key: "" };
}

/** A title without the verb that stands before it, and without the marks of code around the whole of it. */
function bareTitle(title: string, verb: string): string {
  const low = title.toLowerCase();
  if (!verb || low === verb.toLowerCase()) return verb ? "" : title;
  const rest = low.startsWith(`${verb.toLowerCase()} `) ? title.slice(verb.length + 1).trim() : title;
  return /^`([^`]+)`$/.exec(rest)?.[1] ?? rest;
}

/** What is left of a tool's input when what is shown already is taken away, by its key or its text; null when nothing is. */
export function restOf(input: unknown, shown: string[], told: (key: string, text: string) => boolean = () => false): unknown {
  if (input === null || input === undefined || input === "") return null;
  if (typeof input !== "object" || Array.isArray(input)) return shown.includes("*") ? null : input;
  const rest = Object.entries(input as Record<string, unknown>).filter(([key, value]) => !shown.includes(key) && value !== null && value !== "" && !(typeof value === "string" && told(key, value)));
  return rest.length ? Object.fromEntries(rest) : null;
}

const VIA: Record<string, string> = { python: "from Python", magic: "from a cell", stdin: "in the input line", magics: "from a cell" };

/** A few words for a tool's row: "allowed once", "allowed by rule", "denied". */
export function decided(decision: Decision, elsewhere: boolean, planned: number): string {
  const { outcome, by, via, for_session: session, files, option } = decision;
  if (outcome === "withdrawn") return "withdrawn by the agent";
  if (outcome === "interrupted") return "not decided";
  if (outcome === "chosen") return `chosen: “${short(option, 60)}”`;
  const word = outcome === "allowed" ? "allowed" : "denied";
  const some = outcome === "allowed" && files && planned && files.length < planned ? ` ${files.length} of ${planned}` : "";
  if (by === "policy") return `${word}${some} by ${decision.rule ? "rule" : "policy"}`;
  if (by === "agent") return decision.rule ? `${word} by rule` : outcome === "denied" ? "denied by the agent" : "allowed by mode";
  if (elsewhere) return `${word}${some} in another window`;
  const how = VIA[via] ? ` ${VIA[via]}` : "";
  if (some) return `you ${word}${some}${how}`;
  if (outcome === "allowed") return session ? `${option ? "allowed, lasts" : "allowed for session"}${how}` : `allowed once${how}`;
  return `denied${how}`;
}

/** How a note on one decision travels: as the request said, else as the agent can. */
export const noteWay = (own: NoteWay | undefined, can: Capabilities): NoteWay => own || can.deny_note || "none";

/** The sentence below the row when there is more to say than the row does; "" when not. Agent text is not in it. */
export function decidedSentence(entry: ToolEntry, noteLater: boolean): { lead: string; note: string; tail: string } | null {
  const d = entry.decision;
  if (!d) return null;
  const who = d.by === "you" ? "You" : d.by === "policy" ? "Your policy" : "The agent";
  const parts: string[] = [];
  if (d.files && entry.diffs.length > d.files.length) {
    const left = entry.diffs.map((f) => f.path).filter((p) => !d.files?.includes(p));
    parts.push(`${who} allowed ${d.files.length} of ${plural(entry.diffs.length, "file")}.${left.length ? ` Left alone: ${left.join(", ")}.` : ""}`);
  }
  if (d.edited?.length) parts.push(`You edited ${d.edited.join(", ")}.`);
  if (d.rule && d.outcome === "allowed") parts.push(d.by === "you" ? `You allowed it for this session: ${d.rule}.` : `Allowed by the rule ${d.rule}.`);
  if (d.option && /^(?:allowed|denied|chosen)$/.test(d.outcome)) parts.push(`${d.by === "agent" ? "It was chosen" : `${who} chose`}: “${short(d.option, 200)}”.`);
  if (!parts.length && !d.note) return null;
  const lead = parts.length ? parts.join(" ") : `${who} ${d.outcome === "denied" ? "denied" : d.outcome} it`;
  return {
    lead: d.note ? (parts.length ? `${lead} Your note: ` : `${lead}: `) : lead,
    note: d.note,
    tail: d.note && /^(?:denied|chosen)$/.test(d.outcome) && noteLater ? " It is sent as the next message: this agent reads no note with a decision." : "",
  };
}
