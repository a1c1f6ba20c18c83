/** How a command reaches the kernel, and what the widget may say about it.
 *
 * Two wires carry the same messages: the control WebSocket (works while a cell runs) and the comm (may have to wait for
 * the cell). A wire is alive when it answers a ping. Every command has an id and is sent again, by whatever wire is alive,
 * until it is acknowledged; a repeat is harmless. Knows no DOM and no transcript.
 */
import type { Command, KernelMessage } from "./model";

export type Route = "connecting" | "live" | "after_cell" | "input" | "offline";
export interface LinkState { route: Route; via: "control" | "comm" | ""; reconnectAt: number }

export interface Answer { ok: boolean; error: string }
interface Outgoing { command: Command; done: (answer: Answer) => void; sentBy: Set<"control" | "comm">; at: number; commAt: number; valid: () => boolean }

export interface LinkOptions {
  view: string;
  /** Send by the comm. */
  comm: (message: unknown) => void;
  /** The control channel's address, "" when there is none. */
  control: string;
  /** What is known of the kernel: "" when the host does not say. */
  kernel?: () => "" | "idle" | "busy" | "dead" | "reconnecting";
  socket?: (url: string) => WebSocket;
}

export const PING_EVERY = 5_000;
export const PONG_WITHIN = 1_500;
const COMM_PATIENCE = 12_000;
const RESEND_AFTER = 1_000;
const BACKOFF = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];

export class Link {
  state: LinkState = { route: "connecting", via: "", reconnectAt: 0 };
  private socket: WebSocket | null = null;
  private failures = 0;
  private everOpen = false;
  private pings = Math.floor(Math.random() * 1e9);    // pongs on the comm reach every page: ours are told by number
  private greeted = false;
  private controlPing = { n: 0, at: 0, alive: false };
  private commPing = { n: 0, at: 0, alive: false, answered: 0 };
  private out = new Map<string, Outgoing>();
  private timers = new Set<ReturnType<typeof setTimeout>>();
  private listeners = new Set<() => void>();
  private cell = { waiting_cell: false, stdin: false };
  private commClosed = false;
  /** The kernel was restarted: session and agent are gone, and nothing here will ever be heard again. */
  gone = false;
  private closed = false;
  private readonly born = Date.now();

  constructor(private readonly options: LinkOptions) {}

  /** Begin: say hello, open the control channel, start the heartbeat. */
  start(): void {
    this.transmit({ t: "hello", view: this.options.view }, true);
    if (this.options.control) this.connect();
    this.beat();
    this.every(500, () => this.tick());
  }

