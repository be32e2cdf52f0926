// A registry for npm on loopback that knows the packages of one folder, and no others.
//   node registry.js FOLDER     prints its address; ends when its standard input does
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");

const folder = process.argv[2];
const packages = new Map();
for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".tgz"))) {
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", path.join(folder, file), "package/package.json"]));
  packages.set(manifest.name, { file, manifest });
}

const server = http.createServer((request, response) => {
  const name = decodeURIComponent(request.url.slice(1));
  const known = packages.get(name);
  if (known) {
    const dist = { tarball: `http://127.0.0.1:${server.address().port}/files/${known.file}` };
    const { version } = known.manifest;
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: { ...known.manifest, dist } } }));
    return;
  }
  const file = [...packages.values()].map((p) => p.file).find((f) => name === `files/${f}`);
  if (file) {
    response.end(fs.readFileSync(path.join(folder, file)));
    return;
  }
  response.writeHead(404).end("{}");
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.on("end", () => process.exit(0)).resume();
