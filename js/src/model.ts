/** The browser's copy of a session's transcript: JSON shapes of hm_jupyter/transcript.py and the operations on them.
 *
 * Knows no DOM, no clock but the one it is handed, and no route: messages go in, changes come out.
 */

export interface Usage { input: number; output: number; cache_read: number; cache_write: number; cost: number | null }
export interface Image { data: string; mime: string }
export interface FileDiff { path: string; old: string | null; new: string | null; partial: boolean }
export interface Choice { value: string; label: string; help: string; group: string }
/** `kind`: allow_once, allow_session, deny_once, deny_session. Any other is neither. */
export interface ApprovalOption { id: string; name: string; kind: string }
export interface FormField {
  name: string; kind: "text" | "number" | "integer" | "boolean" | "select" | "multi"; title: string; help: string; required: boolean;
  default: unknown; choices: Choice[]; format: string; pattern: string; minimum: number | null; maximum: number | null;
  min_length: number | null; max_length: number | null;
}
export interface ConfigOption {
  id: string; name: string; kind: "select" | "boolean"; value: string | boolean; help: string; category: string; choices: Choice[];
}
export interface SlashCommand { name: string; help: string; hint: string }
export interface AuthMethod { id: string; name: string; help: string; kind: "agent" | "terminal" | "other"; args: string[]; env: Record<string, string> }
export interface Background { kind: "tool" | "terminal" | "subagent" | "other"; id: string; title: string; cancelable: boolean }

export type ToolStatus = "drafting" | "pending" | "running" | "paused" | "completed" | "failed" | "denied" | "skipped" | "interrupted";
export type By = "you" | "policy" | "agent";
interface Base { id: string; turn: number }

export interface TurnEntry extends Base {
  kind: "turn"; status: "running" | "finished" | "stopped" | "failed"; stop_reason: string | null; error: string;
  model: string; mode: string; usage: Usage; started: number; ended: number | null;
}
export interface UserEntry extends Base {
  kind: "user"; text: string; delivery: "prompt" | "steer" | "follow_up"; status: "sent" | "queued" | "read" | "dropped";
  images: Image[]; attachments: string[]; at: number; entry: string;
}
export interface MessageEntry extends Base { kind: "message"; text: string; open: boolean; interrupted: boolean; images: Image[] }
export interface ThoughtEntry extends Base { kind: "thought"; text: string; open: boolean; started: number; ended: number | null }
export interface Decision {
  outcome: "allowed" | "denied" | "chosen" | "withdrawn" | "interrupted"; by: By; via: string; note: string; for_session: boolean;
  rule: string; files: string[] | null; edited: string[] | null; option: string;
  deny_note?: NoteWay;
}
export interface ToolEntry extends Base {
  kind: "tool"; call_id: string; name: string; title: string; category: string; status: ToolStatus; input: unknown;
  output: string; diffs: FileDiff[]; images: Image[]; decision: Decision | null; exit_code: number | null;
  started: number | null; ended: number | null; parent: string; locations: string[]; cancelable: boolean;
}
export interface QuestionEntry extends Base {
  kind: "question"; call_id: string; text: string; choices: Choice[];
  status: "waiting" | "answered" | "skipped" | "withdrawn" | "interrupted"; answer: string; by: By; via: string;
  form: FormField[]; url: string; source: string;
}
export interface PlanEntry extends Base {
  kind: "plan"; items: { text?: string; status?: string; priority?: string }[]; markdown: string; removed: boolean;
}
export interface CompactionEntry extends Base { kind: "compaction"; status: "running" | "done" | "failed" | "interrupted"; summary: string; error: string }
export interface NoticeEntry extends Base { kind: "notice"; text: string; level: "info" | "warning" | "error"; detail: string }
export interface UnknownEntry extends Base { kind: "unknown"; name: string; raw: unknown }
export type Entry =
  | TurnEntry | UserEntry | MessageEntry | ThoughtEntry | ToolEntry | QuestionEntry | PlanEntry | CompactionEntry | NoticeEntry | UnknownEntry;

