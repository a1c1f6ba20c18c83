/** A kernel that is not one: it keeps what was sent and says what it is told to. */
import { readFileSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { Link } from "../src/link";
import { type Command, type KernelMessage, type Snapshot, Store } from "../src/model";
import { View } from "../src/view";

export interface Scene { turn: number; start: Snapshot; batches: KernelMessage[]; end: Snapshot }
const FOLDER = resolve(import.meta.dirname, "../../tests/golden/widget");

export const sceneNames = (): string[] => readdirSync(FOLDER).filter((f) => f.endsWith(".json")).map((f) => f.slice(0, -5));
export const scene = (name: string): Scene => JSON.parse(readFileSync(`${FOLDER}/${name}.json`, "utf8")) as Scene;

export class FakeSocket {
  static made: FakeSocket[] = [];
  readyState = 0;
  sent: Record<string, unknown>[] = [];
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  constructor(readonly url: string) { FakeSocket.made.push(this); }
  send(text: string): void { this.sent.push(JSON.parse(text) as Record<string, unknown>); }
  close(): void { this.readyState = 3; this.onclose?.(); }
  open(): void { this.readyState = 1; this.onopen?.(); }
  receive(message: unknown): void { this.onmessage?.({ data: JSON.stringify(message) }); }
  /** Answer the last ping. */
  pong(): void { this.receive({ t: "pong", n: this.sent.filter((m) => m["t"] === "ping").at(-1)?.["n"] }); }
  commands(): Command[] { return this.sent.filter((m) => m["t"] === "command").map((m) => m["command"] as Command); }
}

export interface Kernel {
  link: Link; store: Store; comm: Record<string, unknown>[];
  /** Answers pings and acknowledges commands on the comm from now on. */
  answers: boolean;
  commands(): Command[];
  pong(): void;
  say(message: KernelMessage): void;
}

export function kernel(options: { control?: string; answers?: boolean; state?: () => "" | "idle" | "busy" | "dead" | "reconnecting" } = {}): Kernel {
  const comm: Record<string, unknown>[] = [];
  const k = { comm, answers: options.answers ?? true } as Kernel;
  k.store = new Store(() => k.link.resync());
  k.link = new Link({
    view: "v1", control: options.control ?? "", kernel: options.state ?? (() => ""),
    comm: (message) => {
      const m = message as Record<string, unknown>;
      comm.push(m);
      if (k.answers && m["t"] === "ping") queueMicrotask(() => k.say({ t: "pong", n: m["n"] as number }));
    },
    socket: (url) => new FakeSocket(url) as unknown as WebSocket,
  });
  k.say = (message) => { k.link.fromComm(message); k.store.receive(message); };
  k.pong = () => k.say({ t: "pong", n: comm.filter((m) => m["t"] === "ping").at(-1)?.["n"] as number });
  k.commands = () => comm.filter((m) => m["t"] === "command").map((m) => m["command"] as Command);
  return k;
}

/** A view of a golden scene in the page, its clicks already past the guard unless `fresh`. */
export async function show(name: string | Scene, wait: (ms: number) => Promise<unknown>, options: { fresh?: boolean; turn?: number; answers?: boolean } = {}): Promise<Kernel & { view: View; root: HTMLElement }> {
  const s = typeof name === "string" ? scene(name) : name;
  const k = kernel({ answers: options.answers ?? true });
  k.store.receive(s.start);
  k.link.start();
  const view = new View(k.store, k.link, options.turn ?? s.turn);
  document.body.replaceChildren(view.root);
  if (!options.fresh) await wait(500);
  return Object.assign(k, { view, root: view.root });
}

export function button(root: Element, words: string): HTMLButtonElement {
  const found = [...root.querySelectorAll<HTMLButtonElement>("button")].find((b) => !b.hidden && b.textContent?.startsWith(words));
  if (!found) throw new Error(`no button "${words}" among ${[...root.querySelectorAll("button")].map((b) => b.textContent).join(" | ")}`);
  return found;
}

export function press(target: Element, key: string, extra: KeyboardEventInit = {}): boolean {
  return target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...extra }));
}
