// Checks a folder of audit logs by docs/audit-format.md, and by nothing else of mcphub: node verify-audit.mjs FOLDER [HEAD...]
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
const [dir, ...heads] = process.argv.slice(2), zero = "0".repeat(64);
const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");
const wrong = (where, why) => { console.log(`${where}: ${why}`); process.exit(1); };
const read = (line) => { // one line, or null where it is none or its hash is wrong
  const cut = line.lastIndexOf(',"hash":"');
  try { const e = JSON.parse(line); return cut > 0 && e.v === 1 && e.hash === sha(line.subarray(0, cut)) ? e : null; } catch { return null; }
};
const lines = (text) => { const all = []; for (let at = 0; at < text.length;) { const end = text.indexOf(10, at), to = end < 0 ? text.length : end; all.push({ text: text.subarray(at, to), whole: end >= 0 }); at = to + 1; } return all; };
const follow = (name, text) => { // the entries of one chain
  let head = zero, torn = null, entries = [];
  lines(text).forEach(({ text: line, whole }, i) => {
    const e = read(line), where = `${name}:${i + 1}`;
    if (!e && (torn || !(torn = { line, whole, where }))) wrong(torn.where, "it is not as it was written");
    if (!e) return;
    if (torn ? e.kind !== "torn" || e.bytes !== torn.line.length || e.sha256 !== sha(torn.line) : e.kind === "torn") wrong(torn?.where ?? where, "what was cut off is not accounted for");
    if (e.n !== entries.length + 1 || e.prev !== head) wrong(where, "it does not follow from the line before");
    torn = null; head = e.hash; entries.push(e);
  });
  return torn?.whole ? wrong(torn.where, "it is not as it was written") : entries;
};
const logs = new Map(), names = readdirSync(dir), first = (b) => lines(b).map((l) => read(l.text)).find((e) => e)?.n ?? Infinity;
for (const name of names.filter((n) => /^[0-9a-f-]{36}.*\.jsonl$/.test(n))) logs.set(name.slice(0, 36), [...(logs.get(name.slice(0, 36)) ?? []), name]);
const chain = follow("chain.jsonl", readFileSync(join(dir, "chain.jsonl")));
for (const head of heads) if (!chain.some((e) => e.hash === head)) wrong("chain.jsonl", `no line has the hash ${head}`);
for (const e of chain) if (e.kind !== "torn" && !logs.has(e.log)) wrong(`${e.log}.jsonl`, "it is missing");
for (const [id, files] of logs) {
  const texts = files.map((name) => ({ b: readFileSync(join(dir, name)), last: name === `${id}.jsonl` })).sort((x, y) => x.last - y.last || first(x.b) - first(y.b));
  const entries = follow(`${id}.jsonl`, Buffer.concat(texts.map((t) => t.b))), marks = chain.filter((e) => e.log === id), end = marks.at(-1), alive = existsSync(join(dir, `${id}.lock`));
  if (entries[0]?.kind !== "open" || entries[0].log !== id) wrong(`${id}.jsonl`, "it is another log");
  for (const m of marks) if (entries[m.at - 1]?.hash !== m.head) wrong(`${id}.jsonl:${m.at}`, `chain.jsonl:${m.n} knows another line`);
  const ended = end && ["close", "recovered"].includes(end.kind);
  if (ended ? end.at !== entries.length : !alive && (!end || entries.at(-1).kind === "close")) wrong(`${id}.jsonl`, "chain.jsonl tells of another end");
}
console.log(`whole: ${logs.size} logs; head ${chain.at(-1)?.hash ?? zero}`);
