// Checks a folder of audit logs by docs/audit-format.md, and by nothing else of mcphub: node verify-audit.mjs FOLDER [HEAD...]
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
const [dir, ...heads] = process.argv.slice(2), zero = "0".repeat(64), sha = (bytes) => createHash("sha256").update(bytes).digest("hex");
const wrong = (where, why) => { console.log(`${where}: ${why}`); process.exit(1); };
const form = '^{"v":1,"n":(N),"prev":"(H)","time":"(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3})\\d{3}Z","kind":"([a-z]+)"(?:,"log":"(.{36})")?(?:,"at":(N),"head":"(H)")?(?:,"from":(N),"first":"(H)")?(?:,"bytes":(N),"sha256":"(H)")?';
const begin = new RegExp(form.replaceAll("N", "[1-9]\\d{0,14}").replaceAll("H", "[0-9a-f]{64}")), end = /^,"hash":"([0-9a-f]{64})"}$/;
const members = (v) => v === null || typeof v !== "object" ? 0 : Object.values(v).reduce((n, x) => n + members(x), Array.isArray(v) ? 0 : Object.keys(v).length);
const depth = (text) => { let now = 0, most = 0; for (const c of text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "")) { if (c === "{" || c === "[") most = Math.max(most, ++now); else if (c === "}" || c === "]") now--; } return most; };
const read = (line) => { // one line, or null where it is none or its hash is wrong
  try {
    const hash = end.exec(line.subarray(-75).toString("latin1"))?.[1];
    if (hash !== sha(line.subarray(0, -75)) || !isUtf8(line)) return null;
    if (depth(line.toString()) > 1008) return null; // before anything that recurses reads it
    const text = line.toString(), [, n, prev, time, kind, log, at, head, from, first, bytes, sha256] = begin.exec(text);
    const names = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"\s*:?/g).filter((s) => s.endsWith(":")); // one that stands there twice is one member
    if (new Date(`${time}Z`).toISOString() !== `${time}Z` || members(JSON.parse(text)) !== names.length) return null;
    return { n: +n, prev, kind, log, at: +at, head, from: +from, first, bytes: +bytes, sha256, hash };
  } catch { return null; }
};
const split = (text) => { const all = []; for (let at = 0, to; at <= text.length; at = to + 1) { to = text.indexOf(10, at); if (to < 0) to = text.length; all.push(text.subarray(at, to)); } return all; };
const follow = (name, text, starts = new Map()) => { // the entries of one chain, how many were removed before, and whether something stands behind its last line end
  const all = split(text), rest = all.at(-1).length > 0, entries = [];
  let head = zero, torn = null, base = 0;
  for (const [i, line] of (rest ? all : all.slice(0, -1)).entries()) {
    const e = read(line), where = `${name}:${i + 1}`;
    if (e ? torn ? e.kind !== "torn" || e.bytes !== torn.line.length || e.sha256 !== sha(torn.line) : e.kind === "torn" : torn) wrong(torn?.where ?? where, "it is not as it was written");
    if (e && entries.length === 0 && starts.has(e.n)) [base, head] = [e.n - 1, starts.get(e.n)];
    if (e && (e.n !== base + entries.length + 1 || e.prev !== head)) wrong(where, "it does not follow from the line before");
    if (e) { head = e.hash; entries.push(e); }
    torn = e ? null : { line, where };
  }
  return torn && !rest ? wrong(torn.where, "it is not as it was written") : { entries, base, rest };
};
const logs = new Map(), first = (b) => split(b).map(read).find((e) => e)?.n ?? 0;
for (const f of readdirSync(dir, { withFileTypes: true })) {
  const id = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(-.*)?\.jsonl$/s.exec(f.name)?.[1];
  if (id && !f.isFile()) wrong(f.name, "it is no file");
  if (id) logs.set(id, [...(logs.get(id) ?? []), { last: f.name === `${id}.jsonl`, text: readFileSync(`${dir}/${f.name}`) }]);
}
const { entries: chain } = follow("chain.jsonl", readFileSync(`${dir}/chain.jsonl`));
for (const head of heads) if (!chain.some((e) => e.hash === head)) wrong("chain.jsonl", `no line has the hash ${head}`);
const removals = (id) => { // the lines of a log that chain.jsonl has as removed: each follows the one before, and names lines that it had before
  const starts = new Map(), all = [];
  let told = [], next = 1;
  for (const m of chain.filter((e) => e.kind !== "torn" && e.log === id)) {
    if (m.kind !== "removed") { told.push(m); continue; }
    if (m.from !== next || !(m.at >= m.from) || !told.some((t) => t.at >= m.at) || told.some((t) => t.at === m.at && t.head !== m.head)) wrong(`chain.jsonl:${m.n}`, "it cannot be as it stands there");
    starts.set(next = m.at + 1, m.head);
    all.push(m);
  }
  const last = told.at(-1), gone = !existsSync(`${dir}/${id}.lock`) && /^(close|recovered)$/.test(last?.kind) && last.at === next - 1 && last.head === all.at(-1)?.head;
  return { starts, all, told, gone };
};
for (const e of chain) if (e.kind !== "torn" && !(e.at && (logs.has(e.log) || removals(e.log).gone))) wrong(`${e.log}.jsonl`, "it is missing");
for (const [id, files] of logs) {
  files.sort((x, y) => x.last - y.last || first(x.text) - first(y.text));
  const { starts, all, told: marks } = removals(id), { entries, base, rest } = follow(`${id}.jsonl`, Buffer.concat(files.map((f) => f.text)), starts);
  const mark = marks.at(-1), known = mark?.at ?? 0, ended = /^(close|recovered)$/.test(mark?.kind), alive = existsSync(`${dir}/${id}.lock`);
  if (entries.some((e, i) => e.kind === "open" ? e.log !== id : i + base === 0)) wrong(`${id}.jsonl`, "it is another log");
  const heads = [...marks.map((m) => [m.n, m.at, m.head]), ...all.flatMap((m) => [[m.n, m.at, m.head], [m.n, m.from, m.first]])];
  for (const [n, at, head] of heads) if (at > base && entries[at - base - 1]?.hash !== head) wrong(`${id}.jsonl:${at}`, `chain.jsonl:${n} knows another line`);
  if (alive && (entries.length === 0 || base + entries.length === known + 1 && entries.at(-1).kind === "open")) continue; // chain.jsonl is told after the first line of a process
  if (ended ? known !== base + entries.length || rest : !alive || !mark) wrong(`${id}.jsonl`, "chain.jsonl tells of another end");
}
console.log(`whole: ${logs.size} logs; head ${chain.at(-1)?.hash ?? zero}`);
