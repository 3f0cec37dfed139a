import { type Locator, type Request } from "@playwright/test";
import { Portal, test as base, expect } from "../fixtures/portal.js";
import { TrackingPage, startJob } from "../fixtures/tracking.js";

/** With a portal that has jobs, and places for a wide one. */
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

const STREAM = /<20:/;

test("a job is followed to its end", async ({ page }) => {
  const job = await TrackingPage.start(page, "short");
  await expect(page.locator("#job-status-bar h1")).toHaveText("short");
  await job.stand("succeeded", "succeeded");
  await job.reads("SUCCEEDED");
  await expect(job.progress).toHaveText("2 succeeded");
  await expect(job.elapsed).toHaveText(/^\d:\d\d$/);
  await expect(job.node(1).locator(".elapsed")).toHaveText(/^\d:\d\d$/);
  await expect(job.stop).toBeDisabled();
  const { job: plan, chart } = JSON.parse((await job.json.textContent())!);
  expect(plan.work.works).toHaveLength(2);
  expect(chart.nodes).toHaveLength(2);
});

test("the time of a node never lies on its label", async ({ page }) => {
  await TrackingPage.start(page, "again & again");
  await expect(page.locator(".node.cond")).toBeVisible();
  // Checks every frame from before a condition has a time until long after.
  const overlaps = await page.evaluate(async () => {
    const found = new Set<string>();
    const seen = { task: 0, cond: 0 };
    const isSeen = () => seen.task > 30 && seen.cond > 30;
    for (let frame = 0; frame < 1200 && !isSeen(); frame++) {
      await new Promise(requestAnimationFrame);
      for (const node of document.querySelectorAll(".node.timed")) {
        seen[node.classList.contains("cond") ? "cond" : "task"]++;
        const label = node.querySelector(".label")!.getBoundingClientRect();
        const time = node.querySelector(".elapsed")!.getBoundingClientRect();
        if (time.top < label.bottom) found.add(`${node.textContent}: ${label.bottom - time.top}`);
      }
    }
    return isSeen() ? [...found] : ["no condition was seen"];
  });
  expect(overlaps).toEqual([]);
});

test("the name of what can be pressed has the text in it that one sees", async ({ page }) => {
  const job = await TrackingPage.start(page, "short");
  await job.reads("SUCCEEDED");
  await expect(job.node(1)).toHaveAccessibleName("judged: succeeded");
  await job.node(0).click();
  const wrong = await page.evaluate(() => {
    const words = (text: string) => text.replace(/[^\p{L}\p{N}]+/gu, " ").trim().toLowerCase();
    const named = document.querySelectorAll("button, a, [role=button], [role=tab]");
    return [...named].flatMap((element) => {
      const name = element.getAttribute("aria-label");
      const seen = element.cloneNode(true) as Element;
      seen.querySelectorAll("[aria-hidden=true]").forEach((hidden) => hidden.remove());
      const text = words(seen.textContent ?? "");
      return name === null || words(name).includes(text) ? [] : [`${name} does not say ${text}`];
    });
  });
  expect(wrong).toEqual([]);
});

test("a task has a tab for what drives it and one for each attempt", async ({ page }) => {
  const job = await TrackingPage.start(page, "mixed");
  await job.stand("succeeded", "failed");
  await job.reads("FAILED");

  await job.node(0).click();
  const style = (work: number) => job.node(work).locator(".shape").getAttribute("style");
  await expect(job.node(0).locator(".shape")).toHaveCSS("stroke-width", "5px");
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");
  await job.tab("Driving").click();
  expect(await style(0)).toBe("stroke-width: 5px;");
  expect(await style(1)).toBe(null);
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1"]);
  await expect(job.titled("TaskDecision").last()).toContainText("[TASK SUCCEEDED]");
  // Both driving sessions, each between the decisions before and after it.
  await expect(job.titled("Task")).toHaveText([/Can it begin/, /Is it done/]);
  const said = await job.blocks.allTextContents();
  const at = (text: string): number => said.findIndex((block) => block.includes(text));
  expect(at("Can it begin")).toBeLessThan(at("[AVAILABILITY]"));
  expect(at("[AVAILABILITY]")).toBeLessThan(at("Is it done"));
  expect(at("Is it done")).toBeLessThan(at("[CRITERIA]"));
  await job.tab("Attempt #1").click();
  await expect(job.blocks.last()).toContainText("judged is done");
  await expect(job.titled("TaskDecision")).toHaveCount(0);

  await job.node(1).click();
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1", "Attempt #2"]);
  await expect(job.tab("Attempt #2")).toHaveAttribute("aria-selected", "true");
  await job.tab("Driving").click();
  await expect(job.titled("TaskDecision").last()).toContainText("[TASK FAILED]");

  expect([await style(0), await style(1)]).toEqual([null, "stroke-width: 5px;"]);
  await job.node(1).click();
  expect(await style(1)).toBe(null);
  await expect(job.json).toBeVisible();
  await expect(job.tabs).toHaveCount(0);
});

