import { defineConfig } from "vitest/config";

// jsdom, not happy-dom: DOMPurify does not sanitise under happy-dom.
export default defineConfig({ test: { environment: "jsdom", include: ["test/**/*.test.ts"], testTimeout: 30_000 } });
