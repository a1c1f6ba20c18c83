/** Puts the static transcript in the widget's place in the notebook's own model, where the kernel no longer reaches.
 *
 * At a turn's end the kernel updates the display that holds the widget. JupyterLab forgets display ids when a page is
 * reloaded, so there the update is lost; but its widget manager knows the document, and the output knows the widget.
 * Knows no session. Where the host is another one, nothing is found and nothing is done.
 */

const WIDGET = "application/vnd.jupyter.widget-view+json";

interface Output { data?: Record<string, unknown> }
interface Outputs { length: number; get(i: number): Output; set(i: number, value: unknown): void; add?(value: unknown): unknown }
interface Cells { length: number; get(i: number): { outputs?: Outputs } }
interface Manager {
  context?: { model?: { cells?: Cells } };
  has_model?(id: string): boolean;
  get_model?(id: string): Promise<{ get(name: string): unknown }>;
}

/** Replace every output that shows the model `id` by `data` (a mime bundle); how many there were. */
export function replaceOutputs(manager: unknown, id: string, data: Record<string, unknown>): number {
  let replaced = 0;
  const cells = (manager as Manager | undefined)?.context?.model?.cells;
  if (!cells || !id) return replaced;
  for (let c = 0; c < cells.length; c += 1) {
    const { outputs } = cells.get(c);
    for (let i = 0; outputs && i < outputs.length; i += 1) {
      const shown = outputs.get(i).data?.[WIDGET] as { model_id?: string } | undefined;
      if (shown?.model_id !== id) continue;
      outputs.set(i, { output_type: "display_data", data, metadata: {} });
      replaced += 1;
    }
  }
  return replaced;
}

/** Where a view stands in the document: `again` puts it back there, if the cell is still there and no longer shows it. */
export interface Place { again(): boolean }

/** The place of the output that shows the view `view`; null where the host is another one. */
export async function placeOf(manager: unknown, view: string): Promise<Place | null> {
  const host = manager as Manager | undefined;
  const cells = host?.context?.model?.cells;
  if (!cells || !host.get_model) return null;
  for (const [outputs, id, data] of widgetsIn(cells)) {
    if (host.has_model && !host.has_model(id)) continue;
    if ((await host.get_model(id)).get("view_id") === view) return { again: () => showAgain(cells, outputs, id, data) };
  }
  return null;
}

function* widgetsIn(cells: Cells): Iterable<[Outputs, string, Record<string, unknown>]> {
  for (let c = 0; c < cells.length; c += 1) {
    const { outputs } = cells.get(c);
    for (let i = 0; outputs && i < outputs.length; i += 1) {
      const { data } = outputs.get(i);
      const id = (data?.[WIDGET] as { model_id?: string } | undefined)?.model_id;
      if (data && id) yield [outputs, id, { ...data }];
    }
  }
}

function showAgain(cells: Cells, outputs: Outputs, id: string, data: Record<string, unknown>): boolean {
  for (const [, shown] of widgetsIn(cells)) if (shown === id) return false;
  for (let c = 0; c < cells.length; c += 1) {
    if (cells.get(c).outputs !== outputs || !outputs.add) continue;
    outputs.add({ output_type: "display_data", data, metadata: {} });
    return true;
  }
  return false;                                                        // the cell was deleted
}
