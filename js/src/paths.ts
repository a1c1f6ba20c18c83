/** Paths as people read them. They may be of another system than ours: both separators count. */

/** `path` relative to the folder `base` when it lies in it ("." for the folder itself), else as it is. */
export function within(path: string, base: string): string {
  const folder = base.replace(/[/\\]+$/, "");
  if (!folder || path.split(/[/\\]/).includes("..")) return path;
  if (path.replace(/[/\\]+$/, "") === folder) return ".";
  const rest = path.slice(folder.length);
  return path.startsWith(folder) && /^[/\\]./.test(rest) ? rest.slice(1) : path;
}

/** A model's name; of a scenario file (a model of the demo provider) the file's name without its folder. */
export function modelName(model: string): string {
  return /\.toml$/i.test(model) ? model.slice(Math.max(model.lastIndexOf("/"), model.lastIndexOf("\\")) + 1) : model;
}
