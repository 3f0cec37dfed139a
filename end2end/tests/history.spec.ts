import { readFileSync } from "node:fs";
import { type APIRequestContext } from "@playwright/test";
import { test } from "../fixtures/folder.js";
import { HistoryPage } from "../fixtures/history.js";
import { Portal, expect, hydrated } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

const SIZES = [
  { name: "on a desk", width: 1280, height: 800 },
  { name: "on a phone", width: 390, height: 844 },
];

/** Starts a session in a folder by a script, which has it answer a prompt; returns its id. */
async function talk(request: APIRequestContext, folder: string, prompt: string): Promise<string> {
  const started = await request.post("/api/copilot/session/start/simulated-quick", { data: folder });
  const { sessionId: id } = (await started.json()) as { sessionId: string };
  await request.post(`/api/copilot/session/${id}/query`, { data: prompt });
  await expect
    .poll(async () => ((await (await request.get(`/api/copilot/session/${id}/info`)).json()) as { state: string }).state)
    .toBe("idle");
  return id;
}

const close = (request: APIRequestContext, id: string) => request.post(`/api/copilot/session/${id}/stop`);

for (const { name, ...viewport } of SIZES) {
  test.describe(name, () => {
    test.use({ viewport });

    test("what happened is searched, with its hits marked as text", async ({ page, request, folder }) => {
      const word = `plum${Date.now()}`;
      await talk(request, folder, `say "<b>ripe</b> ${word} tart"`);
      const history = await HistoryPage.open(page);
      await history.search.fill(word);
      await expect(history.rows).toHaveCount(1);
      await expect(page).toHaveURL(new RegExp(`q=${word}`));
      await expect(history.rows.locator("mark")).toHaveText(word);
      const refresh = (await page.locator("#history-refresh").boundingBox())!;
      const search = (await history.search.boundingBox())!;
      expect(Math.abs(refresh.y + refresh.height / 2 - search.y - search.height / 2)).toBeLessThan(4);
      await expect(history.rows.locator(".history-snippet")).toContainText("<b>ripe</b>");
      await expect(history.rows.locator("b")).toHaveCount(0);
      await expect(history.rows.locator(".state-badge")).toHaveText("Idle");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width);

      await page.reload();
      await hydrated(page);
      await expect(history.search).toHaveValue(word);
      await expect(history.rows).toHaveCount(1);
      await history.search.fill(`no${word}`);
      await expect(history.empty).toHaveText("Nothing matches. Clear filters.");
      await history.empty.getByRole("link").click();
      await expect(history.search).toHaveValue("");
      await expect(history.rows.first()).toBeVisible();
    });

    test("a closed session is opened as it looked, and continued", async ({ page, request, folder }) => {
      const word = `pear${Date.now()}`;
      await close(request, await talk(request, folder, `say "a ${word}"`));
      const history = await HistoryPage.open(page, `?q=${word}`);
      await expect(history.rows.locator(".state-badge")).toHaveText("Closed");
      await history.rows.locator(".history-title").click();
      await expect(page.locator("#session-part")).toContainText(`a ${word}`);
      await page.goBack();
      await expect(history.rows).toHaveCount(1);
      await history.pick(history.rows, "Continue in a new session");
      await expect(page).toHaveURL(/index\.html\?session=/);
      const session = new SessionPage(page);
      await session.ready();
      await session.runTurn("repeat the conversation so far");
      await expect(session.of("message").last()).toContainText(word);
    });

    test("a session is renamed in place, exported and deleted", async ({ page, request, folder }) => {
      const word = `fig${Date.now()}`;
      const id = await talk(request, folder, `say "a ${word}"`);
      const history = await HistoryPage.open(page, `?folder=${encodeURIComponent(folder)}`);
      const row = history.page.locator(`[data-id="${id}"]`);
      await history.pick(row, "Rename");
      const field = row.getByLabel("Title");
      await expect(field).toBeFocused();
      await field.fill("  ");
      await field.press("Enter");
      await expect(row.getByRole("alert")).toHaveText("A title is one line with something in it.");
      await field.fill(`Fruit ${word}`);
      await field.press("Enter");
      await expect(row.locator(".history-title")).toHaveText(`Fruit ${word}`);
      await expect(row.locator(".history-menu-button")).toBeFocused();
      await history.pick(row, "Rename");
      await field.fill("not kept");
      await field.press("Escape");
      await expect(row.locator(".history-title")).toHaveText(`Fruit ${word}`);

      const download = page.waitForEvent("download");
      await history.pick(row, "Export as Markdown");
      const file = await (await download).path();
      expect(readFileSync(file, "utf8")).toContain(`# Fruit ${word}`);

      await history.pick(row, "Delete …");
      await expect(history.confirm).toContainText(`Delete “Fruit ${word}”`);
      await history.confirm.getByRole("button", { name: "Cancel" }).click();
      await history.pick(row, "Delete …");
      await history.confirm.getByRole("button", { name: "Delete" }).click();
      await expect(row.getByRole("alert")).toHaveText("It is still running. Stop it first.");
      await close(request, id);
      await page.locator("#history-refresh").click();
      await expect(row.locator(".state-badge")).toHaveText("Closed");
      await history.pick(row, "Delete …");
      await history.confirm.getByRole("button", { name: "Delete" }).click();
      await expect(row).toHaveCount(0);
      await expect(history.empty).toContainText("Nothing matches.");
    });
  });
}

