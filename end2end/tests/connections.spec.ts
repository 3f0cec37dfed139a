import { type BrowserContext, type Page, type Request } from "@playwright/test";
import { BridgePage } from "../fixtures/bridge.js";
import { test } from "../fixtures/folder.js";
import { InboxPage } from "../fixtures/inbox.js";
import { Portal, expect, hydrated } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";
import { startJob } from "../fixtures/tracking.js";

/** Tells a page whether it is hidden: headless pages all believe to be visible. */
async function hide(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    const state = hidden ? "hidden" : "visible";
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

/** The calls of a page that wait for something to happen. */
class Waiting {
  private readonly open = new Set<Request>();
  readonly bodies: string[] = [];

  constructor(page: Page) {
    page.on("request", (request) => {
      const path = new URL(request.url()).pathname;
      if (!path.startsWith("/api/copilot/live/") && path !== "/events") return;
      this.open.add(request);
      this.bodies.push(request.postData() ?? path);
    });
    page.on("requestfinished", (request) => this.open.delete(request));
    page.on("requestfailed", (request) => this.open.delete(request));
  }

  get count(): number {
    return this.open.size;
  }

  /** What the open calls ask for. */
  get asked(): string[] {
    return [...this.open].map((request) => request.postData() ?? new URL(request.url()).pathname);
  }
}

/** Waits until a page has some number of waiting calls. */
async function settles(waiting: Waiting, count: number): Promise<void> {
  await expect.poll(() => waiting.count).toBe(count);
}

/** Records notifications instead of showing them; permission is granted. */
async function recordNotifications(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const shown: string[] = [];
    class Recorded {
      static readonly permission = "granted";
      constructor(title: string) {
        shown.push(title);
      }
    }
    Object.assign(window, { Notification: Recorded, shown });
  });
}

function shown(page: Page): Promise<string[]> {
  return page.evaluate(() => (window as unknown as { shown: string[] }).shown);
}

test("of twenty tabs the nineteen hidden ones hold no connection, and each works when shown", async ({
  page, context,
}) => {
  test.setTimeout(240_000);
  const tabs: { session: SessionPage; waiting: Waiting }[] = [];
  for (let tab = 0; tab < 20; tab += 1) {
    const own = tab === 0 ? page : await context.newPage();
    const waiting = new Waiting(own);
    tabs.push({ session: await SessionPage.start(own), waiting });
    if (tab === 19) break;
    await hide(own, true);
    await settles(waiting, 0);
  }
  for (const [index, { session }] of tabs.entries()) {
    if (index > 0) await hide(tabs[index - 1].session.page, true);
    await hide(session.page, false);
    if (index < 19) await hide(tabs[19].session.page, true);
    await session.runTurn(`say hi ${index}`);
    await expect(session.of("message")).toHaveCount(1);
    await expect(session.body(session.of("message"))).toContainText(`hi ${index}`);
  }
  for (const { waiting } of tabs.slice(0, 19)) await settles(waiting, 0);
  await settles(tabs[19].waiting, 1);
});

test("nothing is lost or shown twice when a page was hidden while an answer came", async ({ page }) => {
  const session = await SessionPage.start(page);
  const waiting = new Waiting(page);
  await session.ask("Stream 1500 deltas with 4 ms between deltas after 0 ms.");
  await expect(session.of("message").last()).toContainText("<5:");
  await hide(page, true);
  await settles(waiting, 0);
  await expect(session.send).toBeDisabled();
  await hide(page, false);
  await session.ready();
  const text = await session.body(session.of("message").last()).textContent();
  expect(text!.match(/<\d+:/g)).toHaveLength(1500);
  await expect(session.of("user")).toHaveCount(1);
  await expect(session.of("message")).toHaveCount(1);
});

test("a page has one call for everything it follows", async ({ page }) => {
  const waiting = new Waiting(page);
  const session = await SessionPage.start(page);
  await session.runTurn("say hi");
  await expect.poll(() => waiting.asked.map((body) => body.replace(/-\S+| \S+/g, "").split("\n")))
    .toEqual([["inbox", "alive", "session"]]);
});