test("what is said arrives while it is looked at, and a new tab stays behind", async ({ page }) => {
  const job = await TrackingPage.start(page, "endless");
  await job.stand("succeeded", "running");
  await job.reads("RUNNING");
  await expect(job.progress).toHaveText("1 of 3 succeeded · 1 running");
  await job.node(1).click();
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1"]);
  await job.tab("Attempt #1").click();
  await expect(job.blocks.last()).toContainText(STREAM);
  await expect(page.locator(".session-response-awaiting")).toHaveCSS("display", "block");
  await job.node(2).click();
  await expect(page.locator("#tab-panel")).toContainText("This task has not started.");

  const before = await job.elapsed.textContent();
  await expect(job.elapsed).not.toHaveText(before!);
  await job.stop.click();
  await job.reads("CANCELED");
  await job.stand("succeeded", "canceled", "not-reached");
  await expect(job.progress).toHaveText("1 succeeded, 1 canceled, 1 not reached");
  await expect(job.stop).toBeDisabled();
  const after = await job.elapsed.textContent();
  await job.node(1).click();
  await job.tab("Attempt #1").click();
  await expect(job.blocks.last()).toContainText(STREAM);
  await expect(page.locator(".session-response-awaiting")).toHaveCSS("display", "none");
  await expect(job.elapsed).toHaveText(after!);
});

test("a work that starts again begins anew", async ({ page }) => {
  const job = await TrackingPage.start(page, "again & again");
  await job.node(1).click();
  const first = await page.locator(".tab-headers").elementHandle();
  // The run may be over before the click.
  await expect(async () => {
    await job.tab("Attempt #1").click();
    await expect(job.blocks.last()).toContainText(/<2:/, { timeout: 1_000 });
  }).toPass();
  // The loop goes round: its body has no attempt, then a first one again.
  await expect(job.tab("Driving")).toHaveAttribute("aria-selected", "true");
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1"]);
  await expect(job.tab("Driving")).toHaveAttribute("aria-selected", "true");
  await expect(job.titled("TaskDecision").filter({ hasText: "[SESSION STARTED]" })).toHaveCount(1);
  expect(await first!.evaluate((headers) => headers.isConnected)).toBe(true);
  // A page opened late shows only the last run.
  await page.reload();
  await job.stand("true", "running");
  await expect(job.tab("Driving")).toBeVisible();
  await job.tab("Driving").click();
  await expect(job.titled("TaskDecision").filter({ hasText: "[SESSION STARTED]" })).toHaveCount(1);
  await job.stop.click();
  await job.reads("CANCELED");
});

test("a preview shows the job, and nothing can be chosen", async ({ page }) => {
  const job = await TrackingPage.open(page, "mixed");
  await job.reads("PREVIEW");
  await expect(job.stop).toHaveCount(0);
  await expect(job.json).toContainText('"taskId": "retried"');
  await job.node(0).click();
  await expect(job.json).toBeVisible();
  await expect(job.node(0)).not.toHaveClass(/selected/);
});

test("a stop that fails says why", async ({ page, watch }) => {
  watch.expect(/Failed to load resource/);
  const job = await TrackingPage.start(page, "endless");
  await job.reads("RUNNING");
  await page.route("**/stop", (route) => route.abort("connectionreset"));
  await job.stop.click();
  await expect(page.getByRole("alert").filter({ hasText: "can't be reached" })).toBeVisible();
  await page.unroute("**/stop");
  await job.stop.click();
  await job.reads("CANCELED");
  await expect(page.getByText("can't be reached")).toHaveCount(0);
});

