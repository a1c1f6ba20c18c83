import { describe, expect, it } from "vitest";
import { modelName, within } from "../src/paths";

describe("a path below the folder that is named beside it", () => {
  it.each([
    ["/home/a/app/src/x.py", "/home/a/app", "src/x.py"],
    ["/home/a/app/src/x.py", "/home/a/app/", "src/x.py"],
    ["/home/a/app", "/home/a/app", "."],
    ["/home/a/app/", "/home/a/app", "."],
    ["C:\\work\\x.py", "C:\\work", "x.py"],
    ["/home/a/appshop/x.py", "/home/a/app", "/home/a/appshop/x.py"],
    ["/home/a/app/../.ssh/id", "/home/a/app", "/home/a/app/../.ssh/id"],
    ["/etc/passwd", "/home/a/app", "/etc/passwd"],
    ["/etc/passwd", "/", "/etc/passwd"],
    ["/etc/passwd", "", "/etc/passwd"],
    ["src/x.py", "/home/a/app", "src/x.py"],
  ])("%s in %s is %s", (path, base, shown) => { expect(within(path, base)).toBe(shown); });
});

describe("a model's name", () => {
  it.each([
    ["sonnet-4.5", "sonnet-4.5"], ["org/model", "org/model"], ["", ""],
    ["/home/a/first.toml", "first.toml"], ["C:\\lessons\\first.TOML", "first.TOML"], ["first.toml", "first.toml"],
  ])("%s is shown as %s", (model, shown) => { expect(modelName(model)).toBe(shown); });
});
