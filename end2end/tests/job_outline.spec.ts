import { type Page } from "@playwright/test";
import { test as base } from "../fixtures/folder.js";
import { Portal, expect } from "../fixtures/portal.js";
import { TrackingPage } from "../fixtures/tracking.js";

/** With a portal whose job has sixty tasks in nested groups. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const places = ["--max-tasks", "200", "--max-tasks-per-job", "60"];
      const portal = await Portal.startWith("browser_outline.json", ...places);
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

const PROGRESS = "14 of 60 succeeded · 2 running · 1 waits for you";

/** Runs the job until two tasks go on for ever and one asks. */
async function sixty(page: Page, folder: string): Promise<TrackingPage> {
  const job = await TrackingPage.start(page, "sixty", folder);
  await expect(job.progress).toHaveText(PROGRESS);
  return job;
}

const LABELS = [
  "8 at once", "3 rows of 6",
  "row 1", "task-08", "task-09", "task-10", "3 more, not reached",
  "row 2", "task-14", "task-15", "task-16", "3 more, not reached",
  "row 3", "task-20", "task-21", "task-22", "3 more, not reached",
  "14 in a row", "20 at once",
];

test("sixty tasks are an outline of nineteen rows, of which the ones that matter are open", async ({ page, folder }) => {
  const job = await sixty(page, folder);
  const rows = page.locator("#job-outline .outline-row");
  await expect(page.getByRole("tree", { name: "Outline" }).getByRole("treeitem")).toHaveCount(19);
  await expect(rows.locator(".outline-label")).toHaveText(LABELS);
  await expect(job.row("8 at once")).toHaveAttribute("aria-expanded", "false");
  await expect(job.row("row 3")).toHaveAttribute("aria-expanded", "true");
  await expect(job.row("row 1").locator(".outline-time")).toHaveText("2 of 6");
  await expect(job.row("task-22").locator(".outline-time")).toHaveText("asks");
  await expect(job.row("task-08").locator(".outline-time")).toHaveText(/^\d:\d\d$/);
  await expect(job.row("task-22")).toHaveAccessibleName(/waiting for you/);
  // One after the other, on one axis.
  const bar = async (label: string) => (await job.row(label).locator(".outline-bar").boundingBox())!;
  const [first, second] = [await bar("task-08"), await bar("task-10")];
  expect(second.x).toBeGreaterThanOrEqual(first.x);
  expect(second.x + second.width).toBeGreaterThan(first.x + first.width);
  await expect(job.row("14 in a row").locator(".outline-bar")).toBeHidden();
});

test("what a person opens or folds stays so, and chips leave what they name", async ({ page, folder }) => {
  const job = await sixty(page, folder);
  const rows = page.locator("#job-outline .outline-row");
  await job.row("8 at once").click();
  await expect(rows).toHaveCount(27);
  await job.row("3 rows of 6").click();
  await expect(rows).toHaveCount(12);
  await page.getByRole("button", { name: "Waiting 1" }).click();
  await expect(rows.locator(".outline-label")).toHaveText(["3 rows of 6"]);
  await job.row("3 rows of 6").click();
  await expect(rows.locator(".outline-label")).toHaveText(["3 rows of 6", "row 3", "task-22"]);
  await expect(page.getByRole("button", { name: /^Failed/ })).toHaveCount(0);
  await page.getByRole("button", { name: "Running 2" }).click();
  await expect(rows.locator(".outline-label")).toHaveText(["3 rows of 6", "row 1", "task-10", "row 2", "task-16"]);
  await page.getByRole("button", { name: "Running 2" }).click();
  await expect(job.row("task-07")).toBeVisible();
});

test("the strip has a cell with a name for each task, and leads there", async ({ page, folder }) => {
  const job = await sixty(page, folder);
  await expect(page.locator(".strip-cell")).toHaveCount(60);
  await expect(job.cell(22)).toHaveAccessibleName(/^task-22: waiting for you/);
  await expect(job.cell(59)).toHaveAttribute("title", "task-59: not reached");
  await job.cell(10).click();
  await expect(job.cell(10)).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator(".tab-title")).toContainText("task-10");
  await expect(job.row("task-10")).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowRight");
  await expect(job.cell(11)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("#tab-panel")).toContainText("This task has not started.");
  await job.cell(11).click();
  await expect(job.json).toBeVisible();
});