test("a reload in the middle shows the same again", async ({ page }) => {
  const job = await TrackingPage.start(page, "endless");
  await job.stand("succeeded", "running");
  await job.node(1).click();
  await job.tab("Attempt #1").click();
  await expect(job.blocks.last()).toContainText(STREAM);
  await page.reload();
  await job.reads("RUNNING");
  await job.stand("succeeded", "running");
  await expect(job.elapsed).not.toHaveText("");
  // The address still names the node and its tab.
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");
  await expect(job.titled("Task")).toHaveCount(1);
  await expect(job.blocks.last()).toContainText(STREAM);
  await job.stop.click();
  await job.reads("CANCELED");
  const text = await job.blocks.last().textContent();
  const numbers = [...text!.matchAll(/<(\d+):/g)].map((match) => Number(match[1]));
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index));
});

test("a lost connection is told, and nothing is lost or shown twice", async ({ page, watch }) => {
  watch.expect(/Failed to load resource/);
  const job = await TrackingPage.start(page, "endless");
  await job.stand("succeeded", "running");
  await job.node(1).click();
  await job.tab("Attempt #1").click();
  await expect(job.blocks.last()).toContainText(STREAM);
  const live = "**/api/copilot/live/**";
  await page.route(live, (route) => route.abort("connectionreset"));
  await expect(job.banner).toContainText("Connection lost");
  await expect(job.stop).toBeEnabled();
  await page.unroute(live);
  await expect(job.banner).toHaveCount(0);
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1"]);
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");
  await expect(job.titled("Task")).toHaveCount(1);
  await job.stop.click();
  await job.reads("CANCELED");
  const text = await job.blocks.last().textContent();
  const numbers = [...text!.matchAll(/<(\d+):/g)].map((match) => Number(match[1]));
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index));
  await job.node(0).click();
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1"]);
  await job.tab("Driving").click();
  await expect(job.titled("TaskDecision").filter({ hasText: "[TASK SUCCEEDED]" })).toHaveCount(1);
});

test("nodes and tabs can be chosen without a mouse", async ({ page }) => {
  const job = await TrackingPage.start(page, "mixed");
  await job.reads("FAILED");
  await job.node(0).focus();
  await page.keyboard.press("ArrowRight");
  await expect(job.node(1)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(job.tab("Attempt #2")).toHaveAttribute("aria-selected", "true");
  await job.tab("Attempt #2").focus();
  await page.keyboard.press("ArrowRight");
  await expect(job.tab("Driving")).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect(job.tab("Attempt #2")).toBeFocused();
  await expect(job.tab("Attempt #2")).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("tabpanel", { name: "Attempt #2" })).toContainText("Go on where you were");
  await page.keyboard.press("Home");
  await expect(job.tab("Driving")).toBeFocused();
  await job.node(1).focus();
  await page.keyboard.press(" ");
  await expect(job.json).toBeVisible();
});

test("thirty tasks stream at once, all are shown, and Stop works", async ({ page }) => {
  // Half a minute on a quiet machine.
  test.setTimeout(240_000);
  // Of the six connections of a browser, one waits; others come and go.
  const open = new Set<Request>();
  let [most, mostLive] = [0, 0];
  page.on("request", (request) => {
    if (!request.url().includes("/api/")) return;
    open.add(request);
    most = Math.max(most, open.size);
    const live = [...open].filter((one) => one.url().includes("/live/"));
    mostLive = Math.max(mostLive, live.length);
  });
  for (const event of ["requestfinished", "requestfailed"] as const) {
    page.on(event as "requestfinished", (request) => open.delete(request));
  }
  const job = await TrackingPage.start(page, "wide");
  await expect(job.progress).toHaveText("0 of 30 succeeded · 30 running");
  await job.show("Chart");
  for (let work = 0; work < 30; work++) {
    await job.node(work).focus();
    await page.keyboard.press("Enter");
    await job.tab("Driving").click();
    await expect(job.titled("Task")).toHaveText([/Can it begin/]);
    await job.tab("Attempt #1").click();
    await expect(job.blocks.last()).toContainText(/<\d+:/);
  }
  await job.stop.click();
  await job.reads("CANCELED");
  await expect(job.progress).toHaveText("30 canceled");
  // The next one may begin before it is told that the last one was cut short.
  expect(mostLive).toBeLessThanOrEqual(2);
  expect(most).toBeLessThan(6);
});

