/** What an agent may send to break out of its column. Read by tests/browser/test_widget_alone.py too: one string a line of JSON. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

export const HOSTILE = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../tests/golden/hostile.json"), "utf8")) as string[];
