#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installed beside this one.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const scope = require("../package.json").mcphub.scope;
let program;
try {
  program = require.resolve(`${scope}/${platform}/bin/mcphub${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`mcphub: the package ${scope}/${platform} is not installed.`);
  console.error("Either there is none for this platform, or npm was told to leave out optional packages: install without --omit=optional.");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`mcphub: ${program} does not start: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  for (const s of signals) process.removeAllListeners(s);
  process.kill(process.pid, signal);
});
