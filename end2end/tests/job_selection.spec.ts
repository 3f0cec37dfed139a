import { Portal, test as base, expect } from "../fixtures/portal.js";
import { TrackingPage } from "../fixtures/tracking.js";

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

test("the address carries the node and the attempt: for a reload, a link, and Back", async ({ page, context }) => {
  const job = await TrackingPage.start(page, "mixed");
  await job.reads("FAILED");
  const start = page.url();
  await job.node(1).click();
  await expect(page).toHaveURL(`${start}&node=1&attempt=2`);
  await job.tab("Attempt #1").click();
  await expect(page).toHaveURL(`${start}&node=1&attempt=1`);
  await job.node(0).click();
  await expect(page).toHaveURL(`${start}&node=0&attempt=1`);
  await page.goBack();
  await expect(page).toHaveURL(`${start}&node=1&attempt=1`);
  await expect(job.node(1)).toHaveClass(/selected/);
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");

  await page.reload();
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");
  await expect(job.node(1)).toHaveClass(/selected/);
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1", "Attempt #2"]);

  const other = await context.newPage();
  await other.goto(`${start}&node=1&attempt=0`);
  const linked = new TrackingPage(other);
  await expect(linked.tabs).toHaveText(["Driving", "Attempt #1", "Attempt #2"]);
  await expect(linked.tab("Driving")).toHaveAttribute("aria-selected", "true");
  // Without an attempt, the newest.
  await other.goto(`${start}&node=1`);
  await expect(linked.tab("Attempt")).not.toHaveCount(0);
  await expect(other).toHaveURL(/&attempt=\d$/);

  await page.goBack();
  await expect(page).toHaveURL(start);
  await expect(job.json).toBeVisible();
});

test("nonsense in the address selects nothing", async ({ page }) => {
  const job = await TrackingPage.start(page, "short");
  await job.reads("SUCCEEDED");
  const start = page.url();
  for (const nonsense of ["node=x", "node=-1", "attempt=1", "node="]) {
    await page.goto(`${start}&${nonsense}`);
    await expect(job.json).toBeVisible();
    await expect(page.locator(".node.selected")).toHaveCount(0);
  }
  await page.goto(`${start}&node=1&attempt=99&iteration=99`);
  await expect(job.tab("Driving")).toHaveAttribute("aria-selected", "true");
});

test("earlier iterations can be chosen", async ({ page }) => {
  const job = await TrackingPage.start(page, "again & again");
  // The condition of the loop is work 0, its body work 1.
  await expect(job.node(1)).toHaveClass(/running/);
  await job.node(1).click();
  const iteration = page.getByRole("combobox", { name: "Iteration" });
  await expect(iteration).toBeVisible({ timeout: 30_000 });
  await job.stop.click();
  await job.reads("CANCELED");
  const count = await iteration.locator("option").count();
  await expect(iteration).toHaveValue(String(count));
  await iteration.selectOption("1");
  await expect(page).toHaveURL(/&node=1&iteration=1/);
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1"]);
  await job.tab("Attempt #1").click();
  await expect(job.blocks.last()).toContainText("<299:");
  await job.tab("Driving").click();
  await expect(job.titled("TaskDecision").last()).toContainText("[TASK SUCCEEDED]");
  await page.reload();
  await expect(iteration).toHaveValue("1");
  await expect(job.titled("TaskDecision").last()).toContainText("[TASK SUCCEEDED]");
  await iteration.selectOption(String(count));
  await expect(page).not.toHaveURL(/iteration/);
  await job.show("Outline");
  await expect(page.locator(".outline-row").first()).toContainText(`loop, iteration ${count}`);
});

test("the definition is folded until it is wanted", async ({ page }) => {
  const job = await TrackingPage.start(page, "choice");
  await job.reads("FAILED");
  const height = async () => (await job.json.boundingBox())!.height;
  expect(await height()).toBeLessThan(180);
  expect(JSON.parse((await job.json.textContent())!)).toHaveProperty("chart");
  await page.getByRole("button", { name: "Show all" }).click();
  expect(await height()).toBeGreaterThan(300);
  await page.getByRole("button", { name: "Show less" }).click();
  expect(await height()).toBeLessThan(180);
  // The summary stands above it.
  const summary = (await job.summary.boundingBox())!;
  const responses = (await page.locator("#session-response-part").boundingBox())!;
  expect(summary.y + summary.height).toBeLessThanOrEqual(responses.y);
});

test("the sentence about a failure leads to the node", async ({ page }) => {
  const job = await TrackingPage.start(page, "choice");
  await job.reads("FAILED");
  await expect(job.summary.locator(".job-reason")).toHaveText("`reviewed` failed: condition not met: no test for step 2");
  await job.summary.getByRole("link", { name: "`reviewed`" }).click();
  await expect(job.node(1)).toHaveClass(/selected/);
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");
  await expect(job.summary.locator(".job-folder")).toHaveText("/");
});