test("a run or a job that is not there is said to be so", async ({ page }) => {
  const unknown = "job-00000000-0000-4000-8000-000000000000";
  const job = await TrackingPage.open(page, "short", unknown);
  await expect(page.locator(".lost")).toContainText("no such run");
  await job.reads("UNKNOWN");
  await expect(job.stop).toBeDisabled();
  await expect(page.locator(".lost").getByRole("link", { name: "Available jobs" })).toBeVisible();
  await TrackingPage.open(page, "short", "nonsense");
  await expect(page.locator(".lost")).toContainText("names no run");
  await page.goto("/jobTracking.html");
  await expect(page.locator(".lost")).toContainText("jobName is missing");
  await expect(page.locator(".lost").getByRole("link", { name: "Available jobs" })).toBeVisible();
  await TrackingPage.open(page, "nothing of the kind");
  await expect(page.locator(".lost")).toContainText("No job of this name");
  const id = await startJob(page, "short");
  await TrackingPage.open(page, "mixed", id);
  await job.banner.getByRole("link", { name: "short" }).click();
  await job.reads("SUCCEEDED");
  await expect(job.banner).toHaveCount(0);
});

test("what the server has forgotten of an ended job leaves its statuses", async ({ page }) => {
  const id = await startJob(page, "mixed");
  const status = async (): Promise<string> => {
    const answer = await page.request.get(`/api/copilot/job/${id}/status`);
    return ((await answer.json()) as { status: string }).status;
  };
  await expect.poll(status).toBe("Failed");
  // New readers are refused a few seconds after the end.
  const live = async (): Promise<string | undefined> => {
    const answer = await page.request.get(`/api/copilot/job/${id}/live/${crypto.randomUUID()}`);
    return ((await answer.json()) as { error?: string }).error;
  };
  await expect.poll(live, { timeout: 20_000 }).toBe("JobNotFound");
  const job = await TrackingPage.open(page, "mixed", id);
  await job.reads("FAILED");
  await job.stand("succeeded", "failed");
  await expect(job.elapsed).toHaveText(/^\d:\d\d$/);
  // Those that the page could not follow are counted.
  const works = job.summary.locator(".job-works");
  await expect(works.locator("summary")).toHaveText("2 tasks, 3 attempts");
  await works.locator("summary").click();
  await expect(works.getByRole("button")).toHaveText([/1 attempt$/, /2 attempts$/]);
  await works.locator("summary").click();
  // What was said is read from what is stored.
  await job.node(1).click();
  await expect(job.tabs).toHaveText(["Driving", "Attempt #1", "Attempt #2"]);
  await expect(job.tab("Attempt #2")).toHaveAttribute("aria-selected", "true");
  await expect(job.blocks.last()).toContainText("no document today");
  await job.tab("Driving").click();
  await expect(job.titled("TaskDecision").last()).toContainText("[TASK FAILED]");
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("the header has the name and the state, then the progress in one line", async ({ page }) => {
    const job = await TrackingPage.start(page, "choice");
    await job.reads("FAILED");
    await expect(job.progress).toHaveText("1 failed, 1 true, 1 skipped, 1 not reached");
    await expect(job.retry).toBeVisible();
    const box = async (at: Locator) => (await at.boundingBox())!;
    const [title, label] = [await box(page.locator("#job-status-bar h1")), await box(job.label)];
    const [progress, stop] = [await box(job.progress), await box(job.stop)];
    expect(Math.abs(title.y + title.height / 2 - label.y - label.height / 2)).toBeLessThan(4);
    expect(progress.y).toBeGreaterThanOrEqual(label.y + label.height - 1);
    expect(progress.height).toBeLessThan(30);
    expect(390 - stop.x - stop.width).toBeLessThan(20);
    // Most of the screen is for the tasks.
    expect((await box(page.locator("#job-view"))).height).toBeGreaterThan(400);
  });

  test("a tap shows what is said over the whole window, and Back the chart", async ({ page }) => {
    const job = await TrackingPage.start(page, "mixed");
    await job.reads("FAILED");
    await expect(page.locator("#right-part")).toBeHidden();
    await expect(job.label).toBeInViewport({ ratio: 1 });
    await job.node(1).tap();
    await expect(job.tabs).toHaveCount(3);
    const box = await page.locator("#right-part").boundingBox();
    expect(box).toEqual({ x: 0, y: 0, width: 390, height: 844 });
    const back = (await job.back.boundingBox())!;
    const headers = (await page.locator(".tab-headers").boundingBox())!;
    expect(back.x).toBeGreaterThanOrEqual(headers.x + headers.width);
    await job.tab("Attempt #2").tap();
    await expect(job.blocks.last()).toBeInViewport();
    await job.back.tap();
    await expect(page.locator("#right-part")).toBeHidden();
    await expect(job.node(1)).toBeInViewport();
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
  });
});
