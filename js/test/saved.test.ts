import { describe, expect, it } from "vitest";
import { placeOf, replaceOutputs } from "../src/saved";

const WIDGET = "application/vnd.jupyter.widget-view+json";
const list = <T>(items: T[]) => ({ length: items.length, get: (i: number) => items[i] as T, set: (i: number, v: T) => { items[i] = v; } });
const output = (id: string) => ({ data: { [WIDGET]: { model_id: id }, "text/plain": "live" } as Record<string, unknown> });

describe("the document after a turn", () => {
  it("holds the static transcript where the widget was, and everything else as it was", () => {
    const outputs = [output("other"), { data: { "text/plain": "1" } }, output("mine")];
    const cells = list([{}, { outputs: list(outputs) }]);
    expect(replaceOutputs({ context: { model: { cells } } }, "mine", { "text/html": "<p>over" })).toBe(1);
    expect(outputs[2]?.data).toEqual({ "text/html": "<p>over" });
    expect(outputs[0]).toEqual(output("other"));
    expect(outputs[1]?.data).toEqual({ "text/plain": "1" });
  });

  it.each([undefined, null, {}, { context: {} }, { context: { model: { cells: list([]) } } }])("is left alone in a host that is not JupyterLab: %j", (manager) => {
    expect(replaceOutputs(manager, "mine", {})).toBe(0);
  });
});

describe("a view whose output was taken away", () => {
  const place = async (outputs: ReturnType<typeof output>[]) => {
    const model = { ...list(outputs), get length() { return outputs.length; }, add: (v: unknown) => outputs.push(v as ReturnType<typeof output>) };
    const cells = [{}, { outputs: model }];
    const view = { context: { model: { cells: { get length() { return cells.length; }, get: (i: number) => cells[i] } } },
      has_model: (id: string) => id !== "dead", get_model: async (id: string) => ({ get: () => `view of ${id}` }) };
    return { cells, found: await placeOf(view, "view of mine") };
  };

  it("comes back to its cell once, as it was shown", async () => {
    const outputs = [output("dead"), output("other"), output("mine")];
    const { found } = await place(outputs);
    expect(found?.again()).toBe(false);
    outputs.length = 0;
    expect(found?.again()).toBe(true);
    expect(found?.again()).toBe(false);
    expect(outputs.map((o) => o.data)).toEqual([output("mine").data]);
  });

  it("stays away when its cell was deleted", async () => {
    const outputs = [output("mine")];
    const { cells, found } = await place(outputs);
    cells.pop();
    expect(found?.again()).toBe(false);
  });

  it.each([undefined, null, {}, { context: {} }])("has no place in a host that is not JupyterLab: %j", async (manager) => {
    expect(await placeOf(manager, "v")).toBe(null);
  });
});
