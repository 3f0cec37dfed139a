import { mkdir } from "node:fs/promises";
import path from "node:path";
import { isAccessible } from "../fixtures/accessibility.js";
import { test } from "../fixtures/folder.js";
import { Portal, expect, hydrated } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";
import { StartPage } from "../fixtures/start.js";

const SIZES = [
  { name: "desktop", width: 1440, height: 900 },
  { name: "phone", width: 390, height: 844 },
];

for (const { name, width, height } of SIZES) {
  test.describe(`on a ${name}`, () => {
    test.use({ viewport: { width, height } });

    test("everything a newcomer needs is on the page, and nothing is cut off", async ({ page }) => {
      const start = await StartPage.open(page);
      await expect(page.locator(".hero")).toContainText("Coding agents work in your folders");
      await expect(start.examples).toHaveCount(3);
      await expect(start.hint).toContainText("npm install -g @github/copilot");
      await expect(start.hint).toContainText("[copilot.provider]");
      await expect(start.hint).toContainText("[[providers]]");
      await expect(page.locator("#setup-ui")).toContainText("Folder on the server, e.g. /home/me/project");
      await expect(page.locator("#setup-ui")).toContainText("What the agent may do without asking");
      // The form and the first example are seen without scrolling.
      await expect(start.start).toBeInViewport({ ratio: 1 });
      await expect(start.examples.first()).toBeInViewport({ ratio: 1 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    });

    test("an example shows a formatted answer, with one click", async ({ page, folder }) => {
      const start = await StartPage.open(page);
      await start.folder.fill(folder);
      await start.example("A formatted answer").click();
      const session = new SessionPage(page);
      await expect(session.of("message").getByRole("table")).toBeVisible();
      await session.ready();
    });

    test("an example asks before it changes something", async ({ page, folder }) => {
      const start = await StartPage.open(page);
      await start.folder.fill(folder);
      // What was chosen for sessions does not matter: it is to be seen how it asks.
      await page.locator("#permission-select").selectOption("approve-all");
      await start.example("A change that asks first").click();
      const session = new SessionPage(page);
      await expect(session.cards.locator(".permission-title")).toHaveText(/^Create hello-\d+\.txt\?$/);
      await session.cards.locator(".permission-approve").click();
      await session.ready();
    });

    test("what completes the path is offered, and never covers a button", async ({ page, folder }) => {
      for (const name of ["alpha", "alphabet", "beta", "gamma", "delta", "epsilon"]) {
        await mkdir(path.join(folder, name));
      }
      const start = await StartPage.open(page);
      await start.folder.fill(`${folder}/`);
      await expect(start.offers).toHaveCount(6);
      for (const button of [start.start, page.locator("#jobs-button")]) {
        await button.click({ trial: true });
      }
      await start.folder.pressSequentially("alp");
      await expect(start.offers).toHaveText([/alpha$/, /alphabet$/]);
      await start.offers.last().click();
      await expect(start.folder).toHaveValue(`${folder}/alphabet`);
      await expect(start.offers).toHaveCount(0);
      await expect(start.folder).toBeFocused();
    });
  });
}

test("an example thinks, and looks around", async ({ page, folder }) => {
  const start = await StartPage.open(page);
  await start.folder.fill(folder);
  await start.example("Thinking").click();
  const session = new SessionPage(page);
  await session.ready();
  await expect(session.of("reasoning").first()).toBeVisible();
  await expect(session.header(session.of("tool"))).toHaveText("Tool (listFiles)");
  await expect(session.of("tool")).not.toContainText("failed");
});

test("an example in a folder that is not there says so, beside the folder", async ({ page }) => {
  const start = await StartPage.open(page);
  await start.folder.fill("/no/such/folder");
  await start.examples.first().click();
  const field = page.locator(".field", { has: start.folder });
  await expect(field.getByRole("alert")).toContainText("no such folder");
  await expect(start.examples.first()).toBeEnabled();
});

test("simulated models are marked, and stand apart from real ones", async ({ page }) => {
  const models = [
    { name: "Alpha", id: "a", multiplier: 1, provider: "copilot" },
    { name: "Simulated Quick", id: "simulated-quick", multiplier: 0, provider: "simulated" },
    { name: "Zeta", id: "z", multiplier: 1, provider: "local" },
  ];
  await page.route("**/api/copilot/models", (route) => route.fulfill({ json: { models } }));
  const start = await StartPage.open(page);
  const group = (label: string) => page.locator(`#model-select optgroup[label="${label}"] option`);
  await expect(group("Models")).toHaveText(["Alpha", "Zeta"]);
  await expect(group("Simulated")).toHaveText(["Simulated Quick (no AI: obeys plain sentences)"]);
  await expect(page.locator("#model-select")).toHaveValue("simulated-quick");
  // There is a real model, so nothing has to be added.
  await expect(start.hint).toHaveCount(0);
  await expect(start.examples).toHaveCount(3);
});

test("the exact lines can be copied", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const start = await StartPage.open(page);
  await start.hint.locator(".copy-button").last().click();
  await expect(start.hint.locator(".copy-button").last()).toHaveText("Copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^\[\[providers\]\]\nname = /);
});

test.describe("the folder", () => {
  test("is completed by keyboard, as in a shell", async ({ page, folder }) => {
    for (const name of ["alpha/deep", "alphabet"]) await mkdir(path.join(folder, name), { recursive: true });
    const start = await StartPage.open(page);
    await start.folder.fill(`${folder}/a`);
    await expect(start.offers).toHaveCount(2);
    await expect(start.folder).toHaveAttribute("aria-expanded", "true");
    await start.folder.press("Tab");
    await expect(start.folder).toHaveValue(`${folder}/alpha`);
    await start.folder.press("ArrowUp");
    await expect(start.marked).toContainText("alphabet");
    await expect(start.folder).toHaveAttribute("aria-activedescendant", /working-dir-\d/);
    await start.folder.press("Escape");
    await expect(start.offers).toHaveCount(0);
    await expect(start.folder).toHaveValue(`${folder}/alpha`);
    await start.folder.press("ArrowDown");
    await start.folder.press("ArrowDown");
    await expect(start.marked).toHaveCount(1);
    await start.folder.press("Enter");
    await expect(start.folder).toHaveValue(`${folder}/alphabet`);
    // The list is closed, so Enter starts.
    await start.folder.press("Enter");
    await expect(page.locator("#session-ui")).toBeVisible();
  });

  test("goes on inside of what Tab took, and Tab leaves when nothing is certain", async ({ page, folder }) => {
    for (const name of ["one/two", "one/three"]) await mkdir(path.join(folder, name), { recursive: true });
    const start = await StartPage.open(page);
    await start.folder.fill(`${folder}/o`);
    await expect(start.offers).toHaveCount(1);
    await start.folder.press("Tab");
    await expect(start.folder).toHaveValue(`${folder}/one/`);
    await expect(start.offers).toHaveText([/three$/, /two$/]);
    await start.folder.press("Tab");
    await expect(start.folder).toHaveValue(`${folder}/one/t`);
    await start.folder.press("Tab");
    await expect(start.folder).not.toBeFocused();
    await expect(start.offers).toHaveCount(0);
  });

  test("that was used is remembered, on this page and on that of jobs", async ({ page, folder }) => {
    const start = await StartPage.open(page);
    await start.folder.fill(`${folder}/`);
    await start.start.click();
    await new SessionPage(page).ready();
    await StartPage.open(page);
    await start.folder.click();
    await expect(start.offers.filter({ hasText: "used before" })).toContainText(folder);
    await page.goto("/jobs.html?wb=/");
    await hydrated(page);
    await start.folder.press("ArrowDown");
    await start.offers.filter({ hasText: "used before" }).click();
    await expect(start.folder).toHaveValue(folder);
    expect(new URL(page.url()).searchParams.get("wb")).toBe(folder);
  });
});

test("open sessions are listed with what they are about, and follow it", async ({ page, folder, request, watch }) => {
  const portal = await Portal.start();
  watch.own(portal.url);
  const start = await StartPage.open(page, portal.url);
  await expect(start.sessions).toContainText("No sessions yet. Start one, or try an example.");
  const answer = await request.post(`${portal.url}/api/copilot/session/start/gpt-5-mini`, { data: folder });
  const { sessionId } = await answer.json();
  const row = start.sessions.locator("li");
  await expect(row).toContainText("Idle");
  await request.post(`${portal.url}/api/copilot/session/${sessionId}/query`, { data: "wait 60 seconds" });
  await expect(row.locator(".running-name")).toHaveText("wait 60 seconds");
  await expect(row).toContainText("gpt-5-mini");
  await expect(row).toContainText(path.basename(folder));
  await expect(row.locator(".state-badge")).toHaveText("Working");
  await expect(row.locator(".running-time")).toHaveText(/^for \d+ s$/);
  await page.close();
  await portal.stop();
});

test("axe finds nothing serious on the page with an open list", async ({ page, folder }) => {
  await mkdir(path.join(folder, "one"));
  const start = await StartPage.open(page);
  await start.folder.fill(`${folder}/`);
  await start.folder.press("ArrowDown");
  await isAccessible(page, "start");
});
