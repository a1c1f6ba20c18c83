/** The anywidget module: one store and one link per model (initialize), one view per place it is shown (render). */
import "./hm.css";
import { controlUrl, Link } from "./link";
import { type KernelMessage, type Snapshot, Store } from "./model";
import { placeOf, replaceOutputs } from "./saved";
import { releaseInput } from "./stdin";
import { mount } from "./view";

interface Model {
  get(name: string): unknown;
  on(event: string, callback: (...args: never[]) => void): void;
  off(event: string, callback: (...args: never[]) => void): void;
  send(content: unknown): void;
  widget_manager?: unknown;
}
interface Props { model: Model; signal?: AbortSignal; el: HTMLElement }
interface Session { store: Store; link: Link; /** How many times it is shown now. */ shown: number }

/** By view id: anywidget hands initialize and render different proxies of one model. */
const sessions = new Map<string, Session>();

/** What the host knows of the kernel, where it says: JupyterLab's widget manager holds the kernel connection. */
function kernelState(model: Model): "" | "idle" | "busy" | "dead" | "reconnecting" {
  const kernel = (model.widget_manager as { kernel?: { status?: string; connectionStatus?: string; isDisposed?: boolean } } | undefined)?.kernel;
  if (!kernel) return "";
  if (kernel.isDisposed || kernel.status === "dead" || kernel.status === "terminating") return "dead";
  if (kernel.connectionStatus === "connecting" || kernel.connectionStatus === "disconnected" || /restarting/.test(kernel.status ?? "")) return "reconnecting";
  return kernel.status === "idle" || kernel.status === "busy" ? kernel.status : "";
}

/** Call `restarted` when the host says that the kernel restarts; the returned function stops that. */
function onRestart(model: Model, restarted: () => void): () => void {
  type Signal = { connect(slot: (sender: unknown, status: string) => void): void; disconnect(slot: (sender: unknown, status: string) => void): void };
  const signal = (model.widget_manager as { kernel?: { statusChanged?: Signal } } | undefined)?.kernel?.statusChanged;
  const slot = (_: unknown, status: string) => { if (/restarting/.test(status)) restarted(); };
  signal?.connect(slot);
  return () => signal?.disconnect(slot);
}

/** Must return at once: anywidget 0.11 loses every message of a model whose initialize takes longer than 2 s. */
function open(model: Model, signal?: AbortSignal): Session {
  let link!: Link;
  const store = new Store(() => link.resync());
  const text = (name: string) => (typeof model.get(name) === "string" ? (model.get(name) as string) : "");
  link = new Link({
    view: text("view_id"),
    comm: (message) => model.send(message),
    control: controlUrl(text("control_id")),
    kernel: () => kernelState(model),
  });
  const session: Session = { store, link, shown: 0 };
  const id = text("view_id");
  sessions.set(id, session);

  const boot = model.get("boot");
  if (boot && typeof boot === "object" && (boot as Snapshot).t === "snapshot") store.receive(boot as Snapshot);
  const onMessage = (message: KernelMessage) => {
    if (!message || typeof message !== "object") return;
    if (message.t === "frozen") {
      // Put into the document first: drawing what is about to be taken away would only flicker.
      try { replaceOutputs(model.widget_manager, message.model_id, message.data); } catch { /* not JupyterLab's model */ }
      return;
    }
    link.fromComm(message);
    store.receive(message);
    if (store.frozen) link.close();
  };
  const onGone = () => link.commGone();
  model.on("msg:custom", onMessage);
  model.on("comm:close", onGone);
  const deaf = onRestart(model, () => link.kernelRestarted());
  if (!store.frozen) link.start();
  signal?.addEventListener("abort", () => {
    model.off("msg:custom", onMessage);
    model.off("comm:close", onGone);
    deaf();
    link.close();
    sessions.delete(id);
  });
  return session;
}

function initialize({ model, signal }: Props): void {
  open(model, signal);
}

/** Time (ms) for a view to come back by itself, as when a cell is moved, and for the end of a turn to be told. */
const BACK_AFTER = 400;

function render({ model, el, signal }: Props): () => void {
  const id = String(model.get("view_id") ?? "");
  const session = sessions.get(id) ?? open(model);
  const { store, link } = session;
  const turn = Number(model.get("turn")) || 0;
  const unmount = mount(el, store, link, turn);
  let asked = false;
  const listening = store.subscribe(() => {
    if (asked && !store.route.stdin) releaseInput(model.widget_manager, el);
    asked = store.route.stdin;
  });
  session.shown += 1;
  const place = placeOf(model.widget_manager, id).catch(() => null);
  let closed = false;
  const close = () => {
    if (closed) return;
    closed = true;
    listening();
    unmount();
    session.shown -= 1;
    // Outputs cleared, or the cell run again, while the turn goes on: what waits must not wait unseen.
    setTimeout(() => {
      const running = store.state.status === "working" || store.state.status === "waiting";
      if (running && !session.shown && !store.frozen && !link.gone && sessions.get(id) === session) void place.then((p) => p?.again());
    }, BACK_AFTER);
  };
  signal?.addEventListener("abort", close);
  return close;
}

export default { initialize, render };
