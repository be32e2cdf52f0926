#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installed beside this one.
"use strict";

const { spawn } = require("node:child_process");

const { version, mcphub, optionalDependencies } = require("../package.json");
const platform = `${process.platform}-${process.arch}`;
const name = `${mcphub.scope}/${platform}`;
let program;
try {
  program = require.resolve(`${name}/bin/mcphub${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`mcphub: the package ${name}, which holds the program, is not installed.`);
  if (!(name in optionalDependencies)) {
    console.error(`There is none for this platform. There are: ${Object.keys(optionalDependencies).join(", ")}`);
  } else {
    console.error("If npm was told to leave out optional packages, install mcphub again with --include=optional.");
    console.error("If mcphub was installed from a file, install that of its platform in the same command:");
    console.error(`  npm install -g ./mcphub-${version}.tgz ./${name.slice(1).replace("/", "-")}-${version}.tgz`);
  }
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
