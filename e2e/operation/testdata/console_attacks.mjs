// Attacks the console from pages of other origins in a browser: MODULE of playwright-core, path of a browser, address, code, folder for
// the browser's profile.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import assert from "node:assert/strict";

const [module, executablePath, at, code, profile] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(module);
const port = new URL(at).port;
// evil.example is a name that was bound anew to this machine, at every port.
const context = await chromium.launchPersistentContext(profile, { executablePath, args: ["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"] });
const step = async (name, run) => { await run(); console.log(name); };
const seen = [];

// What a page can reach from where it stands. Each way says what came of it.
const tries = (where) => {
  const socket = where.replace(/^http/, "ws");
  const within = (run) => new Promise((done) => { run(done); });
  return Promise.all([
    within((done) => { const s = new WebSocket(socket + "/now"); s.onopen = () => done("opened"); s.onerror = () => done("refused"); }),
    within((done) => { const s = new EventSource(where + "/now"); s.onopen = () => done("opened"); s.onerror = () => { s.close(); done("refused"); }; }),
    within((done) => { const i = new Image(); i.onload = () => done("loaded"); i.onerror = () => done("refused"); i.src = where + "/static/icon.svg"; }),
    fetch(where + "/").then((r) => r.text()).then((text) => (text.includes("code") ? "read" : "refused"), () => "refused"),
    fetch(where + "/open", { method: "POST", body: new URLSearchParams({ code: "WRONG-WRONG" }) }).then((r) => (r.status === 403 || r.status === 421 ? "refused" : "answered " + r.status), () => "refused"),
  ]);
};

try {
  const page = await context.newPage();
  await page.goto(at + "/");

  // A server that lets everybody in shows that these ways work.
  const friendly = createServer((req, res) => {
    seen.push(req.headers.referer ?? "");
    res.setHeader("Access-Control-Allow-Origin", "*");
    res.setHeader("Content-Type", { "/now": "text/event-stream", "/static/icon.svg": "image/svg+xml", "/": "text/html" }[req.url] ?? "text/plain");
    if (req.url === "/now") res.write("data: x\n\n");
    else res.end(req.url.endsWith(".svg") ? `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>` : "code");
  });
  friendly.on("upgrade", (req, s) => {
    import("node:crypto").then(({ createHash }) => {
      const accept = createHash("sha1").update(req.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
      s.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    });
  });
  await new Promise((done) => friendly.listen(0, "127.0.0.1", done));
  const there = `http://127.0.0.1:${friendly.address().port}`;

  await step("a page at another port: WebSocket, EventSource, image, fetch, form", async () => {
    const bad = await context.newPage();
    await bad.goto(there + "/");
    assert.deepEqual(await bad.evaluate(tries, there), ["opened", "opened", "loaded", "read", "answered 200"], "the control");
    assert.deepEqual(await bad.evaluate(tries, at), ["refused", "refused", "refused", "refused", "refused"]);
    await bad.close();
  });

  await step("a window that another page has opened", async () => {
    const bad = await context.newPage();
    await bad.goto(there + "/");
    const [opened] = await Promise.all([context.waitForEvent("page"), bad.evaluate((at) => { window.victim = window.open(at + "/"); }, at)]);
    await opened.waitForLoadState();
    assert.equal(await opened.evaluate(() => window.opener), null);
    assert.equal(await bad.evaluate(() => { try { return window.victim.document.body.innerHTML; } catch { return "refused"; } }).then((r) => r === "refused" || r === ""), true);
    await opened.close();
    await bad.close();
  });

  await step("a name that was bound anew", async () => {
    const rebound = `http://evil.example:${port}`;
    const bad = await context.newPage();
    await bad.goto(`http://evil.example:${friendly.address().port}/`);
    assert.match(await bad.content(), /code/, "the control: the name leads here");
    const answer = await bad.goto(rebound + "/");
    assert.equal(answer.status(), 421);
    assert.deepEqual(await bad.evaluate(tries, rebound), ["refused", "refused", "refused", "refused", "refused"]);
    assert.deepEqual(await bad.evaluate(tries, at), ["refused", "refused", "refused", "refused", "refused"]);
    await bad.close();
  });

  let session;
  await step("after more than five wrong codes of theirs, the code opens it", async () => {
    await page.getByLabel("The code").fill(code);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    session = await page.locator("input[name=session]").first().inputValue();
    assert.ok(session.length >= 52);
    // From its own page no socket opens either: nothing here is one.
    assert.equal((await page.evaluate(tries, at))[0], "refused");
  });

  await step("where the page goes, nothing is told", async () => {
    seen.length = 0;
    await page.evaluate((there) => { const a = document.createElement("a"); a.href = there + "/left"; a.id = "left"; a.textContent = "x"; document.body.append(a); }, there);
    await page.locator("#left").click();
    await page.waitForURL(there + "/left");
    assert.deepEqual(seen.filter((r) => r !== "" && new URL(r).origin !== there), []); // that page asks for its own icon
    await page.goBack();
  });
  await page.close();
  await context.close();
  friendly.closeAllConnections();
  friendly.close();

  await step("the profile of the browser", async () => {
    const files = readdirSync(profile, { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).map((f) => join(f.parentPath ?? f.path, f.name));
    const all = Buffer.concat(files.map((f) => readFileSync(f)));
    assert.ok(all.includes(at) || all.includes(at, 0, "utf16le"), "the control: the address is in the history");
    const secrets = { code, session };
    for (const [name, secret] of Object.entries(secrets)) {
      for (const encoding of ["utf8", "utf16le"]) assert.ok(!all.includes(Buffer.from(secret, encoding)), `${name} is in a file`);
    }
  });
} finally {
  await context.close();
}
