// Opens the console in a browser, as a person does: MODULE of playwright-core, path of a browser, address, code, folder for pictures,
// and the folder that they call /home/sam.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import assert from "node:assert/strict";

const [module, executablePath, at, code, folder, home] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(module);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const fresh = async (options = {}) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.wrong = [];
  page.on("console", (m) => { if (m.type() === "error") page.wrong.push(m.text()); });
  page.on("pageerror", (e) => page.wrong.push(String(e)));
  return page;
};
const step = async (name, run) => { const began = Date.now(); await run(); console.log(`${name}: ${Date.now() - began} ms`); };

const picture = async (page, name, fullPage = true) => {
  await page.evaluate((home) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(home, "/home/sam").replace(/"\S*\/mcphub-e2e-\d+/, '"/usr/local/bin').replace(/ \/\S*\/mcphub-e2e-\d+/, " /usr/local/bin");
  }, home);
  await page.screenshot({ path: `${folder}/console-${name}.png`, fullPage });
};

try {
  const page = await fresh({ viewport: { width: 1100, height: 800 } });
  const elsewhere = [];
  page.on("request", (r) => { if (!r.url().startsWith(at + "/")) elsewhere.push(r.url()); });
  // A browser writes what a page was asked for by into a file: the code, and the secret of the session.
  const byForm = (page) => {
    const forms = [];
    page.on("request", (r) => { if (r.isNavigationRequest() && r.method() === "POST") forms.push(new URL(r.url()).pathname); });
    return forms;
  };
  const forms = byForm(page);

  await step("the code opens it, by keyboard", async () => {
    await page.goto(at + "/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "code");
    await page.keyboard.type(code);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Now" }).waitFor();
    assert.equal(page.url(), at + "/");
  });

  // focus goes by Tab alone to a button, and presses it.
  const press = async (name) => {
    await page.locator("body").evaluate(() => document.activeElement.blur());
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(() => document.activeElement.textContent)).trim() === name) return page.keyboard.press("Enter");
    }
    assert.fail(`Tab does not lead to ${name}`);
  };
  for (const view of ["Servers", "Decisions", "Questions", "Configuration", "Record", "Now"]) {
    await step(view, async () => {
      await press(view);
      await page.getByRole("heading", { name: view, level: 2 }).waitFor();
      assert.equal(await page.locator("nav [aria-current]").textContent(), view);
      if (view === "Configuration") await page.getByRole("heading", { name: "mcphub plan" }).waitFor(); // comes after the file
      for (const scheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: scheme });
        await picture(page, `${view.toLowerCase()}-${scheme}`);
      }
      await page.setViewportSize({ width: 360, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 360, `${view} is ${wide} wide`);
      await picture(page, `${view.toLowerCase()}-360`);
      await page.setViewportSize({ width: 1100, height: 800 });
    });
  }

  await step("a decision opens to why", async () => {
    await press("Decisions");
    await page.getByText("/etc/passwd").first().waitFor();
    const row = page.locator("details", { hasText: "/etc/passwd" }).first();
    await row.locator("summary").focus();
    await page.keyboard.press("Enter");
    await row.getByText("outside the boundary").waitFor();
    assert.match(await row.locator(".command").textContent(), /^mcphub allow /);
    await page.emulateMedia({ colorScheme: "light" });
    await picture(page, "decision-light", false);
  });

  await step("what changes is asked for again, and not while it is read", async () => {
    const during = page.waitForResponse((r) => r.request().headers()["console-part"] === "whole", { timeout: 5000 }).then(() => true, () => false);
    assert.equal(await during, false, "it was replaced while a row was open");
    await page.locator("details[open] summary").first().press("Enter");
    await page.evaluate(() => document.activeElement.blur());
    const again = await page.waitForResponse((r) => r.request().headers()["console-part"] === "whole");
    assert.equal(again.status(), 200);
  });

  await step("loaded anew it goes on", async () => {
    await page.reload();
    await page.getByRole("heading", { name: "Decisions" }).waitFor();
  });

  await step("a restart", async () => {
    await press("Now");
    await page.getByRole("heading", { name: "Now", level: 2 }).waitFor(); // a decision has a row of that name too
    await page.locator('details:has(summary b:text-is("rec")) summary').first().click();
    await page.getByRole("button", { name: "Restart rec" }).click();
    await page.getByRole("status").getByText("restarted").waitFor();
  });

  await step("no secret is where others look", async () => {
    const secret = await page.locator("input[name=session]").first().inputValue();
    assert.equal(secret.length, 52);
    assert.ok(!page.url().includes(secret));
    assert.equal((await page.context().cookies()).length, 0);
    assert.deepEqual(elsewhere, []);
    assert.deepEqual(forms, []);
    assert.deepEqual(page.wrong, []);
  });

  await step("pages of other origins", async () => {
    const seen = [];
    const evil = createServer((req, res) => {
      seen.push({ referrer: req.headers.referer, cookie: req.headers.cookie });
      res.setHeader("Content-Type", "text/html");
      res.end(`<iframe id=f src="${at}/"></iframe><form id=g method=post action="${at}/restart"><input name=server value=rec></form>`);
    });
    await new Promise((done) => evil.listen(0, "127.0.0.1", done));
    const bad = await page.context().newPage(); // the same person, the same browser, another port of the same address
    await bad.goto(`http://127.0.0.1:${evil.address().port}/`);
    assert.equal(seen[0].cookie, undefined);
    const tried = await bad.evaluate(async (at) => {
      const one = (run) => run().then((r) => r, (e) => "refused: " + e.name);
      return {
        read: await one(() => fetch(at + "/now", { method: "POST", body: new URLSearchParams({ session: "x" }) }).then((r) => r.text())),
        blind: await one(() => fetch(at + "/now", { method: "POST", mode: "no-cors" }).then((r) => "opaque " + r.type)),
        script: await new Promise((done) => { const s = document.createElement("script"); s.src = at + "/static/console.js"; s.onload = () => done("loaded"); s.onerror = () => done("refused"); document.body.append(s); }),
        kept: sessionStorage.length,
      };
    }, at);
    assert.match(tried.read, /^refused/);
    assert.ok(!/opaque basic/.test(tried.blind));
    assert.equal(tried.script, "refused");
    assert.equal(tried.kept, 0);
    const frame = bad.frames().find((f) => f !== bad.mainFrame());
    assert.equal(await frame.locator("#code").count().catch(() => 0), 0, "it is shown in a frame");
    const [answer] = await Promise.all([bad.waitForResponse((r) => r.url() === at + "/restart"), bad.evaluate(() => document.getElementById("g").submit())]);
    assert.equal(answer.status(), 403);
    await bad.close();
    evil.close();
  });

  await step("the code counts once", async () => {
    const second = await fresh();
    const tried = byForm(second);
    await second.goto(at + "/");
    await second.getByLabel("The code").fill(code);
    await second.keyboard.press("Enter");
    await second.getByRole("alert").waitFor();
    assert.deepEqual(tried, []);
  });

  await step("without a script", async () => {
    // The session is handed over by hand: the code was used.
    const session = await page.locator("input[name=session]").first().inputValue();
    const plain = await fresh({ javaScriptEnabled: false });
    const form = `<form method=post action="${at}/decisions"><input name=session value="${session}"><button>go</button></form>`;
    await plain.route(at + "/", (route) => route.fulfill({ contentType: "text/html", body: form }));
    const sent = byForm(plain);
    await plain.goto(at + "/");
    await plain.getByRole("button").click();
    await plain.getByRole("heading", { name: "Decisions" }).waitFor();
    await plain.getByText("/etc/passwd").first().waitFor();
    await plain.getByRole("button", { name: "Record" }).click();
    await plain.getByRole("heading", { name: "Record" }).waitFor();
    assert.deepEqual(sent, ["/decisions", "/record"], "the control");
  });
} finally {
  await browser.close();
}
