import { expect, Portal, test } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

// These end their server, so each has one of its own.
test.describe("Stop Server", () => {
  let portal: Portal;
  test.beforeEach(async ({ watch }) => {
    watch.expect(/foreign request/);
    portal = await Portal.start("--simulated-first-ms", "0");
  });
  test.afterEach(() => portal.stop());

  test("asks also when nobody else is concerned", async ({ page, request }) => {
    await SessionPage.start(page, portal.url);
    await page.locator("#stop-server-button").click();
    const question = page.getByRole("dialog");
    await expect(question).toContainText("Stop the server? This interrupts this session.");
    expect((await request.get(`${portal.url}/api/test`)).status()).toBe(200);
    await question.getByRole("button", { name: "Stop Server" }).click();
    await expect(page.locator("#session-note")).toContainText("server has been stopped");
    expect(await portal.ended()).toBe(0);
  });

  test("asks first when another session is open", async ({ page, request }) => {
    await request.post(`${portal.url}/api/copilot/session/start/gpt-5-mini`, { data: "" });
    await SessionPage.start(page, portal.url);
    await page.locator("#stop-server-button").click();
    const question = page.getByRole("dialog");
    await expect(question).toContainText("This interrupts this session and another session.");
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