test("filters stand in the address, which Back and Forward follow", async ({ page, request, folder }) => {
  const closed = await talk(request, folder, "say one");
  await close(request, closed);
  await talk(request, folder, "say two");
  const history = await HistoryPage.open(page);
  await history.folder.selectOption(folder);
  await expect(history.rows).toHaveCount(2);
  await history.state.selectOption("Closed");
  await expect(history.rows).toHaveCount(1);
  await expect(history.rows).toHaveAttribute("data-id", closed);
  await expect(page).toHaveURL(/state=closed/);
  await history.kind.selectOption("Jobs");
  await expect(history.empty).toContainText("Nothing matches.");
  await page.goBack();
  await expect(history.kind).toHaveValue("");
  await expect(history.rows).toHaveCount(1);
  await page.goBack();
  await expect(history.state).toHaveValue("");
  await expect(history.rows).toHaveCount(2);
  await page.goForward();
  await expect(history.rows).toHaveCount(1);
  await page.reload();
  await hydrated(page);
  await expect(history.state).toHaveValue("closed");
  await expect(history.folder).toHaveValue(folder);
  await expect(history.rows).toHaveCount(1);
});

test("time leaves what is new", async ({ page, request, folder }) => {
  await talk(request, folder, "say one");
  const history = await HistoryPage.open(page, `?folder=${encodeURIComponent(folder)}`);
  await expect(history.rows).toHaveCount(1);
  const asked = page.waitForRequest(/copilot\/history\?.*since=/);
  await history.time.selectOption("Last 7 days");
  const since = new URL((await asked).url()).searchParams.get("since")!;
  const days = (Date.now() - Date.parse(since)) / 86_400_000;
  expect(Math.round(days)).toBe(7);
  await expect(page).toHaveURL(/time=week/);
  await expect(history.rows).toHaveCount(1);
});

test("there is more than a page", async ({ page, request, folder }) => {
  const start = () => request.post("/api/copilot/session/start/simulated-quick", { data: folder });
  for (let count = 0; count < 52; count += 1) {
    const { sessionId } = (await (await start()).json()) as { sessionId: string };
    await close(request, sessionId);
  }
  const history = await HistoryPage.open(page, `?folder=${encodeURIComponent(folder)}`);
  await expect(history.rows).toHaveCount(50);
  await expect(history.count).toHaveText("The newest 50 entries");
  await history.more.click();
  await expect(history.rows).toHaveCount(52);
  await expect(history.more).toHaveCount(0);
  await expect(history.count).toHaveText("52 entries");
});

