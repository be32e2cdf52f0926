// A person with a real browser: opens the page of a login, logs in, consents, or refuses.
//
// node browse.mjs URL WHO ANSWER: ANSWER is "yes" or "no"; CHROMIUM names the browser, TOKEN what a page of the hub is shown.
import { chromium } from 'playwright-core';

const [url, who, answer] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage();
  await page.goto(url);
  for (let step = 0; step < 8 && !page.url().includes('/callback'); step++) {
    const next = page.locator('button[type=submit]').first();
    const name = page.locator('input[name=login]');
    const token = page.locator('input[name=token]');
    const finish = page.locator('button:has-text("Finish")');
    const onwards = page.locator('a[rel=noreferrer]');
    if (answer === 'no') {
      await page.locator('a:has-text("Cancel")').click();
    } else if (process.env.TOKEN && await token.count()) {
      await token.fill(process.env.TOKEN);
      await page.locator('form:has(input[name=token]) button').click();
    } else if (await finish.count()) {
      await finish.click();
    } else if (await onwards.count()) {
      await onwards.click();
    } else if (await name.count()) {
      await name.fill(who);
      await page.locator('input[name=password]').fill('any');
      await next.click();
    } else if (await next.count()) {
      await next.click();
    } else {
      break; // the page says how it went
    }
    await page.waitForLoadState();
  }
  console.log(await page.title(), new URL(page.url()).pathname, await page.locator('body').innerText());
} finally {
  await browser.close();
}