/** How a note on a decision travels: with either, with a denial alone, as the next message, not at all; "": as the session's capability says. */
export type NoteWay = "" | "native" | "denial" | "next_message" | "none";
export interface PendingApproval {
  kind: "approval"; request_id: string; call_id: string; turn: number; tool: string; category: string; summary: string;
  command: string; cwd: string; paths: string[]; diffs: FileDiff[]; input: unknown; rule: string; reason: string;
  for_session: boolean; options: ApprovalOption[]; since: number; state: "waiting" | "sending";
  deny_note?: NoteWay;
}
export interface PendingQuestion {
  kind: "question"; request_id: string; call_id: string; turn: number; text: string; choices: Choice[]; multi: boolean;
  free: boolean; form: FormField[]; url: string; source: string; since: number; state: "waiting" | "sending";
}
export type Pending = PendingApproval | PendingQuestion;

export interface Capabilities {
  steer?: boolean; follow_up?: boolean; deny_note?: "native" | "next_message" | "none"; edits?: boolean; for_session?: boolean;
  images?: boolean; set_mode?: boolean; set_model?: boolean; steer_delivery?: "native" | "next_prompt"; options?: boolean; cancel_work?: boolean;
}
export interface SessionState {
  session_id: string; agent: string; root: string; title: string; mode: string; modes: string[]; provider: string; model: string;
  models: string[]; effort: string; status: "starting" | "ready" | "working" | "waiting" | "offline" | "ended"; approve: string;
  turn: number; usage: Usage; context: number | null; pending: Pending[]; capabilities: Capabilities; ended: string;
  protocol: string; labels: Record<string, string>; options: ConfigOption[]; commands: SlashCommand[]; auth: AuthMethod[]; background: Background[];
  context_size: number | null; spent: string; link: string;
}

export type Op =
  | { op: "put"; entry: Entry }
  | { op: "append"; id: string; field: "text" | "output"; text: string }
  | { op: "state"; patch: Partial<SessionState> };

export interface Snapshot { t: "snapshot"; seq: number; state: SessionState; entries: Entry[]; now?: number; frozen?: boolean }
export type KernelMessage =
  | Snapshot
  | { t: "ops"; seq: number; ops: Op[] }
  | { t: "ack"; id: string; ok: boolean; error?: string }
  | { t: "pong"; n: number }
  | { t: "route"; waiting_cell: boolean; stdin: boolean }
  | { t: "frozen"; model_id: string; data: Record<string, unknown> }
  | { t: "closed" };

export type Command =
  | { type: "prompt" | "steer" | "follow_up"; id: string; text: string }
  | { type: "abort"; id: string }
  | { type: "approve"; id: string; request_id: string; allow: boolean; for_session: boolean; note: string; edits: { path: string; content: string }[] | null; option_id?: string }
  | { type: "answer"; id: string; request_id: string; text: string; skip: boolean; fields?: Record<string, unknown> }
  | { type: "set_mode"; id: string; mode: string }
  | { type: "set_model"; id: string; model: string }
  | { type: "set_option"; id: string; option: string; value: string | boolean }
  | { type: "cancel_work"; id: string; kind: "tool" | "terminal" | "subagent"; work: string };

export const NO_USAGE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost: null };
export function emptyState(): SessionState {
  return {
    session_id: "", agent: "", root: "", title: "", mode: "", modes: [], provider: "", model: "", models: [], effort: "",
    status: "starting", approve: "ask", turn: 0, usage: NO_USAGE, context: null, pending: [], capabilities: {}, ended: "",
    protocol: "", labels: {}, options: [], commands: [], auth: [], background: [], context_size: null, spent: "", link: "",
  };
}

/** A random id for a command: the same shape as hm_jupyter.commands.new_id. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** The entries in order and the state. `apply` is the twin of Transcript.apply in Python. */
export class Transcript {
  state: SessionState = emptyState();
  entries = new Map<string, Entry>();

  apply(op: Op): void {
    if (op.op === "append") {
      const entry = this.entries.get(op.id) as unknown as Record<string, string> | undefined;
      if (!entry) throw new Error(`append to an entry that is not there: ${op.id}`);
      entry[op.field] = (entry[op.field] ?? "") + op.text;
    } else if (op.op === "put") {
      this.entries.set(op.entry.id, op.entry);
    } else if (op.op === "state") {
      this.state = { ...this.state, ...op.patch };
    }
  }

  toJSON(): { state: SessionState; entries: Entry[] } {
    return { state: this.state, entries: [...this.entries.values()] };
  }
}

