/** Colours for agents' code blocks: one scanner, and a line of data for each language.
 *
 * It knows comments, strings, numbers, keywords, names that are defined or called, and operators, which is what six colours
 * can show. A grammar per language (highlight.js: 20 kB gzipped) would be a quarter of the bundle for little more to see.
 */
import { h } from "./dom";

interface Language { comment?: string; string?: string; words: string; nocase?: boolean; define?: string; number?: string; extra?: string }

const DOUBLE = String.raw`"(?:\\.|[^"\\\n])*"?`;
const SINGLE = String.raw`'(?:\\.|[^'\\\n])*'?`;
const TICK = String.raw`\`(?:\\[^]|[^\`\\])*\`?`;
const TRIPLE = String.raw`[rbfuRBFU]{0,2}(?:"""(?:\\[^]|(?!""")[^])*(?:"""|$)|'''(?:\\[^]|(?!''')[^])*(?:'''|$))`;
const HASH = String.raw`#[^\n]*`;
const SLASH = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;

const C_WORDS = "if else for while do switch case default break continue return goto const static struct enum union void int long short char float double bool unsigned signed true false sizeof typedef";
const LANGUAGES: Record<string, Language> = {
  python: { comment: HASH, string: `${TRIPLE}|[rbfuRBFU]{0,2}(?:${DOUBLE}|${SINGLE})`, define: "def|class", extra: "@[\\w.]+|^[%!][%\\w]*",
    words: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield" },
  javascript: { comment: SLASH, string: `${DOUBLE}|${SINGLE}|${TICK}`, define: "function|class|interface|type|enum",
    words: "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null of private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield" },
  bash: { comment: String.raw`(?<![^\s])#[^\n]*`, string: `\\$?(?:"(?:\\\\[^]|[^"\\\\])*"?|'[^']*'?)`, extra: String.raw`\$(?:\w+|\{[^}\n]*\}|[@#?!*$-])`,
    words: "if then elif else fi for while until do done case esac in function select return exit break continue local export set unset readonly declare source alias cd echo eval exec shift test trap" },
  json: { string: DOUBLE, words: "true false null", extra: String.raw`"(?:\\.|[^"\\\n])*"(?=\s*:)` },
  yaml: { comment: String.raw`(?<![^\s])#[^\n]*`, string: `${DOUBLE}|'(?:''|[^'\\n])*'?`, words: "true false null yes no on off", extra: String.raw`^[ \t-]*[\w./"'-]+(?=:(?:\s|$))` },
  ini: { comment: String.raw`(?<![^\s])[#;][^\n]*`, string: `"""[^]*?(?:"""|$)|${DOUBLE}|${SINGLE}`, words: "true false", extra: String.raw`^\s*\[[^\n]*\]|^\s*[\w.-]+(?=\s*=)` },
  sql: { comment: String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`, string: "'(?:''|[^'])*'?|\"[^\"\\n]*\"?", nocase: true,
    words: "add all alter and any as asc avg begin between by case cast check coalesce column commit constraint count create cross database default delete desc distinct drop else end except exists false filter first foreign from full group having if ilike in index inner insert intersect into is join key last lateral left like limit max min natural not null nulls offset on or order outer over partition primary references replace returning right rollback row rows select set sum table temporary then to transaction true truncate union unique update using values view when where window with" },
  r: { comment: HASH, string: `${DOUBLE}|${SINGLE}`, words: "if else repeat while function for next break TRUE FALSE NULL NA Inf NaN in library require return" },
  julia: { comment: `#=[^]*?(?:=#|$)|${HASH}`, string: `"""[^]*?(?:"""|$)|${DOUBLE}`, define: "function|struct|macro|module", extra: "@\\w+",
    words: "abstract baremodule begin break catch const continue do else elseif end export false finally for function global if import in let local macro module mutable nothing primitive quote return struct true try type using where while" },
  rust: { comment: SLASH, string: DOUBLE, define: "fn|struct|enum|trait|mod|type",
    words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while" },
  go: { comment: SLASH, string: `${DOUBLE}|${SINGLE}|${TICK}`, define: "func|type",
    words: "break case chan const continue default defer else fallthrough for func go goto if import interface map nil package range return select struct switch type var true false string int error bool" },
  c: { comment: SLASH, string: `${DOUBLE}|${SINGLE}`, extra: String.raw`^\s*#\w+`,
    words: `${C_WORDS} auto catch class constexpr delete explicit final friend import instanceof interface namespace new noexcept nullptr null operator override package private protected public template this throw throws try typename using virtual extends implements boolean String` },
  css: { comment: String.raw`\/\*[^]*?(?:\*\/|$)`, string: `${DOUBLE}|${SINGLE}`, words: "important from to", extra: String.raw`[\w-]+(?=\s*:[^:{}]*[;}])|@[\w-]+`, number: String.raw`#[0-9a-fA-F]{3,8}\b|\b\d[\d.]*(?:%|[a-z]+)?` },
  xml: { comment: String.raw`<!--[^]*?(?:-->|$)`, string: `(?<==)(?:"[^"]*"?|'[^']*'?)`, words: "", extra: String.raw`<[/?!]?[\w:.-]+|[/?]?>|[\w:-]+(?==["'])` },
  toml: { words: "" }, diff: { words: "" },
};
LANGUAGES["toml"] = LANGUAGES["ini"] as Language;
for (const [name, others] of Object.entries({ python: "py ipython python3 py3 pyi", javascript: "js jsx mjs typescript ts tsx", bash: "sh shell zsh console shellsession", json: "jsonc json5 ipynb", yaml: "yml",
  ini: "cfg conf properties", sql: "sqlite postgresql mysql duckdb", rust: "rs", go: "golang", c: "h cpp c++ cc hpp java cs csharp", css: "scss less", xml: "html svg xhtml", julia: "jl", diff: "patch" })) {
  for (const other of others.split(" ")) LANGUAGES[other] = LANGUAGES[name] as Language;
}

const MAX = 100_000;
const compiled = new Map<Language, { scan: RegExp; words: Set<string> }>();

function compile(language: Language): { scan: RegExp; words: Set<string> } {
  let made = compiled.get(language);
  if (!made) {
    const parts = [
      language.comment && `(?<c>${language.comment})`,
      language.extra && `(?<d>${language.extra})`,
      language.string && `(?<s>${language.string})`,
      language.define && `(?<=\\b(?:${language.define})\\s+)(?<f>[\\w$]+)`,
      `(?<n>${language.number ?? String.raw`\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[a-zA-Z]?\b`})`,
      String.raw`(?<w>[A-Za-z_$][\w$]*)`,
      String.raw`(?<o>[-+*/=<>!%|&^~?:]+)`,
    ];
    made = { scan: new RegExp(parts.filter(Boolean).join("|"), "gm"), words: new Set(language.words.split(" ")) };
    compiled.set(language, made);
  }
  return made;
}

/** `code` as nodes; as it is when the language is not known. */
export function highlight(code: string, name: string): (Node | string)[] {
  const key = name.toLowerCase();
  const language = Object.hasOwn(LANGUAGES, key) ? LANGUAGES[key] : undefined;
  if (!language || code.length > MAX) return [code];
  if (language === LANGUAGES["diff"]) return diffLines(code);
  const { scan, words } = compile(language);
  const out: (Node | string)[] = [];
  let plain = "";
  let at = 0;
  for (const match of code.matchAll(scan)) {
    const text = match[0];
    const g = match.groups ?? {};
    const cls = g["c"] ? "hm-c" : g["s"] ? "hm-s" : g["d"] || g["f"] ? "hm-d" : g["n"] ? "hm-n" : g["o"] ? "hm-o"
      : g["w"] && words.has(language.nocase ? text.toLowerCase() : text) ? "hm-k" : "";
    plain += code.slice(at, match.index);
    at = match.index + text.length;
    if (!cls) { plain += text; continue; }
    if (plain) out.push(plain);
    plain = "";
    out.push(h("span", { class: cls }, text));
  }
  plain += code.slice(at);
  if (plain) out.push(plain);
  return out;
}

function diffLines(code: string): (Node | string)[] {
  return code.split("\n").flatMap((line, i) => {
    const cls = /^(?:\+\+\+|---|diff |index )/.test(line) ? "hm-c" : line.startsWith("+") ? "hm-ag" : line.startsWith("-") ? "hm-ar" : line.startsWith("@@") ? "hm-d" : "";
    return [i ? "\n" : "", cls ? h("span", { class: cls }, line) : line];
  });
}
