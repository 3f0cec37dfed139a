import { JobsPage } from "../fixtures/jobs.js";
import { Portal, test as base, expect, hydrated } from "../fixtures/portal.js";

/** With a portal that has jobs. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const portal = await Portal.startWith("browser_jobs.json");
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

test("the matrix has a row for each keyword and a button for each job", async ({ page }) => {
  const jobs = await JobsPage.open(page);
  await expect(page.locator(".matrix-title")).toHaveText("Available Jobs");
  await expect(page.locator("#matrix-table tr:first-child #stop-server-button")).toBeVisible();
  await expect(page.locator(".matrix-keyword")).toHaveText(["short", "long"]);
  await expect(jobs.buttons).toHaveText(["Greet", "Repeat", "Endless"]);
  // Rows are filled up with empty cells.
  const cells = page.locator("#matrix-table tbody tr");
  await expect(cells.nth(0).locator("td")).toHaveText([/^Greet/, "", /^Repeat/]);
  await expect(cells.nth(1).locator("td")).toHaveText([/^Endless/, "", ""]);
});

test("one job at a time is selected, and only what it takes is enabled", async ({ page }) => {
  const jobs = await JobsPage.open(page);
  const nothing = async (): Promise<void> => {
    await expect(page.locator(".matrix-job-btn.selected")).toHaveCount(0);
    await expect(jobs.start).toHaveText("Job Not Selected");
    for (const control of [jobs.start, jobs.preview, jobs.input]) await expect(control).toBeDisabled();
  };
  await nothing();
  await jobs.job("repeat").click();
  await expect(jobs.job("repeat")).toHaveClass(/selected/);
  await expect(jobs.start).toHaveText("Start Job: repeat");
  for (const control of [jobs.start, jobs.preview, jobs.input]) await expect(control).toBeEnabled();
  await jobs.job("greet & go").click();
  await expect(page.locator(".matrix-job-btn.selected")).toHaveText(["Greet"]);
  await expect(jobs.start).toHaveText("Start Job: greet & go");
  await expect(jobs.input).toBeDisabled();
  await jobs.job("greet & go").click();
  await nothing();
});

test("start opens a window that follows the job, preview one that does not", async ({ page, request }) => {
  const jobs = await JobsPage.open(page);
  await jobs.job("greet & go").click();
  const preview = await jobs.opens(jobs.preview);
  expect(preview.pathname).toBe("/jobTracking.html");
  expect([...preview.searchParams]).toEqual([["jobName", "greet & go"]]);
  const started = await jobs.opens(jobs.start);
  expect(started.searchParams.get("jobName")).toBe("greet & go");
  const id = started.searchParams.get("jobId");
  const status = await (await request.get(`/api/copilot/job/${id}/status`)).json();
  expect(status).toMatchObject({ jobId: id, jobName: "greet & go" });
  await expect(page.getByRole("link", { name: "Follow it" })).toHaveAttribute("href", /jobId=job-/);
});

test("the input goes to the job, and a job that needs some says so", async ({ page, request }) => {
  const jobs = await JobsPage.open(page);
  await jobs.job("repeat").click();
  await jobs.start.click();
  await expect(page.getByRole("alert")).toContainText("needs input");
  await jobs.input.fill("first line\nsecond line");
  const started = await jobs.opens(jobs.start);
  const id = started.searchParams.get("jobId");
  const live = async (path: string): Promise<Record<string, unknown>[]> => {
    const reply = await (await request.get(`/api/copilot/${path}/live/test`)).json();
    return reply.responses ?? [];
  };
  let task: unknown;
  await expect
    .poll(async () => (task ??= (await live(`job/${id}`)).find((one) => one.taskId)?.taskId))
    .toBeTruthy();
  let session: unknown;
  await expect
    .poll(async () => (session ??= (await live(`task/${task}`)).find((one) => one.sessionId)?.sessionId))
    .toBeTruthy();
  await expect
    .poll(async () => (await live(`session/${session}`)).map((one) => one.prompt))
    .toContain('say "you said first line\nsecond line"');
});

test("a folder that is not there is told, and nothing is lost", async ({ page }) => {
  const jobs = await JobsPage.open(page, "/no/such folder");
  await expect(jobs.folder).toHaveValue("/no/such folder");
  await jobs.job("repeat").click();
  await jobs.input.fill("precious");
  await jobs.start.click();
  await expect(page.getByRole("alert")).toContainText("no such folder");
  await expect(jobs.input).toHaveValue("precious");
  await expect(jobs.start).toBeEnabled();
});

test("without a folder the page takes the default one", async ({ page, request }) => {
  const { repoRoot } = await (await request.get("/api/config")).json();
  await page.goto("/jobs.html");
  const jobs = new JobsPage(page);
  await expect(jobs.buttons.first()).toBeVisible();
  await expect(page).toHaveURL(/\/jobs\.html$/);
  await expect(jobs.folder).toHaveValue(repoRoot);
});

test("each job says what it is for, how large it is and what it needs", async ({ page }) => {
  const jobs = await JobsPage.open(page);
  await expect(jobs.about("greet & go")).toHaveText("1 task");
  await expect(jobs.about("repeat")).toContainText("Says again what it is told");
  await expect(jobs.about("repeat")).toContainText("1 task · needs input");
  await expect(jobs.job("repeat")).toHaveAccessibleDescription(/Says again .* needs input/);
  // All of the cell selects, and cells are as high as their text.
  await jobs.cell("repeat").click();
  await expect(jobs.job("repeat")).toHaveClass(/selected/);
  expect((await jobs.cell("never end").boundingBox())!.height).toBeLessThan(120);
});

test("the folder is changed where the job is chosen, and a reload keeps it", async ({ page, request }) => {
  const jobs = await JobsPage.open(page, "/no/such folder");
  await jobs.job("greet & go").click();
  await jobs.folder.fill("/");
  await jobs.folder.blur();
  await expect(jobs.job("greet & go")).toHaveClass(/selected/);
  expect(new URL(page.url()).searchParams.get("wb")).toBe("/");
  const started = await jobs.opens(jobs.start);
  const status = await request.get(`/api/copilot/job/${started.searchParams.get("jobId")}/status`);
  expect(await status.json()).toMatchObject({ folder: "/" });
  await page.reload();
  await expect(jobs.folder).toHaveValue("/");
});

test("a link that names a job has it chosen", async ({ page }) => {
  await page.goto("/jobs.html?wb=%2F&job=repeat");
  const jobs = new JobsPage(page);
  await expect(jobs.start).toHaveText("Start Job: repeat");
  await page.goto("/jobs.html?wb=%2F&job=nothing");
  await expect(jobs.start).toHaveText("Job Not Selected");
  await expect(jobs.input).toHaveAttribute("placeholder", "Choose a job on the left.");
});

test("the start page lists jobs with their status and a way to them", async ({ page, request, open }) => {
  const answer = await request.post("/api/copilot/job/start/never%20end", { data: "/" });
  const { jobId } = await answer.json();
  await open("/");
  const row = page.locator("#running-jobs-list li").filter({ has: page.locator(`a[href*="${jobId}"]`) });
  await expect(row).toContainText("never end");
  await expect(row).toContainText("Running");
  await expect(row.locator("time")).toHaveAttribute("datetime", /^\d{4}-\d\d-\d\dT.*Z$/);
  await request.post(`/api/copilot/job/${jobId}/stop`);
  await page.locator("#refresh-button").click();
  await expect(row).toContainText("Canceled");
  const width = async (id: string): Promise<number> => (await page.locator(id).boundingBox())!.width;
  expect(await width("#running-jobs-list")).toBe(await width("#setup-ui"));
  await row.getByRole("link", { name: "View" }).click();
  await expect(page).toHaveURL(new RegExp(`/jobTracking\\.html\\?jobName=never(%20|\\+)end&jobId=${jobId}$`));
});

test("on a phone every job has the width of the screen", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const jobs = await JobsPage.open(page);
  for (const name of ["greet & go", "repeat", "never end"]) {
    const cell = (await jobs.cell(name).boundingBox())!;
    expect(cell.width).toBeGreaterThan(340);
    expect(cell.height).toBeGreaterThanOrEqual(44);
  }
  await jobs.cell("never end").click();
  await expect(jobs.start).toHaveText("Start Job: never end");
});

test("on a narrow screen no word of a job is broken", async ({ page }) => {
  await page.setViewportSize({ width: 1024, height: 768 });
  const jobs = await JobsPage.open(page);
  await expect(jobs.job("repeat")).toBeVisible();
  for (const job of await page.locator(".matrix-job-btn").all()) {
    const { width } = (await job.boundingBox())!;
    expect(width).toBeGreaterThan(200);
  }
});

for (const width of [1280, 390]) {
  test(`folder, input and buttons follow each other without gaps at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    await JobsPage.open(page);
    const edges = async (selector: string) => {
      const { y, height } = (await page.locator(selector).boundingBox())!;
      return [y, y + height];
    };
    const [, folder] = await edges("#working-dir");
    const [top, bottom] = await edges("#user-input-textarea");
    const [buttons] = await edges("#start-job-button");
    // Between the first two stand a hint and the name of the field.
    expect(top - folder).toBeLessThan(80);
    expect(buttons - bottom).toBeLessThan(40);
  });
}

test("on a phone the parts follow each other and nothing is cut off", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const jobs = await JobsPage.open(page);
  await jobs.job("repeat").click();
  const matrix = (await page.locator("#matrix-part").boundingBox())!;
  const input = (await page.locator("#user-input-part").boundingBox())!;
  expect(input.y).toBeGreaterThanOrEqual(matrix.y + matrix.height);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

test("jobs are chosen by keyboard", async ({ page }) => {
  const jobs = await JobsPage.open(page);
  await jobs.job("never end").focus();
  await page.keyboard.press("Space");
  await expect(jobs.job("never end")).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("Enter");
  await expect(jobs.job("never end")).toHaveAttribute("aria-pressed", "false");
});

test("a job is started by keyboard alone", async ({ page }) => {
  await JobsPage.open(page);
  const press = async (key: string, until: string): Promise<void> => {
    const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.getAttribute("data-job-name"));
    for (let presses = 0; (await focused()) !== until; presses++) {
      expect(presses, `${key} never came to ${until}`).toBeLessThan(60);
      await page.keyboard.press(key);
    }
  };
  await press("Tab", "repeat");
  await page.keyboard.press("Enter");
  await press("Tab", "user-input-textarea");
  await page.keyboard.type("by hand");
  await press("Tab", "start-job-button");
  const popup = page.waitForEvent("popup");
  await page.keyboard.press("Enter");
  expect((await popup).url()).toContain("jobName=repeat&jobId=job-");
});

base.describe("Stop Server", () => {
  base("asks also while nothing runs", async ({ page, request, watch }) => {
    watch.expect(/foreign request/);
    const portal = await Portal.startWith("browser_jobs.json");
    await page.goto(`${portal.url}/jobs.html?wb=/`);
    await hydrated(page);
    await page.locator("#stop-server-button").click();
    const question = page.getByRole("dialog");
    await expect(question).toContainText("Nothing is running.");
    await question.getByRole("button", { name: "Cancel" }).click();
    expect((await request.get(`${portal.url}/api/test`)).status()).toBe(200);
    // The page would miss the server.
    await page.goto("about:blank");
    await portal.stop();
  });

  base("asks first while a job is running", async ({ page, request, watch }) => {
    watch.expect(/foreign request/);
    const portal = await Portal.startWith("browser_jobs.json");
    await request.post(`${portal.url}/api/copilot/job/start/never%20end`, { data: "/" });
    await page.goto(`${portal.url}/jobs.html?wb=/`);
    await hydrated(page);
    await page.locator("#stop-server-button").click();
    const question = page.getByRole("dialog");
    await expect(question).toContainText("Interrupts never end. History is not kept.");
    await question.getByRole("button", { name: "Stop Server" }).click();
    await expect(page.locator("#session-note")).toContainText("server has been stopped");
    expect(await portal.ended()).toBe(0);
  });
});
