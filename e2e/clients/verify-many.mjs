// Runs verify-audit.mjs over many folders in one process: a line [FOLDER, HEAD...] in, a line [verdict, what it said] out.
import { createInterface } from "node:readline";
const say = process.stdout.write.bind(process.stdout), ended = Symbol("process.exit");
let said = "", n = 0;
console.log = (text) => { said += text; };
process.exit = () => { throw ended; };
for await (const line of createInterface({ input: process.stdin })) {
  process.argv = [process.argv[0], "verify-audit.mjs", ...JSON.parse(line)];
  said = "";
  let whole = true;
  try { await import(`./verify-audit.mjs?${n++}`); } catch (e) {
    whole = false;
    if (e !== ended) said += `it failed: ${e}`;
  }
  say(`${JSON.stringify([whole, said])}\n`);
}
