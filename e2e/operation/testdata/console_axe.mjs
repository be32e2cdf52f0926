// Looks with axe at every view of the console, light and dark, wide and 360 pixels: MODULE of playwright-core, path of a browser, address, code, axe-core.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [module, executablePath, at, code, axe] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(module);
const source = readFileSync(axe, "utf8");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let found = 0, looks = 0;
try {
  const page = await (await browser.newContext()).newPage();
  const check = async (what) => {
    const { violations, passes } = await page.evaluate(async () => {
      const seen = await window.axe.run(document, { resultTypes: ["violations"] });
      return { passes: seen.passes.length, violations: seen.violations.map((v) => `${v.impact} ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`) };
    });
    assert.ok(passes > 5, `axe has looked at nothing of ${what}`);
    looks++;
    for (const one of violations) console.log(`${what}: ${one}`);
    return violations;
  };
  const everyWay = async (what) => {
    await page.evaluate(source);
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1100, 360]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        found += (await check(`${what}, ${colorScheme}, ${width} wide`)).length;
      }
    }
  };
  await page.goto(at + "/");
  await everyWay("the first page");
  await page.getByLabel("The code").fill(code);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Now" }).waitFor();
  for (const view of ["Now", "Servers", "Decisions", "Questions", "Configuration", "Record"]) {
    await page.getByRole("button", { name: view, exact: true }).click();
    await page.getByRole("heading", { name: view, level: 2 }).waitFor();
    if (view === "Configuration") await page.getByLabel("plan").waitFor();
    for (const row of await page.locator("details").all()) await row.locator("summary").first().click();
    await everyWay(view);
  }
  // The control: what is wrong is found.
  await page.evaluate(() => { document.getElementById("part").innerHTML = '<img src="/static/icon.svg"><input>'; });
  assert.ok((await check("the control")).length >= 2);
} finally {
  await browser.close();
}
console.log(`${found} violations in ${looks - 1} looks`);
process.exitCode = found > 0 ? 1 : 0;
