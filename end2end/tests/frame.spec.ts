import { Portal, expect, hydrated, test } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

test("the test page shows the server's greeting", async ({ page, open }) => {
  await open("/test.html");
  await expect(page.locator("body")).toContainText("Hello, world!");
  await expect(page).toHaveTitle("Test · Copilot Portal");
});

test("the test page says what is wrong when the server is gone", async ({ page, watch }) => {
  watch.expect(/Failed to load resource/);
  await page.route("**/api/test", (route) => route.abort("connectionrefused"));
  await page.goto("/test.html");
  await expect(page.locator(".failure")).toContainText("can't be reached");
});

test("an unknown page says so and leads back", async ({ page, watch }) => {
  watch.expect(/404/);
  const response = await page.goto("/nothing");
  expect(response!.status()).toBe(404);
  await hydrated(page);
  await page.getByRole("link", { name: "Go to the start" }).click();
  await expect(page.locator("#setup-ui")).toBeVisible();
});

test("the links of the side bar lead to the pages without loading them anew", async ({ page, open }) => {
  await open("/");
  await page.evaluate(() => (document.body.dataset.same = "yes"));
  const links = page.locator(".sidebar-nav");
  await links.getByRole("link", { name: "New job" }).click();
  await expect(page.locator("#matrix-part")).toBeVisible();
  await expect(links.locator("[aria-current=page]")).toHaveText("New job");
  await links.getByRole("link", { name: "Inbox" }).click();
  await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
  await page.goBack();
  await expect(page.locator("#matrix-part")).toBeVisible();
  await expect(links.locator("[aria-current=page]")).toHaveText("New job");
  await expect(page.locator("body")).toHaveAttribute("data-same", "yes");
});

test("however much is alive, the side bar scrolls and the page stays", async ({ page, watch }) => {
  const portal = await Portal.start();
  watch.own(portal.url);
  for (let count = 0; count < 40; count++) {
    await page.request.post(`${portal.url}/api/copilot/session/start/simulated-quick`, { data: "/" });
  }
  for (const [width, height] of [[1440, 900], [390, 844]] as const) {
    await page.setViewportSize({ width, height });
    await page.goto(`${portal.url}/`);
    await hydrated(page);
    const list = page.locator("#alive-list");
    await expect(list.locator(".sidebar-row")).toHaveCount(40);
    const beyond = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
    expect(beyond, `${width}`).toBeLessThanOrEqual(0);
    if (width < 768) await page.locator(".sidebar-toggle").click();
    await list.locator(".sidebar-row").last().scrollIntoViewIfNeeded();
    await expect(list.locator(".sidebar-row").last()).toBeInViewport();
    await expect(page.locator(".sidebar-foot")).toBeInViewport({ ratio: 1 });
  }
  await page.goto("about:blank");
  await portal.stop();
});

test("the first Tab offers to skip the links", async ({ page, open }) => {
  await open("/");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
});

test("a project names the folder beside the repository, and jobs take it along", async ({
  page,
  open,
}) => {
  await open("/?project=other project");
  const folder = await page.locator("#working-dir").inputValue();
  expect(folder).toMatch(/[/\\]other project$/);
  await page.locator("#jobs-button").click();
  await expect(page.locator("#user-input-part #working-dir")).toHaveValue(folder);
  expect(new URL(page.url()).searchParams.get("wb")).toBe(folder);
});

test("the job button takes the folder that was typed", async ({ page, open }) => {
  await open("/");
  await page.locator("#working-dir").fill("/tmp/a b&c=d");
  await page.locator("#jobs-button").click();
  await expect(page.locator("#user-input-part #working-dir")).toHaveValue("/tmp/a b&c=d");
});

test.describe("the bar between two parts", () => {
  const width = (page: import("@playwright/test").Page) =>
    page.locator("#right-part").evaluate((part) => Math.round(part.getBoundingClientRect().width));

  test.beforeEach(({ open }) => open("/jobs.html?wb=/tmp"));

  test("starts at 800 px", async ({ page }) => {
    expect(await width(page)).toBe(800);
  });

  test("follows the mouse", async ({ page }) => {
    const bar = (await page.locator("#resize-bar").boundingBox())!;
    await page.mouse.move(bar.x, 400);
    await page.mouse.down();
    await page.mouse.move(bar.x + 60, 400);
    await page.mouse.move(bar.x + 200, 400, { steps: 4 });
    expect(await width(page)).toBe(600);
    await page.mouse.up();
    await page.mouse.move(bar.x, 400);
    expect(await width(page)).toBe(600);
  });

  test("moves by keyboard, and stops at the ends", async ({ page }) => {
    const bar = page.getByRole("separator");
    await bar.focus();
    await page.keyboard.press("ArrowRight");
    expect(await width(page)).toBe(784);
    await page.keyboard.press("Shift+ArrowLeft");
    expect(await width(page)).toBe(864);
    await page.keyboard.press("End");
    expect(await width(page)).toBe(160);
    await page.keyboard.press("Home");
    expect(await width(page)).toBeGreaterThan(1000);
    await expect(bar).toHaveAttribute("aria-valuenow", /^\d+$/);
  });
});

test("every page says so while the server can't store anything", async ({ page }) => {
  await SessionPage.start(page);
  const banner = page.locator(".store-trouble .banner");
  await expect(banner).toHaveCount(0);
  await page.route("**/api/**", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), "portal-store": "unavailable" } });
  });
  await expect(banner).toContainText("can't store anything", { timeout: 15_000 });
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await expect(banner).toHaveCount(0, { timeout: 15_000 });
});
