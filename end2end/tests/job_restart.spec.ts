import path from "node:path";
import { InboxPage } from "../fixtures/inbox.js";
import { LastingPortal, withLasting } from "../fixtures/lasting.js";
import { expect } from "../fixtures/portal.js";
import { ENTRIES } from "../fixtures/server.js";
import { TrackingPage } from "../fixtures/tracking.js";

// These kill their server while a task is working, and start it again.
const test = withLasting("--entry", path.join(ENTRIES, "browser_restart.json"));

/** Starts a job, and ends the server in its second task. */
async function cutOff(
  page: TrackingPage["page"], job: string, lasting: LastingPortal, end: "kill" | "stop" = "kill",
): Promise<TrackingPage> {
  const tracking = await TrackingPage.start(page, job, "/", lasting.url);
  await tracking.stand("succeeded", "running", "not-reached");
  await tracking.node(1).click();
  await tracking.tab("Attempt #1").click();
  await expect(tracking.blocks.last()).toContainText("<3:");
  await lasting[end]();
  await expect(tracking.banner).toContainText("the server has stopped");
  return tracking;
}

for (const end of ["kill", "stop"] as const) {
  test(`a page goes on with its job after a ${end}, and says how the job went on`, async ({ page, lasting }) => {
    await goesOn(await cutOff(page, "resumes", lasting, end), lasting);
  });
}

async function goesOn(job: TrackingPage, lasting: LastingPortal): Promise<void> {
  const { page } = job;
  await lasting.startAgain();
  await expect(job.banner).toHaveCount(0);
  await expect(job.node(1)).toHaveClass(/\brecovered\b/);
  const sentence = "After a restart: the interrupted turn is resumed";
  await expect(page.locator(".tab-recovery")).toHaveText(sentence);
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");
  await job.reads("SUCCEEDED");
  await job.stand("succeeded", "succeeded", "succeeded");
  await expect(job.blocks.last()).toContainText("<119:");
  await job.tab("Driving").click();
  const decided = job.titled("TaskDecision").filter({ hasText: "[INTERRUPTED]" });
  await expect(decided).toHaveText(/the interrupted turn is resumed/);
  await expect(job.node(1)).toHaveAccessibleName(/^slow: succeeded \(after a restart: the interrupted turn/);
  await page.reload();
  await job.stand("succeeded", "succeeded", "succeeded");
  await expect(job.node(1)).toHaveClass(/\brecovered\b/);
  await expect(job.node(0)).not.toHaveClass(/\brecovered\b/);
}

test("a job that asks is answered on its page", async ({ page, lasting }) => {
  const job = await cutOff(page, "asks", lasting);
  await lasting.startAgain();
  await expect(job.banner).toHaveCount(0);
  await job.stand("succeeded", "waiting", "not-reached");
  await expect(page).toHaveTitle(/^\(\?\) asks/);
  await expect(job.summary.locator(".state-badge")).toHaveText("Waits for you");
  const card = page.locator(".tab-container .permission-card");
  await expect(card.locator(".permission-title")).toContainText("`slow` was interrupted");
  await expect(card.locator(".permission-buttons button")).toHaveText([
    "Continue where it was cut off", "Do it again", "Count it as done", "Count it as failed",
  ]);
  // Who comes later finds the way to it.
  await page.reload();
  await job.stand("succeeded", "waiting", "not-reached");
  await page.locator(".job-asking button").click();
  await card.locator(".permission-done").click();
  await expect(card).toHaveCount(0);
  await job.reads("SUCCEEDED");
  await expect(page.locator(".tab-recovery")).toContainText("somebody counts the interrupted work as done");
  await expect(page).not.toHaveTitle(/^\(\?\) /);
});

test("what the inbox answers leaves the page of the job, which goes on", async ({ page, lasting, context }) => {
  const job = await cutOff(page, "asks", lasting);
  await lasting.startAgain();
  const card = page.locator(".tab-container .permission-card");
  await expect(card).toBeVisible();
  const inbox = await InboxPage.open(await context.newPage(), lasting.url);
  const item = inbox.page.locator("#inbox-items .inbox-item");
  await expect(item).toContainText("Task interrupted by a restart");
  await expect(item.getByRole("link", { name: "Open session" })).toHaveCount(0);
  await item.locator(".permission-redo").click();
  await expect(item).toHaveCount(0);
  await expect(inbox.answered.first()).toContainText("Sent again by local");
  await expect(card).toHaveCount(0);
  await expect(page.locator(".tab-recovery")).toHaveText("After a restart: the interrupted prompt is sent again");
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1", "Attempt #2"]);
  await job.reads("SUCCEEDED");
});

test("the inbox leads to the job, whose work can be counted as failed", async ({ page, lasting }) => {
  await cutOff(page, "asks", lasting);
  await lasting.startAgain();
  const inbox = await InboxPage.open(page, lasting.url);
  const item = page.locator("#inbox-items .inbox-item");
  await item.getByRole("link", { name: "Open job asks" }).click();
  const job = new TrackingPage(page);
  await page.locator(".job-asking button").click();
  await page.locator(".tab-container .permission-fail").click();
  await job.reads("FAILED");
  await job.stand("succeeded", "failed", "not-reached");
  await expect(page.locator(".tab-reason")).toContainText("somebody counts it as failed");
  await InboxPage.open(page, lasting.url);
  await expect(inbox.answered.first()).toContainText("Counted as failed by local");
});

test("a job whose interrupted works fail is interrupted", async ({ page, lasting }) => {
  const job = await cutOff(page, "fails", lasting);
  await lasting.startAgain();
  await job.reads("FAILED");
  await job.stand("succeeded", "interrupted", "not-reached");
  await expect(job.summary.locator(".state-badge")).toHaveText("Interrupted");
  await expect(job.node(1).locator(".elapsed")).toHaveText(/^interrupted/);
  await expect(page.locator(".tab-reason")).toHaveText("interrupted: the server stopped");
  await expect(page.locator(".tab-recovery")).toContainText("interrupted works fail");
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("the question fits beside what the task has said", async ({ page, lasting }) => {
    const job = await TrackingPage.start(page, "asks", "/", lasting.url);
    await job.stand("succeeded", "running", "not-reached");
    await lasting.kill();
    await expect(job.banner).toContainText("the server has stopped");
    await lasting.startAgain();
    await page.locator(".job-asking button").tap();
    const card = page.locator(".tab-container .permission-card");
    for (const choice of ["continue", "redo", "done", "fail"]) {
      await expect(card.locator(`.permission-${choice}`)).toBeInViewport({ ratio: 1 });
    }
    await expect(page.locator("#tab-panel")).toBeInViewport({ ratio: 1 });
    const panel = (await page.locator("#tab-panel").boundingBox())!;
    expect(panel.height).toBeGreaterThan(200);
    await card.locator(".permission-done").tap();
    await job.back.tap();
    await job.reads("SUCCEEDED");
  });
});
