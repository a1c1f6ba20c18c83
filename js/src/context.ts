/** What every part of a view is handed: the store, the way to send, and the few choices that are the view's own. */
import type { Answer, Link } from "./link";
import { type Command, newId, type Store } from "./model";

/** A command without its id. */
export type Wish = Command extends infer C ? (C extends { id: string } ? Omit<C, "id"> : never) : never;

export class Context {
  constructor(readonly store: Store, readonly link: Link, /** First turn shown; 0 shows the whole session. */ readonly turn: number) {}

  /** Frames have been decided here as soon as they are clicked; the log asks for a redraw through this. */
  redraw: () => void = () => {};

  send(wish: Wish, valid?: () => boolean): { id: string; answer: Promise<Answer> } {
    const command = { ...wish, id: newId() } as Command;
    if (command.type === "approve" || command.type === "answer") this.store.mine.add(command.request_id);
    return { id: command.id, answer: this.link.send(command, valid) };
  }

  /** The connection to the agent is being made again: the kernel hears us, the agent does not. */
  get cut(): boolean { return !this.store.frozen && this.store.state.status === "offline"; }

  /** A turn runs, also while its agent cannot be reached. */
  get running(): boolean {
    const { status, turn } = this.store.state;
    if (status === "working" || status === "waiting") return true;
    if (status !== "offline") return false;
    for (const e of this.store.entries.values()) if (e.kind === "turn" && e.turn === turn) return e.status === "running";
    return false;
  }

  shows(turn: number): boolean { return this.turn === 0 || turn >= this.turn || turn === 0; }
}