test("the palette searches the history", async ({ page, request, folder, open }) => {
  const word = `kiwi${Date.now()}`;
  await talk(request, folder, `say "a ${word}"`);
  await open("/");
  await page.keyboard.press("Control+k");
  await page.keyboard.type(word);
  // The session itself comes first, the search last.
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  const history = new HistoryPage(page);
  await expect(history.search).toHaveValue(word);
  await expect(history.rows.locator("mark")).toHaveText(word);
});

test("a failure is told, and tried again", async ({ page, watch, open }) => {
  watch.expect(/Failed to load resource/);
  await page.route("**/api/copilot/history*", (route) => route.abort("connectionrefused"));
  await open("/history.html");
  await expect(page.getByRole("alert")).toContainText("can't be reached");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("the keyboard is enough", async ({ page, request, folder }) => {
  const id = await talk(request, folder, "say one");
  const history = await HistoryPage.open(page, `?folder=${encodeURIComponent(folder)}`);
  await expect(history.rows).toHaveCount(1);
  await history.rows.locator(".history-title").focus();
  await page.keyboard.press("Tab");
  await expect(history.rows.locator(".history-menu-button")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(history.menu.getByText("Rename")).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(history.menu.getByText("Export as Markdown")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(history.menu).toBeHidden();
  await expect(history.rows.locator(".history-menu-button")).toBeFocused();
  await history.rows.locator(".history-title").focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`session=${id}`));
});

test.describe("jobs", () => {
  let portal: Portal;
  test.beforeAll(async () => {
    portal = await Portal.startWith("browser_retry.json");
  });
  test.afterAll(() => portal.stop());
  test.beforeEach(({ watch }) => watch.own(portal.url));

  test("a failed job says why, leads to its page, and is retried", async ({ page, folder }) => {
    const api = `${portal.url}/api/copilot/job`;
    const jobs = (await (await page.request.get(api)).json()) as { jobs: Record<string, unknown> };
    const job = Object.keys(jobs.jobs)[0];
    const started = await page.request.post(`${api}/start/${encodeURIComponent(job)}`, { data: `${folder}\n` });
    const { jobId } = (await started.json()) as { jobId: string };
    const history = await HistoryPage.open(page, "?kind=job", portal.url);
    const row = page.locator(`[data-id="${jobId}"]`);
    await expect
      .poll(async () => {
        await page.locator("#history-refresh").click();
        return row.locator(".state-badge").textContent();
      })
      .toBe("Failed");
    await expect(row.locator(".history-reason")).not.toBeEmpty();
    await history.pick(row, "Retry what failed");
    await expect(page).toHaveURL(/jobTracking\.html\?jobName=.*jobId=/);
    expect(page.url()).not.toContain(jobId);
    await expect(page.locator("#job-retried-from")).toBeVisible();

    // What jobs ran is left out, until it is wanted.
    await HistoryPage.open(page, `?folder=${encodeURIComponent(folder)}`, portal.url);
    await expect(history.rows).toHaveCount(2);
    await expect(history.row("task of")).toHaveCount(0);
    await expect(history.parts).toHaveText("Tasks of jobs are left out. Show everything");
    await history.parts.getByRole("link").click();
    await expect(page).toHaveURL(/parts=1/);
    await expect(history.row("task of").first()).toBeVisible();
    await page.reload();
    await expect(history.row("task of").first()).toBeVisible();
    await history.parts.getByRole("link", { name: "Leave them out" }).click();
    await expect(history.rows).toHaveCount(2);
    await history.kind.selectOption("Tasks");
    await expect(history.row("task of").first()).toBeVisible();
    await expect(history.parts).toHaveCount(0);

    await HistoryPage.open(page, "?kind=task", portal.url);
    await expect(history.rows.first()).toContainText(`task of ${job}`);
    await history.rows.first().locator(".history-title").click();
    await expect(page.locator("#job-status-label")).toBeVisible();
  });
});
