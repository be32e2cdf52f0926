// A tab of a browser with the console: MODULE of playwright-core, path of a browser, address, code. It is told on stdin what to
// do, a line at a time, and answers each with a line of JSON.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [module, executablePath, at, code] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(module);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1100, height: 800 } })).newPage();
page.setDefaultTimeout(20_000);

// A click is timed by the page itself: from the moment of the input, which the browser notes, to the frame after what it brings.
await page.addInitScript(() => {
  const shown = () => requestAnimationFrame(() => setTimeout(() => { window.shownAt = performance.timeOrigin + performance.now(); }));
  addEventListener("click", (e) => { window.shownAt = 0; sessionStorage.setItem("clicked", performance.timeOrigin + e.timeStamp); }, true);
  addEventListener("toggle", shown, true);
  addEventListener("DOMContentLoaded", () => {
    shown();
    // A view takes the place of what is in the part, and another page that of the body.
    const comes = (list) => { if (list.some((m) => m.target.id === "part" || m.target === document.documentElement)) shown(); };
    new MutationObserver(comes).observe(document, { childList: true, subtree: true });
  });
});
const clicks = [];
const click = async (what, locator, comes) => {
  let bytes = 0;
  const came = comes ? page.waitForResponse((r) => new URL(r.url()).pathname === comes && r.request().headers()["console-part"] !== "whole").then(async (r) => { bytes = (await r.body()).length; return r.request(); }) : null;
  await locator.click();
  const took = await page.waitForFunction(() => window.shownAt > 0 && window.shownAt - Number(sessionStorage.getItem("clicked")));
  const asked = comes ? (await came).timing() : null;
  clicks.push({ what, took: await took.jsonValue(), bytes, asked: asked ? asked.responseStart - asked.requestStart : 0 });
};
const view = (name) => click(`view ${name}`, page.locator("nav").getByRole("button", { name, exact: true }), `/${name.toLowerCase()}`);
const row = async (what, locator) => {
  await click(`open ${what}`, locator.locator("summary").first());
  await click(`close ${what}`, locator.locator("summary").first());
};

const walk = async () => {
  await view("Decisions");
  await row("a decision", page.locator("details").first());
  await page.locator("#pick select[name=decision]").selectOption("refused");
  await click("filter by decision", page.getByRole("button", { name: "Show" }), "/decisions");
  await page.locator("#pick input[name=path]").fill("/etc/old50");
  await click("filter by an old path", page.getByRole("button", { name: "Show" }), "/decisions");
  await view("Questions");
  await view("Configuration");
  await view("Record");
  await view("Now");
  await row("a server", page.locator("details").first());
  await row("a session", page.locator("details").last());
};

const does = {
  async walk() {
    clicks.length = 0;
    await walk();
    return clicks;
  },
  async stay(name) {
    if (name === "nothing") await page.goto("about:blank");
    else {
      if (page.url() === "about:blank") await page.goto(at + "/");
      await page.locator("nav").getByRole("button", { name, exact: true }).click();
      await page.getByRole("heading", { name, level: 2 }).waitFor();
    }
    return "done";
  },
  async weigh() {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("HeapProfiler.collectGarbage");
    await cdp.send("Performance.enable");
    const { metrics } = await cdp.send("Performance.getMetrics");
    await cdp.detach();
    const of = (name) => metrics.find((m) => m.name === name).value;
    return { heap: of("JSHeapUsedSize"), nodes: of("Nodes") };
  },
};

try {
  await page.goto(at + "/");
  await page.getByLabel("The code").fill(code);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Now" }).waitFor();
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...args] = line.split(" ");
    console.log(JSON.stringify(await does[name](...args)));
  }
} finally {
  await browser.close();
}