test("the tree is walked with arrow keys, and Enter opens", async ({ page, folder }) => {
  const job = await sixty(page, folder);
  await job.row("8 at once").focus();
  await page.keyboard.press("ArrowRight");
  await expect(job.row("8 at once")).toHaveAttribute("aria-expanded", "true");
  await page.keyboard.press("ArrowRight");
  await expect(job.row("task-00")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator(".tab-title")).toContainText("task-00");
  await expect(page).toHaveURL(/&node=0&attempt=1$/);
  await page.keyboard.press("ArrowLeft");
  await expect(job.row("8 at once")).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect(job.row("8 at once")).toHaveAttribute("aria-expanded", "false");
  await page.keyboard.press("End");
  await expect(job.row("20 at once")).toBeFocused();
  await page.keyboard.press("Home");
  await expect(job.row("8 at once")).toBeFocused();
  // One stop for Tab in the whole tree.
  await expect(page.locator('#job-outline [tabindex="0"]')).toHaveCount(1);
});

test("the chosen view is remembered", async ({ page, folder }) => {
  const job = await sixty(page, folder);
  await expect(page.locator("#chart-container")).toBeHidden();
  await job.show("Chart");
  await expect(page.locator("#chart-container")).toBeVisible();
  await expect(page.locator("#job-outline")).toHaveCount(0);
  await page.reload();
  await expect(page.locator("#chart-container")).toBeVisible();
  await page.getByRole("tab", { name: "Chart" }).press("ArrowRight");
  await expect(page.getByRole("tab", { name: "Definition" })).toBeFocused();
  await expect(page.locator("#job-view pre")).toContainText('"taskId": "task-00"');
  await page.keyboard.press("ArrowRight");
  await expect(job.row("task-10")).toBeVisible();
});

test.describe("in a low window", () => {
  test.use({ viewport: { width: 1280, height: 330 } });

  test("what was started last is kept in view until the reader scrolls", async ({ page, folder }) => {
    const job = await sixty(page, folder);
    const follow = page.getByRole("button", { name: "Follow" });
    await expect(follow).toHaveAttribute("aria-pressed", "true");
    // Which one that is depends on the machine, but not on it whether the first row is in view.
    await expect(job.row("8 at once")).not.toBeInViewport();
    await page.locator("#job-outline").hover();
    await page.mouse.wheel(0, -2000);
    await expect(job.row("8 at once")).toBeInViewport();
    await expect(follow).toHaveAttribute("aria-pressed", "false");
    await follow.click();
    await expect(job.row("8 at once")).not.toBeInViewport();
    await job.row("row 3").click();
    await expect(follow).toHaveAttribute("aria-pressed", "true");
    await job.cell(21).click();
    await expect(follow).toHaveAttribute("aria-pressed", "false");
  });
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("sixty tasks are readable, and a tap opens one", async ({ page, folder }) => {
    const job = await sixty(page, folder);
    const overflow = () =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(await overflow()).toBe(0);
    for (const label of ["3 rows of 6", "task-22"]) {
      expect((await job.row(label).boundingBox())!.height).toBeGreaterThanOrEqual(44);
    }
    await expect(page.locator(".outline-waiting")).toBeInViewport({ ratio: 1 });
    await expect(page.locator(".outline-waiting")).toHaveText("1 waits for you");
    await expect(job.stop).toBeInViewport({ ratio: 1 });
    await job.row("task-21").tap();
    await expect(page.locator(".tab-title")).toContainText("task-21");
    expect(await page.locator("#right-part").boundingBox()).toEqual({ x: 0, y: 0, width: 390, height: 844 });
    await job.back.tap();
    await expect(page.locator("#right-part")).toBeHidden();
    await page.locator(".outline-waiting").tap();
    await page.locator(".permission-card .permission-approve").tap();
    await job.back.tap();
    await expect(page.locator(".outline-waiting")).toBeHidden();
    expect(await overflow()).toBe(0);
  });
});
