// Bundles src/ into hm_jupyter/static/widget.{js,css} and holds the size budget: 80 kB gzipped, JS and CSS together.
import { build, context } from "esbuild";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET = 80_000;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const options = {
  entryPoints: { widget: here("src/index.ts") },
  outdir: here("../hm_jupyter/static"),
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  banner: { js: "/* hm_jupyter, BSD-3-Clause. Holds marked (MIT), DOMPurify (Apache-2.0/MPL-2.0) and jsdiff (BSD-3-Clause). */" },
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  await (await context({ ...options, logLevel: "info" })).watch();
} else {
  await build({ ...options, ...(process.argv.includes("--meta") ? { metafile: true } : {}) }).then(async (result) => {
    if (result.metafile) console.log(await (await import("esbuild")).analyzeMetafile(result.metafile));
  });
  const sizes = ["widget.js", "widget.css"].map((name) => [name, gzipSync(readFileSync(`${options.outdir}/${name}`), { level: 9 }).length]);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  console.log(`${sizes.map(([name, size]) => `${name} ${size}`).join(" + ")} = ${total} bytes gzipped (budget ${BUDGET})`);
  if (total > BUDGET) {
    console.error("The bundle is over its budget: find what grew with `node build.mjs --meta`.");
    process.exit(1);
  }
}
