import { test as base } from "../fixtures/folder.js";
import { Portal, expect } from "../fixtures/portal.js";
import { TrackingPage, startJob } from "../fixtures/tracking.js";

/** With a portal whose jobs fail, or don't, as they are told. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const portal = await Portal.startWith("browser_retry.json");
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

const GOOD_INPUT = 'Use the job_prepare_document tool with the argument "plan.md".';
const BAD_INPUT = 'Say "There is no plan."';

/** Runs the job "release" to its end, in which `tested` fails. */
async function failedRelease(page: TrackingPage["page"]): Promise<TrackingPage> {
  const job = await TrackingPage.start(page, "release");
  await job.reads("FAILED");
  await job.stand("succeeded", "failed", "succeeded", "not-reached");
  return job;
}

/** Waits until the page shows another run than before. */
async function leaves(job: TrackingPage, before: string): Promise<void> {
  await expect(job.page).not.toHaveURL(before);
  await expect(job.page).toHaveURL(/jobName=\w+&jobId=job-/);
}

test("a retry keeps what succeeded, and says where that comes from", async ({ page }) => {
  const job = await failedRelease(page);
  const first = page.url();
  await expect(job.retriedFrom).toHaveCount(0);
  await job.retry.click();
  await leaves(job, first);
  await job.reads("FAILED");
  await job.stand("succeeded", "failed", "succeeded", "not-reached");
  await job.stand("carried", "failed", "carried", "not-reached");
  await expect(job.node(1)).not.toHaveClass(/carried/);
  await expect(job.node(0)).toHaveAccessibleName("prepared: succeeded, carried over");
  await expect(job.node(0).locator(".elapsed")).toHaveText("carried over");
  expect(await job.node(0).locator(".past-mark").getAttribute("d")).not.toBe("");
  await job.node(0).click();
  await expect(page.locator(".tab-state")).toHaveText("succeeded, carried over");
  await expect(page.locator("#tab-panel")).toContainText("Its output is in the run that it comes from.");
  // What ran here has its own output.
  await job.node(1).click();
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1"]);
  await job.node(0).click();
  await page.locator(".carried-from").click();
  await expect(page).toHaveURL(first);
  await job.node(0).click();
  await expect(page.locator(".tab-state")).toHaveText(/^succeeded, \d/);
});

test("a run and its retries link to each other", async ({ page }) => {
  const job = await failedRelease(page);
  const first = page.url();
  const later: string[] = [];
  for (const names of [["a new run"], ["run 1", "run 2"]]) {
    await job.retry.click();
    await leaves(job, first);
    later.push(page.url());
    await job.reads("FAILED");
    await expect(job.retries).toHaveCount(0);
    await expect(page.locator(".job-lineage")).toHaveText("Retry of an earlier run");
    await job.retriedFrom.click();
    await expect(page).toHaveURL(first);
    await expect(job.retries).toHaveText(names);
  }
  await job.retries.first().click();
  await expect(page).toHaveURL(later[0]);
  // A retry can be retried, too.
  await job.reads("FAILED");
  await job.retry.click();
  await leaves(job, later[0]);
  await job.stand("carried", "failed", "carried", "not-reached");
});

test("a retry begins at the task that is selected", async ({ page }) => {
  const job = await failedRelease(page);
  const first = page.url();
  await expect(job.workRetry).toHaveCount(0);
  await job.node(3).click();
  await expect(page.locator(".tab-title")).toContainText("not reached");
  await expect(job.workRetry).toHaveCount(0);
  await job.node(2).click();
  await expect(job.workRetry).toHaveText("Retry from here");
  await job.node(0).click();
  await job.workRetry.click();
  await leaves(job, first);
  await job.reads("FAILED");
  await job.stand("succeeded", "failed", "succeeded", "not-reached");
  await expect(page.locator(".node.carried")).toHaveCount(0);
  await expect(job.retriedFrom).toBeVisible();
});

test("only a job that has ended can be retried", async ({ page }) => {
  const job = await TrackingPage.start(page, "endless");
  await job.stand("succeeded", "running");
  await job.node(0).click();
  await expect(job.tabs).toHaveCount(2);
  for (const button of [job.retry, job.runAgain, job.workRetry]) await expect(button).toHaveCount(0);
  await job.stop.click();
  await job.reads("CANCELED");
  for (const button of [job.retry, job.runAgain, job.workRetry]) await expect(button).toBeEnabled();
  const first = page.url();
  await job.retry.click();
  await leaves(job, first);
  await job.stand("carried", "running");
  await job.stop.click();
  await job.reads("CANCELED");
});

test("a job that has succeeded is run again, or retried from a task", async ({ page }) => {
  const id = await startJob(page, "plan", "/", GOOD_INPUT);
  const job = await TrackingPage.open(page, "plan", id);
  await job.reads("SUCCEEDED");
  await expect(job.runAgain).toBeVisible();
  await expect(job.retry).toHaveCount(0);
  const first = page.url();
  await job.node(0).click();
  await job.workRetry.click();
  await leaves(job, first);
  await job.reads("SUCCEEDED");
  await expect(job.retriedFrom).toBeVisible();
});