  close(): void {
    this.closed = true;
    for (const timer of this.timers) { clearTimeout(timer); clearInterval(timer); }
    this.timers.clear();
    this.socket?.close();
    this.socket = null;
    for (const { done } of this.out.values()) done({ ok: false, error: "This view was closed." });
    this.out.clear();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The host says the comm is gone (kernel restarted, widget closed). */
  commGone(): void {
    this.commClosed = true;
    this.commPing.alive = false;
    this.judge();
  }

  /** The host says the kernel restarts. What waited for a wire is given up. */
  kernelRestarted(): void {
    if (this.closed || this.gone) return;
    this.gone = this.commClosed = true;
    const socket = this.socket;
    this.socket = null;
    Object.assign(this.controlPing, { alive: false, at: 0 });
    socket?.close();
    this.state = { ...this.state, reconnectAt: 0 };
    for (const { done } of this.out.values()) done({ ok: false, error: "The kernel was restarted." });
    this.out.clear();
    this.judge();
    this.tell();
  }

  /** Something arrived on the comm. */
  fromComm(message: KernelMessage): void {
    if (message.t === "pong" && message.n === this.commPing.n) {
      Object.assign(this.commPing, { alive: true, answered: Date.now(), n: 0 });
      this.judge();
      this.flush();
    } else if (message.t === "snapshot") this.greeted = true;
    else if (message.t === "ack") this.acknowledge(message);
    else if (message.t === "route") { this.cell = message; this.judge(); }
  }

  resync(): void { this.transmit({ t: "resync", view: this.options.view }, true); }

  /** Send a command; resolves when it is acknowledged. `valid` is asked again before a delayed send. */
  send(command: Command, valid: () => boolean = () => true): Promise<Answer> {
    return new Promise((done) => {
      const outgoing = { command, done, sentBy: new Set<"control" | "comm">(), at: Date.now(), commAt: 0, valid };
      this.out.set(command.id, outgoing);
      this.deliver(outgoing);
    });
  }

  /** Is this command still here, never handed to any wire? Then it can be taken back. */
  isHeld(id: string): boolean {
    const outgoing = this.out.get(id);
    return !!outgoing && outgoing.sentBy.size === 0;
  }

  takeBack(id: string): boolean {
    const outgoing = this.out.get(id);
    if (!outgoing || outgoing.sentBy.size) return false;
    this.out.delete(id);
    outgoing.done({ ok: false, error: "Taken back." });
    return true;
  }

  // ---- the wires ----------------------------------------------------------------------------------------------------

  private connect(): void {
    if (this.closed || this.gone) return;
    let socket: WebSocket;
    try {
      socket = (this.options.socket ?? ((url) => new WebSocket(url)))(this.options.control);
    } catch {
      return this.lost();
    }
    this.socket = socket;
    socket.onopen = () => {
      this.everOpen = true;
      this.failures = 0;
      this.state = { ...this.state, reconnectAt: 0 };
      this.ping("control");
    };
    socket.onmessage = (event) => {
      let message: KernelMessage;
      try { message = JSON.parse(String(event.data)) as KernelMessage; } catch { return; }
      if (message.t === "pong") {
        this.controlPing.alive = true;
        this.controlPing.at = 0;
        this.judge();
        if (!this.greeted) this.transmit({ t: "hello", view: this.options.view });
        this.flush();
      } else if (message.t === "ack") this.acknowledge(message);
    };
    socket.onclose = () => { if (this.socket === socket) this.lost(); };
  }

  private lost(): void {
    this.socket = null;
    if (this.controlPing.alive) this.commPing.n = 0;  // a ping the comm never answered, while it was not needed, holds up no new one
    Object.assign(this.controlPing, { alive: false, at: 0 });
    if (this.closed || this.gone) return;
    // Never opened: the server has no extension (or refuses us). Look again now and then, not every second.
    const step = !this.everOpen && this.failures >= 3 ? 60_000 : BACKOFF[Math.min(this.failures, BACKOFF.length - 1)] ?? 30_000;
    const wait = step * (0.8 + 0.4 * Math.random());
    this.failures += 1;
    this.state = { ...this.state, reconnectAt: Date.now() + wait };
    this.after(wait, () => this.connect());
    this.judge();
    this.ping("comm");
  }

  private ping(wire: "control" | "comm"): void {
    if (this.closed || this.gone) return;
    if (wire === "control") {
      if (this.socket?.readyState !== 1 || this.controlPing.at) return;
      this.controlPing.n = this.pings += 1;
      this.controlPing.at = Date.now();
      this.socket.send(JSON.stringify({ t: "ping", n: this.controlPing.n }));
    } else {
      // At most one comm ping is under way: a busy kernel must not find a hundred of them afterwards.
      if (this.commClosed || (this.commPing.n && Date.now() - this.commPing.at < COMM_PATIENCE)) return;
      this.commPing.n = this.pings += 1;
      this.commPing.at = Date.now();
      this.comm({ t: "ping", n: this.commPing.n });
    }
  }

  private beat(): void {
    this.ping("control");
    if (!this.controlPing.alive) this.ping("comm");
    this.after(PING_EVERY, () => this.beat());
  }

  private tick(): void {
    const now = Date.now();
    if (this.controlPing.at && now - this.controlPing.at > PONG_WITHIN * 2) {
      this.controlPing.alive = false;
      const socket = this.socket;
      this.socket = null;
      socket?.close();
      this.lost();
    }
    if (this.commPing.n && now - this.commPing.at > PONG_WITHIN) this.commPing.alive = false;
    for (const outgoing of [...this.out.values()]) {
      if (now - outgoing.at <= RESEND_AFTER) continue;
      // Overdue: is the wire it went by still there, and is there another?
      this.ping("control");
      this.ping("comm");
      this.deliver(outgoing);
    }
    this.judge();
  }

  private comm(message: unknown): void {
    if (this.commClosed) return;
    try { this.options.comm(message); } catch { /* the host refuses: the ping will not be answered either */ }
  }

  /** By the control channel if it is alive; `both` when the answer comes by the comm in any case. */
  private transmit(message: unknown, both = false): void {
    if (this.controlPing.alive && this.socket?.readyState === 1) this.socket.send(JSON.stringify(message));
    else if (both) this.comm(message);
  }

  // ---- commands ---------------------------------------------------------------------------------------------------------

  private deliver(outgoing: Outgoing): void {
    const { command, sentBy } = outgoing;
    if (!sentBy.size && !outgoing.valid()) {
      this.out.delete(command.id);
      outgoing.done({ ok: false, error: "" });
      return;
    }
    const message = { t: "command", view: this.options.view, command };
    const { route } = this.state;
    outgoing.at = Date.now();
    const again = sentBy.has("control");
    if (this.controlPing.alive && this.socket?.readyState === 1) {
      sentBy.add("control");
      this.socket.send(JSON.stringify(message));
      if (!again) return;
    }
    if ((this.commPing.alive || (route === "connecting" && !this.options.control)) &&
               (!sentBy.has("comm") || this.commPing.answered > outgoing.commAt)) {
      // Sent once, and again only if a later ping was answered before it: then it was lost on the way.
      sentBy.add("comm");
      outgoing.commAt = Date.now();
      this.comm(message);
    }
    // Else it is held here until a wire answers a ping: what was not sent can be taken back.
  }

  private flush(): void {
    for (const outgoing of [...this.out.values()]) if (!outgoing.sentBy.size) this.deliver(outgoing);
    this.tell();
  }

  private acknowledge(ack: { id: string; ok: boolean; error?: string }): void {
    const outgoing = this.out.get(ack.id);
    if (!outgoing) return;
    this.out.delete(ack.id);
    outgoing.done({ ok: !!ack.ok, error: ack.error ?? "" });
  }

  // ---- what we say about it ---------------------------------------------------------------------------------------------

  private judge(): void {
    const { controlPing, commPing, state } = this;
    const kernel = this.options.kernel?.() ?? "";
    const young = Date.now() - this.born < PONG_WITHIN * 1.5;
    let route: Route;
    let via: LinkState["via"] = "";
    if (controlPing.alive) { route = "live"; via = "control"; }
    else if (this.commClosed || kernel === "dead" || kernel === "reconnecting") route = "offline";
    else if (commPing.alive) { route = "live"; via = "comm"; }
    else if (young) route = "connecting";
    else if (this.cell.stdin) route = "input";
    else if (kernel === "idle" && commPing.n && Date.now() - commPing.at > COMM_PATIENCE / 2) route = "offline";
    else route = "after_cell";
    if (route !== state.route || via !== state.via) {
      this.state = { ...state, route, via };
      this.tell();
    }
  }

  private tell(): void { for (const listener of this.listeners) listener(); }

  private after(ms: number, run: () => void): void {
    const timer = setTimeout(() => { this.timers.delete(timer); run(); }, ms);
    this.timers.add(timer);
  }

  private every(ms: number, run: () => void): void { this.timers.add(setInterval(run, ms)); }
}

/** The control channel's address from JupyterLab's (or Notebook's) page config; "" where there is none. */
export function controlUrl(controlId: string, page: Document = document, here: string = page.location?.href): string {
  if (!/^[\w-]{1,128}$/.test(controlId)) return "";
  let config: { baseUrl?: string; wsUrl?: string; token?: string };
  try {
    config = JSON.parse(page.getElementById("jupyter-config-data")?.textContent ?? "") as typeof config;
  } catch {
    return "";
  }
  const base = new URL(config.baseUrl || "/", here);
  const root = config.wsUrl ? new URL(config.wsUrl, base) : base;
  const url = new URL(`hm_jupyter/control/${controlId}`, root.href.endsWith("/") ? root : `${root.href}/`);
  url.protocol = url.protocol.replace(/^http/, "ws");
  if (config.token) url.searchParams.set("token", config.token);
  return url.href;
}
