import { test } from "../fixtures/folder.js";
import { expect, hydrated, Portal } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

// These end their server, so each has one of its own.
test.describe("Stop Server", () => {
  let portal: Portal;
  test.beforeEach(async ({ watch }) => {
    watch.expect(/foreign request/);
    portal = await Portal.start("--simulated-first-ms", "0");
  });
  test.afterEach(() => portal.stop());

  test("asks also when nothing runs", async ({ page, request }) => {
    await SessionPage.start(page, portal.url);
    await page.locator("#stop-server-button").click();
    const question = page.getByRole("dialog");
    await expect(question).toContainText("Stop the server? Nothing is running. History is not kept.");
    expect((await request.get(`${portal.url}/api/test`)).status()).toBe(200);
    await question.getByRole("button", { name: "Stop Server" }).click();
    await expect(page.locator("#session-note")).toContainText("server has been stopped");
    expect(await portal.ended()).toBe(0);
  });

  test("names the sessions that work, and only those", async ({ page, request }) => {
    await request.post(`${portal.url}/api/copilot/session/start/gpt-5-mini`, { data: "/" });
    const session = await SessionPage.start(page, portal.url);
    await session.ask("wait 60 seconds");
    await expect(session.awaiting).toBeVisible();
    await page.locator("#stop-server-button").click();
    const question = page.getByRole("dialog");
    await expect(question).toContainText("Interrupts 1 working session. History is not kept.");
    await question.getByRole("button", { name: "Cancel" }).click();
    await expect(question).toBeHidden();
    expect((await request.get(`${portal.url}/api/test`)).status()).toBe(200);

    await page.locator("#stop-server-button").click();
    await expect(question).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(question).toBeHidden();

    await page.locator("#stop-server-button").click();
    await question.getByRole("button", { name: "Stop Server" }).click();
    await expect(page.locator("#session-note")).toContainText("server has been stopped");
    expect(await portal.ended()).toBe(0);
  });
});

test("what lasts is said", async ({ page, folder, watch }) => {
  const portal = await Portal.start("--data-dir", folder, "--store", "sqlite");
  watch.own(portal.url);
  await page.goto(`${portal.url}/jobs.html`);
  await hydrated(page);
  await page.locator("#stop-server-button").click();
  await expect(page.getByRole("dialog")).toContainText("Nothing is running. History stays.");
  await page.close();
  await portal.stop();
});
