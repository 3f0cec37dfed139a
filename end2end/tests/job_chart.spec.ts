import { Portal, test as base, expect } from "../fixtures/portal.js";
import { TrackingPage } from "../fixtures/tracking.js";

/** With a portal whose jobs are wide, long, or neither. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const places = ["--max-tasks", "200", "--max-tasks-per-job", "60"];
      const portal = await Portal.startWith("browser_tracking.json", ...places);
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

/** The chart in its view: its zoom, its place, and how far it is scrolled. */
async function view(job: TrackingPage) {
  const percent = Number.parseInt((await job.page.locator(".chart-zoom output").textContent())!, 10);
  const scrolled = await job.page.locator("#chart-container").evaluate((it) => ({
    left: it.scrollLeft,
    top: it.scrollTop,
    width: it.clientWidth,
    content: it.scrollWidth,
  }));
  return { percent, ...scrolled };
}

test("a chart opens as wide as its view", async ({ page }) => {
  const job = await TrackingPage.open(page, "mixed");
  await expect(job.node(0)).toBeVisible();
  const { percent, width, content } = await view(job);
  expect(percent).toBeGreaterThanOrEqual(85);
  expect(percent).toBeLessThanOrEqual(100);
  expect(content).toBeLessThanOrEqual(width);
});

test("a chart that is too wide stays readable, and shows what runs", async ({ page }) => {
  const job = await TrackingPage.start(page, "wide");
  await expect(job.progress).toHaveText("0 of 30 succeeded · 30 running");
  await job.show("Chart");
  await expect(page.locator("#chart-container")).toBeVisible();
  const { percent, width, content } = await view(job);
  expect(percent).toBe(85);
  expect(content).toBeGreaterThan(width);
  const size = await job.node(0).locator(".label").evaluate((label) => {
    const scale = (label as SVGGraphicsElement).getScreenCTM()!.a;
    return Number.parseFloat(getComputedStyle(label).fontSize) * scale;
  });
  expect(size).toBeGreaterThanOrEqual(11);
  const newest = page.locator("#chart-container g.node.running").last();
  await expect(newest).toBeInViewport({ ratio: 1 });
  await job.stop.click();
  await job.reads("CANCELED");
});

test("a mouse drags the chart without selecting, and the chart stays where it was dragged", async ({ page }) => {
  const job = await TrackingPage.start(page, "wide");
  await job.show("Chart");
  const follow = page.getByRole("button", { name: "Follow" });
  await expect(follow).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator("#chart-container g.node.running").last()).toBeInViewport({ ratio: 1 });
  const before = await view(job);
  const box = (await page.locator("#chart-container g.node.running").last().boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 60, box.y + box.height / 2, { steps: 4 });
  await page.mouse.move(box.x + box.width / 2 + 120, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  expect((await view(job)).left).toBe(before.left - 120);
  await expect(page.locator(".node.selected")).toHaveCount(0);
  await expect(follow).toHaveAttribute("aria-pressed", "false");
  await expect(job.json).toBeVisible();
  await job.stop.click();
  await job.reads("CANCELED");
});

test("wheel, buttons and keys zoom", async ({ page }) => {
  const job = await TrackingPage.open(page, "short");
  await expect(job.node(0)).toBeVisible();
  const percent = page.locator(".chart-zoom output");
  await expect(percent).toHaveText("100%");
  await job.node(0).hover();
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await expect(percent).toHaveText("110%");
  await page.mouse.wheel(0, 100);
  await page.mouse.wheel(0, 100);
  await expect(percent).toHaveText("90%");
  await page.keyboard.up("Control");
  await page.getByRole("button", { name: "Zoom in" }).click();
  await expect(percent).toHaveText("100%");
  await page.getByRole("button", { name: "Zoom out" }).click();
  await expect(percent).toHaveText("90%");
  await page.locator("#chart-container").focus();
  await page.keyboard.press("+");
  await expect(percent).toHaveText("100%");
  for (let steps = 0; steps < 25; steps++) await page.keyboard.press("+");
  await expect(percent).toHaveText("300%");
  await page.getByRole("button", { name: "Fit to view" }).click();
  await expect(percent).toHaveText("100%");
});

test("labels stay within their nodes", async ({ page }) => {
  for (const name of ["short", "mixed", "choice", "again & again"]) {
    const job = await TrackingPage.open(page, name);
    await expect(job.node(0)).toBeVisible();
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll("#chart-container .node:has(.label)")].flatMap((node) => {
        const label = node.querySelector(".label")!.getBoundingClientRect();
        const shape = node.querySelector(".shape")!.getBoundingClientRect();
        const isInside = label.left > shape.left && label.right < shape.right
          && label.top > shape.top && label.bottom < shape.bottom;
        return isInside ? [] : [node.textContent];
      }));
    expect(outside).toEqual([]);
  }
});

test.describe("in the dark", () => {
  test.use({ colorScheme: "dark" });

  test("nodes are dark, and their text is white", async ({ page }) => {
    const job = await TrackingPage.open(page, "short");
    const shape = job.node(0).locator(".shape");
    await expect(shape).toHaveCSS("fill", "rgb(63, 90, 160)");
    await expect(shape).toHaveCSS("stroke", "rgb(44, 66, 124)");
    await expect(job.node(0).locator(".label")).toHaveCSS("fill", "rgb(255, 255, 255)");
  });
});