/** What changed since the listener was last told. `order` means entries came, went or were all replaced. */
export interface Change { entries: Set<string>; order: boolean; state: boolean }

/** A transcript kept up to date from numbered messages, shared by every view of one model. */
export class Store {
  readonly transcript = new Transcript();
  seq = -1;
  /** Kernel clock minus ours, in seconds: what is shown as elapsed does not depend on our clock being right. */
  skew = 0;
  frozen = false;
  /** False until the first snapshot. */
  loaded = false;
  route: { waiting_cell: boolean; stdin: boolean } = { waiting_cell: false, stdin: false };
  /** Request ids announced already, and those decided in this page (shared, so that several views agree). */
  readonly announced = new Set<string>();
  readonly mine = new Set<string>();
  /** Call ids of requests that were seen waiting here and decided elsewhere. */
  readonly elsewhere = new Set<string>();
  private listeners = new Set<(change: Change) => void>();
  private awaiting = false;

  /** `resync` is called when a message is missing: it asks the kernel for a snapshot. */
  constructor(private readonly resync: () => void = () => {}) {}

  get state(): SessionState { return this.transcript.state; }
  get entries(): Map<string, Entry> { return this.transcript.entries; }
  /** The kernel's clock, now (s). */
  now(): number { return this.halted || Date.now() / 1000 + this.skew; }
  /** The session is gone for good: nothing here waits or runs any longer, so every clock stands. */
  halt(): void { this.halted ||= this.now(); }
  private halted = 0;

  subscribe(listener: (change: Change) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  receive(message: KernelMessage): void {
    if (message.t === "snapshot") this.replace(message);
    else if (message.t === "ops") this.advance(message.seq, message.ops);
    else if (message.t === "route") {
      this.route = { waiting_cell: !!message.waiting_cell, stdin: !!message.stdin };
      this.tell({ entries: new Set(), order: false, state: true });
    } else if (message.t === "closed") {
      this.frozen = true;
      this.tell({ entries: new Set(), order: true, state: true });
    }
  }

  private replace(snapshot: Snapshot): void {
    const change: Change = { entries: new Set(), order: true, state: true };
    const before = this.entries;
    this.transcript.entries = new Map();
    for (const entry of snapshot.entries ?? []) {
      const old = before.get(entry.id);
      // An entry that did not change keeps its object, so that views leave what they drew of it alone.
      const same = old !== undefined && JSON.stringify(old) === JSON.stringify(entry);
      this.entries.set(entry.id, same ? old : entry);
      if (!same) change.entries.add(entry.id);
    }
    this.noteDecided(snapshot.state.pending ?? []);
    this.transcript.state = { ...emptyState(), ...snapshot.state };
    this.seq = snapshot.seq;
    if (typeof snapshot.now === "number") this.skew = snapshot.now - Date.now() / 1000;
    if (snapshot.frozen) this.frozen = true;
    this.loaded = true;
    this.awaiting = false;
    this.tell(change);
  }

  private advance(seq: number, ops: Op[]): void {
    if (this.loaded && seq <= this.seq) return;                       // a repeat
    if (!this.loaded || seq !== this.seq + 1) return this.ask();
    const change: Change = { entries: new Set(), order: false, state: false };
    this.seq = seq;
    try {
      for (const op of ops) {
        if (op.op === "put") {
          if (!this.entries.has(op.entry.id)) change.order = true;
          change.entries.add(op.entry.id);
        } else if (op.op === "append") change.entries.add(op.id);
        else {
          change.state = true;
          if (op.patch.pending) this.noteDecided(op.patch.pending);
        }
        this.transcript.apply(op);
      }
    } catch {
      this.ask();
    }
    this.tell(change);
  }

  private noteDecided(pending: Pending[]): void {
    const left = new Set(pending.map((p) => p.request_id));
    for (const p of this.state.pending) {
      if (!left.has(p.request_id) && !this.mine.has(p.request_id)) this.elsewhere.add(p.call_id);
    }
  }

  private ask(): void {
    if (this.awaiting) return;
    this.awaiting = true;
    this.resync();
    setTimeout(() => { this.awaiting = false; }, 3000);               // the answer may be lost too: the next gap asks again
  }

  private tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }
}
