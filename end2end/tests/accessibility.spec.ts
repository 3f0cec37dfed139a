import { isAccessible } from "../fixtures/accessibility.js";
import { test } from "../fixtures/folder.js";
import { HistoryPage } from "../fixtures/history.js";
import { InboxPage } from "../fixtures/inbox.js";
import { JobsPage } from "../fixtures/jobs.js";
import { Portal, expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";
import { TrackingPage } from "../fixtures/tracking.js";

/** Pages that have nothing to show yet. */
const PAGES = ["/", "/inbox.html", "/bridge.html", "/history.html", "/test.html"];

test.describe("axe finds nothing serious", () => {
  for (const path of PAGES) {
    test(`on ${path}`, async ({ page, open }) => {
      await open(path);
      await isAccessible(page, path);
    });
  }

  test("on the page that is shown where there is none", async ({ page, open, watch }) => {
    watch.expect(/404/);
    await open("/nothing.html");
    await isAccessible(page, "not found");
  });

  test("in a session with blocks of every kind and a card, nor in the inbox that shows it too", async ({
    page, context, folder,
  }) => {
    test.slow();
    const session = await SessionPage.startIn(page, folder);
    await session.runTurn("think about it, answer in Markdown");
    await session.runTurn("use the missing_tool tool");
    await session.askForFile("a.txt", "hi");
    await expect(session.cards).toBeVisible();
    const folded = page.locator(".message-block.collapsed .message-block-toggle");
    while ((await folded.count()) > 0) await folded.first().click();
    await isAccessible(page, "session");
    const inbox = await InboxPage.open(await context.newPage());
    await expect(inbox.item(folder).card).toBeVisible();
    await isAccessible(inbox.page, "inbox");
    const history = await HistoryPage.open(page, `?folder=${encodeURIComponent(folder)}`);
    await expect(history.rows).toHaveCount(1);
    await isAccessible(page, "history");
    await history.search.fill("think");
    await expect(history.rows.locator("mark")).toBeVisible();
    await history.rows.locator(".history-menu-button").click();
    await expect(history.menu).toBeVisible();
    await isAccessible(page, "history, search and menu");
  });

  test.describe("in a portal with jobs", () => {
    let portal: Portal;
    test.beforeAll(async () => {
      portal = await Portal.startWith("browser_tracking.json");
    });
    test.afterAll(async () => portal.stop());

    test("on the matrix, with a job selected", async ({ page, watch }) => {
      watch.own(portal.url);
      const jobs = await JobsPage.open(page, "/", portal.url);
      await jobs.buttons.first().click();
      await isAccessible(page, "jobs");
    });

    test("on a job that runs, with one of its tasks chosen", async ({ page, watch }) => {
      watch.own(portal.url);
      const job = await TrackingPage.start(page, "endless", "/", portal.url);
      await job.reads("RUNNING");
      await isAccessible(page, "job, running");
      await page.setViewportSize({ width: 1280, height: 800 });
      await job.node(0).click();
      await expect(job.tabs.first()).toBeVisible();
      await isAccessible(page, "job, running, task chosen");
    });

    test("on a job that failed", async ({ page, watch }) => {
      watch.own(portal.url);
      const job = await TrackingPage.start(page, "choice", "/", portal.url);
      await job.reads("FAILED");
      await job.summary.locator(".verdicts > summary").click();
      await isAccessible(page, "job, failed");
    });
  });
});
