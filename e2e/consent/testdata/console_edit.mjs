// Changes hub.json on the page of the console, by keyboard alone and 390 pixels wide: MODULE of playwright-core, path of a browser, address,
// code, hub.json, program of the hub, axe-core. MCPHUB_E2E_PICTURES names a folder for pictures.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [module, executablePath, at, code, config, hub, axe] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(module);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const step = async (name, run) => { const began = Date.now(); await run(); console.log(`${name}: ${Date.now() - began} ms`); };
const file = () => readFileSync(config, "utf8");
try {
  const page = await (await browser.newContext({ viewport: { width: 390, height: 800 } })).newPage();
  const wrong = [];
  page.on("console", (m) => { if (m.type() === "error") wrong.push(m.text()); });
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("dialog", (d) => { wrong.push("a dialog: " + d.message()); return d.dismiss(); });

  const source = readFileSync(axe, "utf8");
  const fits = async (what) => {
    if (process.env.MCPHUB_E2E_PICTURES) await page.screenshot({ path: `${process.env.MCPHUB_E2E_PICTURES}/edit-${what.replaceAll(" ", "-")}.png`, fullPage: true });
    await page.evaluate(source);
    const violations = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations.map((v) => `${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 200)}`));
    assert.deepEqual(violations, [], what);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${what} is ${wide} wide`);
  };
  // named is what a screen reader calls the element that has the focus; each has a name, and an outline that is seen.
  const named = () => page.evaluate(() => {
    const e = document.activeElement, style = getComputedStyle(e);
    if (e === document.body) return "";
    const label = e.getAttribute("aria-label") ?? (e.labels?.[0] ? [...e.labels[0].childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data).join("") : e.textContent);
    if (!["MAIN", "H2"].includes(e.tagName) && (style.outlineStyle === "none" || !label.trim())) return `WRONG: ${e.outerHTML.slice(0, 200)}`;
    return label.trim().replace(/\s+/g, " ");
  });
  // goes by Tab alone to what has this name. From the last element Tab leads on: nothing is a trap.
  const tab = async (name, key = "Tab") => {
    const met = [];
    for (let i = 0; i < 150; i++) {
      await page.keyboard.press(key);
      const is = await named();
      assert.ok(!is.startsWith("WRONG"), is);
      if (name instanceof RegExp ? name.test(is) : is === name) return;
      met.push(is);
    }
    assert.fail(`Tab does not lead to ${name}, but to ${[...new Set(met)].join(" | ")}:\n${await page.locator("#part").innerText()}`);
  };
  const press = async (name) => { await tab(name); await page.keyboard.press("Enter"); };
  const heading = (name) => page.getByRole("heading", { name, level: 2 }).waitFor();
  const write = async () => {
    await fits("a change");
    await press("Write it");
    await page.getByRole("status").getByText("Written.").waitFor();
    await heading("Servers");
  };

  await step("the code opens it", async () => {
    await page.goto(at + "/");
    await page.keyboard.type(code);
    await page.keyboard.press("Enter");
    await heading("Now");
    await page.locator("main .standing").first().waitFor({ state: "attached" });
    await press("Servers");
    await heading("Servers");
    await fits("Servers");
  });

  await step("states in words", async () => {
    const text = (await page.locator("#part").textContent()).replace(/\s+/g, " ");
    assert.match(text, /rec runs .*It answers calls; there is nothing to do/);
    assert.ok(!/kernel off/.test(text.split("broken")[1].split("It ")[0]), text);
    const count = (await page.locator('details[data-find="rec"] summary').textContent()).match(/(\d+) tools, about (\d+) tokens/);
    let sum = 0;
    for (const t of await page.locator('details[data-find="rec"] li span:nth-of-type(1)').allTextContents()) sum += Number(t.match(/about (\d+) tokens/)[1]);
    assert.equal(sum, Number(count[2]));
    console.log(`rec: ${count[0]}`);
  });

  await step("add from the registry", async () => {
    await tab(/^words, or the name/);
    await page.keyboard.type("weather");
    await page.keyboard.press("Enter");
    await page.getByText("1 found").waitFor();
    await fits("what was found");
    await press("Show the entry of io.github.test/weather");
    await heading("Add a server");
    const entry = await page.getByLabel("the entry, whole").textContent();
    assert.match(entry, /weather-server:1\.2\.3/);
    assert.match(entry, /UNITS=metric/);
    assert.match(entry, /<img src=x onerror/); // as text
    assert.equal(await page.locator("#part img, #part script").count(), 0);
    assert.match(await page.getByLabel("what it starts and opens").textContent(), /weather starts .*docker.*weather-server:1\.2\.3/);
    const was = file();
    await page.keyboard.press("Escape"); // leads back, without a change
    await heading("Servers");
    assert.equal(file(), was);
    await tab(/^words, or the name/);
    await page.keyboard.type("io.github.test/weather");
    await press("Show the entry of this name");
    await heading("Add a server");
    assert.equal(file(), was);
    await write();
    assert.match(file(), /^\/\/ mine\n[^]*weather-server:1\.2\.3/);
  });

  await step("add by a command line", async () => {
    await tab("command line, or address");
    await page.keyboard.type(`"${hub}" files`);
    await tab("name in hub.json");
    await page.keyboard.type("more");
    await page.keyboard.press("Enter");
    await heading("Add a server");
    const was = file();
    await press("Start it once, and show what comes of it");
    await page.getByRole("heading", { name: "Started once" }).waitFor({ timeout: 120000 });
    assert.match(await page.getByLabel("what came of starting it once").textContent(), /more: works, with \d+ tools[^]*opens: /);
    assert.equal(file(), was);
    await write();
    assert.match(file(), /"more": \{/);
  });

  await step("add by an entry", async () => {
    await tab("entry in JSON, as a manual has it");
    await page.keyboard.type(JSON.stringify({ mcpServers: { pasted: { command: hub, args: ["files"], env: { MODE: "quick" }, sandbox: "off" } } }));
    await press("Add by an entry: show what would be written");
    await heading("Add a server");
    const entry = await page.getByLabel("the entry, whole").textContent();
    assert.match(entry, /MODE=quick/);
    assert.match(entry, /left out, since only hub.json and you say this: sandbox/);
    await write();
    assert.match(file(), /"pasted": \{/);
    assert.ok(!file().split('"pasted"')[1].split("}")[0].includes("sandbox"));
  });

  const row = (name) => page.locator(`details[data-find="${name}"]`);
  const open = async (name) => {
    await tab(new RegExp(`^${name} `));
    await page.keyboard.press("Enter");
  };
  await step("switch a server off and on", async () => {
    await open("more");
    await press("Switch off more");
    await heading("Switch off more");
    assert.match(await page.getByLabel("change of hub.json").textContent(), /\+.*"disabled": true/);
    await write();
    assert.match(file().split('"more"')[1], /"disabled": true/);
    await row("more").getByText("switched off").first().waitFor({ state: "attached" });
    await open("more");
    await press("Switch on more");
    await heading("Switch on more");
    assert.match(await page.getByLabel("what it starts and opens").textContent(), /more starts .* files/);
    await write();
    assert.ok(!file().split('"more"')[1].includes('"disabled": true'));
  });

  await step("switch a tool off and on", async () => {
    await open("rec");
    await press("Switch off the tool whoami");
    await heading("Switch off whoami of rec");
    assert.match(await page.getByLabel("change of hub.json").textContent(), /\+.*whoami/);
    await write();
    assert.match(file(), /"exclude": \[\s*"whoami"/);
    for (let i = 0; (await row("rec").getByText("1 switched off").count()) === 0; i++) { // once the hub has taken it
      assert.ok(i < 100);
      await press("Servers");
      await heading("Servers");
    }
    await open("rec");
    await press("Switch on the tool whoami");
    await write();
    assert.ok(!file().includes('"exclude"'));
  });

  await step("search", async () => {
    await tab(/^Find on this page/, "Shift+Tab");
    await page.keyboard.type("read_text");
    assert.equal(await row("rec").isVisible(), false);
    assert.equal(await row("files").locator("li", { has: page.getByText("read_text_file", { exact: true }) }).isVisible(), true);
    assert.equal(await row("files").locator("li", { hasText: "list_directory" }).first().isVisible(), false);
    assert.match(await page.locator("#found").textContent(), /^\d+ of \d+$/);
    await fits("a search");
    await page.keyboard.press("Escape");
    assert.equal(await row("rec").isVisible(), true);
    await page.keyboard.type("/etc/pass");
    await page.keyboard.press("Enter");
    await heading("Decisions");
    await page.locator("details", { hasText: "/etc/passwd" }).first().waitFor();
    await press("Now");
    await heading("Now");
    await tab(/^Find on this page/, "Shift+Tab");
    await page.keyboard.type("nothing-is-called-so");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing in the record is like that").waitFor();
  });

  assert.deepEqual(wrong, []);
} finally {
  await browser.close();
}
