import { type Page, expect, test as base } from "@playwright/test";
import { Portal } from "../fixtures/server.js";
import { longestTask, note, watch } from "./figures.js";
import { Api, ENDLESS, test } from "./portal.js";

const SESSIONS = 200;
const JOBS = 50;
const STREAMING = 20;
const TABS = 20;

const withJobs = base.extend<{ portal: Portal }>({
  portal: async ({}, use) => {
    const portal = await Portal.startWith("browser_tracking.json", "--simulated-first-ms", "0", "--simulated-delta-ms", "0");
    await use(portal);
    await portal.stop();
  },
});

withJobs("the side bar, with 200 sessions and 50 jobs of which 20 stream", async ({ page, portal }) => {
  const api = new Api(portal);
  for (let count = 0; count < JOBS; count++) await api.startJob("short");
  for (let count = 0; count < SESSIONS; count++) {
    const session = await api.startSession();
    await api.ask(session, count < STREAMING ? ENDLESS : `say "session ${count}"`);
  }
  await watch(page);
  await page.goto(portal.url);
  await page.waitForSelector("html[data-hydrated]");
  await page.waitForTimeout(2_000);
  note("side bar: longest task while it opens", await longestTask(page));
  await page.waitForTimeout(10_000);
  note("side bar: longest task while 20 stream", await longestTask(page));
  note("side bar: DOM nodes", await page.evaluate(() => document.getElementsByTagName("*").length));
});

/** Makes a page believe what a browser tells tabs: headless pages all believe to be visible. */
async function hideable(page: Page): Promise<void> {
  await page.addInitScript(() => {
    let isHidden = true;
    Object.defineProperty(document, "hidden", { get: () => isHidden });
    Object.defineProperty(document, "visibilityState", { get: () => (isHidden ? "hidden" : "visible") });
    window.addEventListener("bench:show", ({ detail }: CustomEventInit<boolean>) => {
      isHidden = !detail;
      document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    });
  });
}

async function show(page: Page, isShown: boolean): Promise<void> {
  await page.evaluate((detail) => window.dispatchEvent(new CustomEvent("bench:show", { detail })), isShown);
}

test("twenty tabs, one of them shown", async ({ context, portal }) => {
  const api = new Api(portal);
  const tabs: { page: Page; session: string }[] = [];
  for (let count = 0; count < TABS; count++) {
    const page = await context.newPage();
    await hideable(page);
    const session = await api.startSession();
    await page.goto(`${portal.url}/index.html?session=${session}`, { waitUntil: "commit" });
    await page.waitForSelector("html[data-hydrated]", { timeout: 60_000 });
    tabs.push({ page, session });
  }
  let slowest = 0;
  for (const [index, { page, session }] of [tabs[0]!, tabs[TABS / 2]!, tabs[TABS - 1]!].entries()) {
    await api.ask(session, `say "while hidden ${index}"`);
    await api.idle(session);
    const start = performance.now();
    await show(page, true);
    // Usable: what happened meanwhile is there, and the next prompt can be sent.
    await expect(page.locator(".message-block.message")).toContainText(`while hidden ${index}`, { timeout: 60_000 });
    await expect(page.locator("#send-button")).toBeEnabled({ timeout: 60_000 });
    slowest = Math.max(slowest, performance.now() - start);
    await show(page, false);
  }
  note("twenty tabs: usable after being shown", slowest);
});
