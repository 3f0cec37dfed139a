import { expect, Portal, test } from "../fixtures/portal.js";

const KEY = "correct-horse-battery";

test("whoever goes to api/stop is asked before the server stops", async ({ page, watch }) => {
  watch.expect(/./);
  const portal = await Portal.start();
  await page.goto(`${portal.url}/api/stop`);
  await expect(page.getByRole("heading")).toHaveText("Stop the server?");
  expect((await fetch(`${portal.url}/api/test`)).status).toBe(200);
  await page.getByRole("button", { name: "Stop Server" }).click();
  expect(await portal.ended()).toBe(0);
});

test("a picture in a page of ours does not act", async ({ page, watch }) => {
  watch.expect(/./);
  const portal = await Portal.start();
  await page.goto(`${portal.url}/test.html`);
  const shown = await page.evaluate(
    () =>
      new Promise((done) => {
        const image = new Image();
        image.onload = () => done("loaded");
        image.onerror = () => done("refused");
        image.src = "/api/stop";
      }),
  );
  expect(shown).toBe("refused");
  const got = await page.evaluate(() => fetch("/api/stop").then((answer) => answer.status));
  expect(got).toBe(403);
  expect((await fetch(`${portal.url}/api/test`)).status).toBe(200);
  await portal.stop();
});

test("a login acts by its secret, which other ports never see", async ({ page, context, watch }) => {
  watch.expect(/./);
  const portal = await Portal.start("--access-key", KEY);
  await page.goto(portal.url);
  await page.getByLabel("Access key").fill(KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL(`${portal.url}/`);
  const secret = await page.evaluate(() => localStorage.getItem("portal-login"));
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  const cookies = await context.cookies();
  expect(cookies.map((cookie) => [cookie.httpOnly, cookie.sameSite])).toEqual([[true, "Strict"]]);
  expect(cookies[0].value).not.toContain(secret!);

  const start = (headers: Record<string, string>) =>
    page.evaluate(
      (headers) =>
        fetch("/api/copilot/session/start/gpt-5-mini", { method: "POST", headers }).then(
          (answer) => answer.status,
        ),
      headers,
    );
  expect(await start({})).toBe(403);
  expect(await start({ "Portal-Login": secret! })).toBe(200);

  await page.goto(`${portal.url}/api/stop`);
  await page.getByRole("button", { name: "Stop Server" }).click();
  expect(await portal.ended()).toBe(0);
});

test("who logs out is asked for the key again", async ({ page, watch }) => {
  watch.expect(/./);
  const portal = await Portal.start("--access-key", KEY);
  await page.goto(`${portal.url}/login?key=${KEY}`);
  await page.waitForURL(`${portal.url}/`);
  await page.getByRole("link", { name: "Logins" }).click();
  await expect(page.getByRole("cell", { name: "operator (this browser)" })).toBeVisible();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByLabel("Access key")).toBeVisible();
  const stop = { method: "POST", headers: { authorization: `Bearer ${KEY}` } };
  await fetch(`${portal.url}/api/stop`, stop);
  expect(await portal.ended()).toBe(0);
});
