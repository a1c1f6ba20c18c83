import { describe, expect, it, vi } from "vitest";
import { type Change, type KernelMessage, newId, Store } from "../src/model";
import { scene, sceneNames } from "./helpers";

describe("the store", () => {
  it.each(sceneNames())("gets from start to end of the Python scene %s", (name) => {
    const { start, batches, end } = scene(name);
    const store = new Store();
    store.receive(start);
    for (const batch of batches) store.receive(batch);
    expect(store.transcript.toJSON()).toEqual({ state: end.state, entries: end.entries });
    expect(store.seq).toBe(end.seq);
  });

  it("ignores a batch that comes twice", () => {
    const { start, batches, end } = scene("streaming");
    const store = new Store();
    store.receive(start);
    for (const batch of batches) { store.receive(structuredClone(batch)); store.receive(structuredClone(batch)); }
    expect(store.transcript.toJSON().entries).toEqual(end.entries);
  });

  it("asks for a snapshot once when a message is missing, and goes on from it", () => {
    const { start, batches, end } = scene("streaming");
    const resync = vi.fn();
    const store = new Store(resync);
    store.receive(start);
    for (const batch of batches.slice(1)) store.receive(structuredClone(batch));
    expect(resync).toHaveBeenCalledTimes(1);
    expect(store.transcript.toJSON().entries).toEqual(start.entries);
    store.receive(end);
    expect(store.transcript.toJSON().entries).toEqual(end.entries);
  });

  it("asks for a snapshot when an operation cannot be carried out", () => {
    const resync = vi.fn();
    const store = new Store(resync);
    store.receive(scene("ready").start);
    store.receive({ t: "ops", seq: 8, ops: [{ op: "append", id: "nobody", field: "text", text: "x" }] });
    expect(resync).toHaveBeenCalledOnce();
  });

  it("asks for a snapshot when operations come before one", () => {
    const resync = vi.fn();
    new Store(resync).receive({ t: "ops", seq: 3, ops: [] });
    expect(resync).toHaveBeenCalledOnce();
  });

  it("says which entries a snapshot changed, so that the others are left alone", () => {
    const { start, end } = scene("streaming");
    const store = new Store();
    store.receive(structuredClone(start));
    const changes: Change[] = [];
    store.subscribe((change) => changes.push(change));
    store.receive(end);
    expect([...(changes[0]?.entries ?? [])]).toEqual(["m1"]);
  });

  it("ignores operations of a kind it does not know", () => {
    const store = new Store();
    store.receive(scene("ready").start);
    store.receive({ t: "ops", seq: 8, ops: [{ op: "reverse" } as never] } as KernelMessage);
    expect(store.seq).toBe(8);
  });

  it("shows the kernel's time, not this computer's", () => {
    const store = new Store();
    store.receive({ ...scene("ready").start, now: Date.now() / 1000 - 3600 });
    expect(store.now()).toBeCloseTo(Date.now() / 1000 - 3600, 0);
  });

  it("remembers which requests were decided elsewhere", () => {
    const store = new Store();
    const { start } = scene("two-waiting");
    store.receive(start);
    store.mine.add("p1");
    store.receive({ t: "ops", seq: 8, ops: [{ op: "state", patch: { pending: [] } }] });
    expect([...store.elsewhere]).toEqual(["call-p2"]);
  });

  it("makes command ids like Python's", () => {
    expect(newId()).toMatch(/^[0-9a-f]{12}$/);
    expect(new Set(Array.from({ length: 100 }, newId)).size).toBe(100);
  });
});
