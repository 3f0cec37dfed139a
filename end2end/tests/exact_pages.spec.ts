import { expect, hydrated, Portal, test } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

/** The computed `display` of an element that must be in the document, once. */
const display = (page: import("@playwright/test").Page, id: string) =>
  page.evaluate((id) => {
    const found = document.querySelectorAll(`[id="${id}"]`);
    return found.length === 1 ? getComputedStyle(found[0]).display : `${found.length} elements`;
  }, id);

for (const path of ["/test", "/test.html"]) {
  test(`the text of ${path} is the message and nothing else`, async ({ page, open }) => {
    await open(path);
    await expect(page.locator("body")).toHaveText("Hello, world!");
    expect(await page.evaluate(() => document.body.innerText)).toBe("Hello, world!");
    const told = await page.evaluate(() => {
      const body = document.body.cloneNode(true) as HTMLElement;
      body.querySelectorAll("script").forEach((script) => script.remove());
      return body.textContent!.trim();
    });
    expect(told).toBe("Hello, world!");
    await expect(page.locator("[style]")).toHaveCount(0);
  });
}

test("before the answer the test page says nothing", async ({ page }) => {
  let answer = () => {};
  const asked = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/test", async (route) => {
    await asked;
    await route.continue();
  });
  await page.goto("/test.html");
  await hydrated(page);
  expect(await page.evaluate(() => document.body.innerText.trim())).toBe("");
  answer();
  await expect(page.locator("body")).toHaveText("Hello, world!");
});

test("both parts of the index page are there from the start, the one not in use hidden", async ({
  page,
  request,
}) => {
  const html = await (await request.get("/index.html")).text();
  expect(html.match(/id="setup-ui"/g)).toHaveLength(1);
  expect(html.match(/id="session-ui"/g)).toHaveLength(1);
  expect(html).not.toMatch(/\sstyle=/);

  await page.goto("/index.html");
  await hydrated(page);
  expect(await display(page, "session-ui")).toBe("none");
  expect(await display(page, "setup-ui")).not.toBe("none");
  await SessionPage.start(page);
  expect(await display(page, "setup-ui")).toBe("none");
  expect(await display(page, "session-ui")).toBe("flex");
  await page.reload();
  await hydrated(page);
  expect(await display(page, "setup-ui")).toBe("none");
  expect(await display(page, "session-ui")).toBe("flex");
  await page.locator("#close-session-button").click();
  await expect(page.locator("#session-note")).toBeVisible();
  expect(await display(page, "session-ui")).toBe("none");
});

test("the session part itself holds the responses, and scrolls", async ({ page }) => {
  const session = await SessionPage.start(page);
  await expect(page.locator("#session-part")).toHaveClass("session-response-container");
  await expect(page.locator(".session-response-container")).toHaveCount(1);
  await session.runTurn("answer in Markdown");
  await session.runTurn("answer in Markdown");
  const part = page.locator("#session-part");
  await expect(part.locator(".message-block").first()).toBeAttached();
  const { height, content, top } = await part.evaluate((part) => ({
    height: part.clientHeight,
    content: part.scrollHeight,
    top: part.scrollTop,
  }));
  expect(content).toBeGreaterThan(height);
  expect(content - top - height).toBeLessThan(60);
  const request = (await page.locator("#request-part").boundingBox())!;
  expect(Math.round(request.height)).toBe(300);
  await expect(page.locator("#stop-server-button")).toBeInViewport();
});

test("the text about pending responses never fades, and the ring beside it turns", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.ask("wait 30 seconds");
  await expect(session.awaiting).toBeVisible();
  await expect(session.awaiting).toHaveText("Awaits responses ...");
  const animations = await session.awaiting.evaluate((element) => ({
    text: getComputedStyle(element).animationName,
    opacity: getComputedStyle(element).opacity,
    ring: getComputedStyle(element, "::before").animationName,
  }));
  expect(animations).toEqual({ text: "none", opacity: "1", ring: "working" });
  await session.abort.click();
  await session.ready();
});

test("failed and denied tools say so in a word", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("use the missing_tool tool");
  const outcome = (index: number) => session.of("tool").nth(index).locator(".message-block-summary .outcome");
  await expect(outcome(0)).toHaveText("failed");
  await session.permissions.selectOption("deny");
  await session.runTurn('use the createFile tool with the arguments {"path":"never.txt","content":"x"}');
  await expect(outcome(1)).toHaveText("denied");
  // The header's own text is a contract.
  await expect(session.of("tool").nth(1).locator(".message-block-header")).toHaveText("Tool (createFile)");
  await session.runTurn("use the job_boolean_true tool");
  await expect(outcome(2)).toHaveCount(0);
});

test("every page has one h1, and every bar says where it stands", async ({ page, open }) => {
  for (const path of ["/", "/jobs.html?wb=/", "/jobTracking.html?jobName=build", "/inbox.html", "/history.html", "/bridge.html", "/test.html"]) {
    await open(path);
    await expect(page.getByRole("heading", { level: 1 }), path).toHaveCount(1);
  }
  await SessionPage.start(page);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Session");
  const bar = page.getByRole("separator");
  const share = async () => {
    const request = (await page.locator("#request-part").boundingBox())!;
    const all = (await page.locator("#session-ui").boundingBox())!;
    return String(Math.round((100 * request.height) / all.height));
  };
  await expect(bar).toHaveAttribute("aria-valuenow", await share());
  await expect(bar).toHaveAttribute("aria-valuemin", "0");
  await expect(bar).toHaveAttribute("aria-valuemax", "100");
  await bar.press("ArrowUp");
  await expect(bar).toHaveAttribute("aria-valuenow", await share());
});

test("bars have a value in the server's HTML, too", async ({ request }) => {
  const html = await (await request.get("/jobs.html?wb=/")).text();
  expect(html).toMatch(/aria-valuenow="\d+"/);
});

test("a refused start names the folder", async ({ page, open }) => {
  await open("/");
  await page.locator("#working-dir").fill("/no/such/folder");
  await page.locator("#start-button").click();
  await expect(page.getByRole("alert")).toHaveText(
    "There is no such folder on the server's machine: /no/such/folder",
  );
});

test.describe("jobs", () => {
  let portal: Portal;
  test.beforeAll(async () => {
    portal = await Portal.startWith("browser_jobs.json");
  });
  test.afterAll(() => portal.stop());
  test.beforeEach(({ watch }) => watch.own(portal.url));

  test("the title of the matrix is its text alone, the button beside it", async ({ page }) => {
    await page.goto(`${portal.url}/jobs.html?wb=/`);
    await hydrated(page);
    const title = page.locator(".matrix-title");
    await expect(title).toHaveCount(1);
    expect(await title.evaluate((title) => title.textContent)).toBe("Available Jobs");
    const [left, right] = [await title.boundingBox(), await page.locator("#stop-server-button").boundingBox()];
    expect(right!.x).toBeGreaterThan(left!.x + left!.width);
    expect(Math.abs(right!.y + right!.height / 2 - left!.y - left!.height / 2)).toBeLessThan(4);
    const row = page.locator("#matrix-table tr").first();
    await expect(row.locator("#stop-server-button")).toBeVisible();
    await expect(row.locator(".matrix-title")).toBeVisible();
  });
});
