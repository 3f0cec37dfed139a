import { Portal, test as base, expect } from "../fixtures/portal.js";
import { TrackingPage, startJob } from "../fixtures/tracking.js";

/** With a portal that has jobs. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const portal = await Portal.startWith("browser_tracking.json");
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

const REASON = "`reviewed` failed: condition not met: no test for step 2";
const PROGRESS = "1 failed, 1 true, 1 skipped, 1 not reached";

/** What the page shows of the job "choice" at its end. */
async function showsChoice(job: TrackingPage): Promise<void> {
  await job.reads("FAILED");
  await job.stand("true", "failed", "skipped", "not-reached");
  await expect(job.progress).toHaveText(PROGRESS);
  await expect(job.summary.locator(".state-badge")).toHaveText("Failed");
  await expect(job.summary.locator(".job-reason")).toHaveText(REASON);
  await expect(job.summary.locator(".verdicts > summary")).toHaveText("3 verdicts, 1 not met");
}

test("a page that follows a job shows the same states as one that comes later", async ({ page }) => {
  const id = await startJob(page, "choice");
  const job = await TrackingPage.open(page, "choice", id);
  await showsChoice(job);
  await expect(job.node(0)).toHaveAccessibleName("judged: true");
  await expect(job.node(0).locator(".elapsed")).toHaveText(/^true \d:\d\d$/);
  await expect(job.node(1)).toHaveAccessibleName(
    "reviewed: failed (condition not met: no test for step 2)",
  );
  await expect(job.node(2).locator(".elapsed")).toHaveText("skipped");
  await page.reload();
  await showsChoice(job);
});

test("the summary leads to the node at fault, and shows what was judged", async ({ page }) => {
  const job = await TrackingPage.start(page, "choice");
  await job.reads("FAILED");
  await job.summary.locator(".verdicts > summary").click();
  const verdicts = job.summary.locator(".verdict");
  await expect(verdicts.locator(".verdict-met")).toHaveText(["Met", "Met", "Not met"]);
  await expect(verdicts.last()).toContainText("reviewed: condition");
  await expect(verdicts.last().locator(".verdict-reason")).toHaveText("no test for step 2");
  await expect(verdicts.last().locator(".verdict-origin")).toHaveText(
    "attempt 1, judged by gpt-5-mini",
  );
  await job.summary.getByRole("button", { name: "Show reviewed" }).click();
  await expect(job.node(1)).toHaveClass(/selected/);
  const panel = page.locator(".tab-container");
  await expect(panel.locator(".tab-title")).toContainText("failed");
  await expect(panel.locator(".tab-reason")).toHaveText("condition not met: no test for step 2");
  await expect(panel.locator(".verdicts > summary")).toHaveText("1 verdict, 1 not met");
  await panel.locator(".verdicts > summary").click();
  await expect(panel.locator(".verdict-reason")).toHaveText("no test for step 2");
  await job.node(2).click();
  await expect(page.locator("#tab-panel")).toContainText("This task was not needed.");
  await job.node(2).click();
  await expect(job.json).toBeVisible();
});

test("what was stopped is canceled and not failed", async ({ page }) => {
  const job = await TrackingPage.start(page, "endless");
  await job.stand("succeeded", "running", "not-reached");
  await expect(job.summary.locator(".state-badge")).toHaveText("Running");
  await expect(job.summary.locator(".job-reason")).toHaveCount(0);
  await job.stop.click();
  await job.stand("succeeded", "canceled", "not-reached");
  await expect(job.summary.locator(".job-reason")).toHaveText("stopped by a user");
  await expect(job.node(1)).toHaveAccessibleName("long: canceled (canceled: the job was stopped)");
  const mark = (work: number) => job.node(work).locator(".mark").getAttribute("d");
  expect(await mark(1)).not.toBe(await mark(0));
});

test("the list of jobs has the state and the reason", async ({ page }) => {
  const id = await startJob(page, "choice");
  const job = await TrackingPage.open(page, "choice", id);
  await job.reads("FAILED");
  await page.goto("/index.html");
  const row = page.locator("#running-jobs-list li").filter({ has: page.locator(`a[href*="${id}"]`) });
  await expect(row.locator(".running-status")).toHaveText("Failed");
  await expect(row.locator(".running-reason")).toHaveText(REASON);
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("state, reason and verdicts fit, and leave room for the chart", async ({ page }) => {
    const job = await TrackingPage.start(page, "choice");
    await showsChoice(job);
    await expect(job.summary.locator(".job-reason")).toBeInViewport({ ratio: 1 });
    await job.summary.locator(".verdicts > summary").tap();
    await expect(job.summary.locator(".verdict").first()).toBeInViewport();
    await expect(page.locator("#chart-container")).toBeInViewport();
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
    await job.summary.getByRole("button", { name: "Show reviewed" }).tap();
    await page.locator(".tab-container .verdicts > summary").tap();
    await expect(page.locator(".tab-container .verdict-reason")).toBeInViewport({ ratio: 1 });
    await job.back.tap();
    await expect(job.summary).toBeVisible();
  });
});