test("a job is run again with another folder and another input", async ({ page, folder }) => {
  const id = await startJob(page, "plan", "/", BAD_INPUT);
  const job = await TrackingPage.open(page, "plan", id);
  await job.reads("FAILED");
  const first = page.url();
  await job.runAgain.click();
  const fields = { folder: page.getByLabel("Folder"), input: page.getByLabel("User input") };
  await expect(fields.folder).toHaveValue("/");
  await expect(fields.input).toHaveValue(BAD_INPUT);
  await fields.folder.fill(folder);
  await fields.input.fill(GOOD_INPUT);
  await page.keyboard.press("Escape");
  await expect(page.locator("#run-again-panel")).toBeHidden();
  await job.runAgain.click();
  await expect(fields.input).toHaveValue(GOOD_INPUT);
  await page.locator("#run-again-start").click();
  await leaves(job, first);
  await job.reads("SUCCEEDED");
  await expect(job.retriedFrom).toHaveCount(0);
  await job.runAgain.click();
  await expect(fields.folder).toHaveValue(folder);
  await expect(fields.input).toHaveValue(GOOD_INPUT);
});

test("what is refused is said in place, and what was typed stays", async ({ page, watch }) => {
  watch.expect(/Failed to load resource/);
  const id = await startJob(page, "plan", "/", BAD_INPUT);
  const job = await TrackingPage.open(page, "plan", id);
  await job.reads("FAILED");
  await job.runAgain.click();
  const panel = page.locator("#run-again-panel");
  await page.getByLabel("Folder").fill("/no/such/folder");
  await page.getByLabel("User input").fill(" ");
  await page.locator("#run-again-start").click();
  await expect(panel.getByRole("alert")).toContainText("no such folder on the server's machine: /no/such/folder");
  await expect(page.getByLabel("Folder")).toHaveValue("/no/such/folder");
  await page.getByLabel("Folder").fill("/");
  await page.locator("#run-again-start").click();
  await expect(panel.getByRole("alert")).toHaveText("This job needs input: say what it is about.");
  await page.getByLabel("User input").fill(GOOD_INPUT);
  await page.route("**/job/start/**", (route) => route.abort("connectionreset"));
  await page.locator("#run-again-start").click();
  await expect(panel.getByRole("alert")).toContainText("can't be reached");
  await expect(page.getByLabel("User input")).toHaveValue(GOOD_INPUT);
  await page.getByRole("button", { name: "Cancel" }).click();

  await page.route("**/retry", (route) => route.abort("connectionreset"));
  await job.retry.click();
  await expect(page.locator("#job-summary").getByRole("alert")).toContainText("can't be reached");
  await job.node(0).click();
  await job.workRetry.click();
  await expect(page.locator(".tab-top").getByRole("alert")).toContainText("can't be reached");
  // The address names the task that is selected, too.
  expect(new URL(page.url()).searchParams.get("jobId")).toBe(id);
  const unchanged = page.url();
  await page.unroute("**/retry");
  await job.workRetry.click();
  await leaves(job, unchanged);
});

test("a run that was deleted meanwhile can't be retried, and the page says so", async ({ page }) => {
  const job = await failedRelease(page);
  const id = new URL(page.url()).searchParams.get("jobId");
  await page.request.post(`/api/copilot/job/${id}/delete`);
  await job.retry.click();
  await expect(page.locator("#job-summary").getByRole("alert")).toContainText("no such job");
  await expect(job.retry).toBeEnabled();
});

test("why a job failed is found, and the job retried, by keyboard alone", async ({ page }) => {
  const job = await failedRelease(page);
  const first = page.url();
  const reach = async (name: string): Promise<void> => {
    const button = page.getByRole("button", { name, exact: true });
    for (let tabs = 0; tabs < 40; tabs += 1) {
      if (await button.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`${name} is not reached`);
  };
  await reach("Show tested");
  await page.keyboard.press("Enter");
  await expect(page.locator(".tab-reason")).toHaveText("condition not met: no test for step 2");
  await reach("Retry from here");
  await page.keyboard.press("Enter");
  await leaves(job, first);
  await job.reads("FAILED");
  await job.stand("carried", "failed", "carried", "not-reached");

  await reach("Run again");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Folder")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(job.retriedFrom).toHaveCount(0);
  await job.reads("FAILED");
  await expect(page.locator(".node.carried")).toHaveCount(0);
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("a job is retried from a task, and run again", async ({ page }) => {
    const job = await failedRelease(page);
    const fits = async (): Promise<void> => {
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBe(0);
    };
    const first = page.url();
    await expect(job.retry).toBeInViewport({ ratio: 1 });
    await expect(page.locator("#chart-container")).toBeInViewport();
    await job.node(1).tap();
    await expect(job.workRetry).toBeInViewport({ ratio: 1 });
    await expect(job.back).toBeInViewport({ ratio: 1 });
    await job.workRetry.tap();
    await leaves(job, first);
    await job.reads("FAILED");
    await job.stand("carried", "failed", "carried", "not-reached");
    await fits();
    await job.runAgain.tap();
    await expect(page.locator("#run-again-start")).toBeInViewport({ ratio: 1 });
    await fits();
    await page.locator("#run-again-start").tap();
    await expect(job.retriedFrom).toHaveCount(0);
    await job.reads("FAILED");
  });
});