test("a hidden bridge page closes its events, and catches up when it is shown", async ({ page, portal }) => {
  const waiting = new Waiting(page);
  const bridge = await BridgePage.open(page, portal.url);
  await expect.poll(() => waiting.asked).toContain("/events");
  await hide(page, true);
  await settles(waiting, 0);
  const projects = (await (await page.request.get("/sessions")).json()) as { id: string }[];
  const data = { text: "say back again", sessionId: projects[0].id };
  expect((await page.request.post("/message", { data })).status()).toBe(202);
  await hide(page, false);
  const answer = bridge.blocks.filter({ hasText: "back again" });
  await expect(answer).toHaveCount(2);
  await bridge.idle();
  await expect(answer).toHaveCount(2);
  await expect.poll(() => waiting.asked).toContain("/events");
});

test("one hidden tab keeps the inbox, and notifies once of what comes", async ({
  page, context, folder,
}) => {
  await recordNotifications(context);
  const pages = [page, await context.newPage(), await context.newPage()];
  const waiting = pages.map((one) => new Waiting(one));
  for (const one of pages) {
    await InboxPage.open(one);
    await hide(one, true);
  }
  const kept = () => waiting.filter((one) => one.count === 1 && one.asked[0].startsWith("inbox"));
  await expect.poll(() => waiting.map((one) => one.count).sort()).toEqual([0, 0, 1]);
  expect(kept()).toHaveLength(1);
  const worker = await context.newPage();
  const session = await SessionPage.startIn(worker, folder);
  await session.askForFile("a.txt", "hi");
  await expect(session.cards.locator(".permission-approve")).toBeVisible();
  await expect.poll(async () => (await Promise.all(pages.map(shown))).flat()).toEqual(["Create a.txt"]);
  expect(await shown(worker)).toEqual([]);
  // The one that is shown leaves it to another, which repeats nothing.
  const keeper = pages[waiting.findIndex((one) => one.count === 1)];
  await hide(keeper, false);
  await expect(new InboxPage(keeper).item(folder).card).toBeVisible();
  const others = waiting.filter((_, index) => pages[index] !== keeper);
  await expect.poll(() => others.map((one) => one.count).sort()).toEqual([0, 1]);
  await session.cards.locator(".permission-approve").click();
  await session.ready();
  await session.askForFile("b.txt", "hi");
  await expect
    .poll(async () => (await Promise.all(pages.map(shown))).flat().sort())
    .toEqual(["Create a.txt", "Create b.txt"]);
  await session.cards.last().locator(".permission-approve").click();
  await session.ready();
});

test("a hidden tab tells of the end of a job", async ({ page, context, folder, watch }) => {
  const portal = await Portal.startWith("browser_retry.json");
  watch.own(portal.url);
  await recordNotifications(context);
  const waiting = new Waiting(page);
  await InboxPage.open(page, portal.url);
  await startJob(page, "release", folder, "", portal.url);
  await expect(page.locator("#alive-list")).toContainText("failed");
  // Once it is the one that notifies, it looks anew at what there is, and tells nothing of that.
  const looks = page.waitForResponse(/\/api\/copilot\/alive$/);
  await hide(page, true);
  await looks;
  await settles(waiting, 1);
  await startJob(page, "release", folder, "", portal.url);
  await expect.poll(() => shown(page)).toEqual(["release failed"]);
  await page.goto("about:blank");
  await portal.stop();
});

test("the tab says how much waits, on any page", async ({ page, context, folder, watch }) => {
  // Of its own, as what other tests leave in the inbox counts, too.
  const portal = await Portal.start();
  watch.own(portal.url);
  const session = await SessionPage.startIn(page, folder, "ask", portal.url);
  await session.askForFile("a.txt", "hi");
  const other = await context.newPage();
  await other.goto(`${portal.url}/bridge.html`);
  await hydrated(other);
  await expect(other).toHaveTitle(/^\(1\) /);
  const icon = other.locator("link[rel=icon]");
  await expect(icon).toHaveAttribute("href", /^data:image\/svg\+xml,/);
  await session.cards.locator(".permission-approve").click();
  await session.ready();
  await expect(other).not.toHaveTitle(/^\(/);
  await expect(icon).toHaveAttribute("href", "/favicon.svg");
  for (const one of [page, other]) await one.goto("about:blank");
  await portal.stop();
});
