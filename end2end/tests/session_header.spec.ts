import { readFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { test } from "../fixtures/folder.js";
import { expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

/** A title that begins so, whatever other tests have left in the inbox, which is counted before it. */
const titled = (start: string) => new RegExp(`^(\\(\\d+\\) )?${start}`);

test("the header is one line that says what the session is", async ({ page, folder }) => {
  execFileSync("git", ["init", "--quiet", "--initial-branch=trunk", folder]);
  const session = await SessionPage.startIn(page, folder);
  const header = page.locator("#session-header .page-header");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Session");
  await expect(page).toHaveTitle(titled("Session · Copilot Portal"));
  await expect(session.state).toHaveText("Idle");
  await expect(page.locator(".session-folder")).toHaveAttribute("title", folder);
  await expect(page.locator(".session-folder")).toHaveText(new RegExp(`${path.basename(folder)}$`));
  await expect(page.locator(".session-branch")).toHaveText("trunk");
  await expect(header.locator(".usage")).toHaveCount(0);

  await session.runTurn("Count 8000 input and 500 output tokens, then say hello");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Count 8000 input");
  await expect(page).toHaveTitle(titled("Count 8000 input"));
  await expect(header.locator(".usage")).toHaveText("8.5k tokens");
  for (const width of [1440, 1280, 1024, 390]) {
    await page.setViewportSize({ width, height: 844 });
    expect((await header.boundingBox())!.height, `${width}`).toBe(48);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow, `${width}`).toBeLessThanOrEqual(0);
    await expect(session.title).toBeInViewport({ ratio: 1 });
    await expect(session.state).toBeInViewport({ ratio: 1 });
  }
  await page.setViewportSize({ width: 1024, height: 768 });
  await expect(header.locator(".usage")).toBeHidden();
});

test("the state follows the session, in a word", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder);
  await expect(session.state).toHaveText("Idle");
  await session.askForFile("a.txt", "x");
  await expect(session.state).toHaveText("Waits for you");
  await expect(session.state.locator("[data-state]")).toHaveAttribute("data-state", "waiting");
  await expect(page).toHaveTitle(/^\(\?\) /);
  await session.cards.locator(".permission-deny").click();
  await session.ready();
  await expect(session.state).toHaveText("Idle");
  await session.ask("wait 60 seconds");
  await expect(session.state).toHaveText("Working");
  await session.abort.click();
  await session.ready();
  await expect(session.state).toHaveText("Idle");
});

test.describe("the title", () => {
  test("is changed in place, and everywhere", async ({ page, context }) => {
    const session = await SessionPage.start(page);
    await session.runTurn("say hello");
    const other = await context.newPage();
    await other.goto(page.url());
    await session.title.click();
    const field = page.locator("#title-input");
    await expect(field).toBeFocused();
    await expect(field).toHaveValue("say hello");
    await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
    await page.keyboard.type("A better title");
    await page.keyboard.press("Enter");
    await expect(session.title).toHaveText("A better title");
    await expect(session.title).toBeFocused();
    await expect(page).toHaveTitle(titled("A better title · Copilot Portal"));
    await expect(page.locator(".sidebar-row[aria-current=page] .row-title")).toHaveText("A better title");
    await expect(other.locator("#title-button")).toHaveText("A better title");
    await page.reload();
    await expect(session.title).toHaveText("A better title");
  });

  test("stays as it was after Escape, which asks nothing", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.keepBusy();
    await session.title.click();
    await page.keyboard.type("something else");
    await page.keyboard.press("Escape");
    await expect(session.title).toHaveText("wait 60 seconds");
    await expect(page.locator("dialog[open]")).toHaveCount(0);
  });

  test("that is refused says why, and is not lost", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.runTurn("say hello");
    await page.route("**/rename", (route) => route.fulfill({ json: { error: "InvalidTitle" } }));
    await session.title.click();
    await page.keyboard.type("refused");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("alert")).toHaveText("A title is one line with something in it.");
    await expect(page.locator("#title-input")).toHaveValue("refused");
    await page.keyboard.press("Escape");
    await expect(session.title).toHaveText("say hello");
    await expect(page.getByRole("alert")).toHaveCount(0);
  });
});

test.describe("the model", () => {
  test("is switched for the next prompt", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.runTurn("say hello");
    await expect(session.model).toHaveValue("gpt-5.2");
    const switched = page.waitForResponse(/\/model$/);
    await session.model.selectOption("simulated-quick");
    expect(await (await switched).json()).toEqual({});
    await expect(session.model).toBeEnabled();
    await expect(session.model).toHaveValue("simulated-quick");
    await session.runTurn("say goodbye");
    await page.reload();
    await expect(session.model).toHaveValue("simulated-quick");
  });

  test("is fixed while the agent works, and says so", async ({ page }) => {
    const session = await SessionPage.start(page);
    await expect(session.model).toBeEnabled();
    await session.keepBusy();
    await expect(session.model).toBeDisabled();
    await expect(session.model).toHaveAccessibleDescription(/once the agent is idle/);
    await session.abort.click();
    await session.ready();
    await expect(session.model).toBeEnabled();
  });

  test("that is refused is not shown as chosen", async ({ page }) => {
    const session = await SessionPage.start(page);
    await expect(session.model).toHaveValue("gpt-5.2");
    await page.route(/\/session\/[^/]+\/model$/, (route) => route.fulfill({ json: { error: "SessionBusy" } }));
    await session.model.selectOption("simulated-quick");
    await expect(page.getByRole("alert")).toContainText("The session is working");
    await expect(session.model).toHaveValue("gpt-5.2");
    await expect(session.model).toBeEnabled();
  });
});

test("the conversation is exported as Markdown and JSON", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("say hello world");
  for (const [name, start] of [["Markdown", "#"], ["JSON", "{"]] as const) {
    await page.locator("#export-button").click();
    const download = page.waitForEvent("download");
    await page.locator("#export-menu").getByRole("button", { name }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^session-.*\.(md|json)$/);
    const text = await readFile(await file.path(), "utf8");
    expect(text.trimStart().startsWith(start), name).toBe(true);
    expect(text).toContain("hello world");
    await expect(page.locator("#export-menu")).toBeHidden();
  }
  await page.locator("#export-button").click();
  await page.keyboard.press("Escape");
  await expect(page.locator("#export-menu")).toBeHidden();
});

test("Close in the header ends the session as the button below does", async ({ page }) => {
  await SessionPage.start(page);
  await page.locator("#session-header").getByRole("button", { name: "Close" }).click();
  await expect(page.locator("#session-note")).toContainText("session has ended");
});

test("a session that was closed elsewhere can be read, and nothing else", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("say hello");
  const id = new URL(page.url()).searchParams.get("session")!;
  await page.request.post(`/api/copilot/session/${id}/stop`);
  await expect(session.state).toHaveText("Closed");
  for (const again of [false, true]) {
    if (again) await page.reload();
    await expect(page.locator(".banner")).toHaveText("This session has ended.");
    await expect(session.title).toHaveText("say hello");
    await expect(session.state).toHaveText("Closed");
    await expect(session.prompt).toHaveAttribute("readonly");
    await expect(session.send).toBeDisabled();
    await expect(session.model).toBeDisabled();
    await expect(session.task).toBeDisabled();
    await expect(session.permissions).toBeDisabled();
    await expect(page.locator("#continue-button")).toBeVisible();
  }
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("what does not fit is behind the dots", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.runTurn("say hello");
    await expect(session.model).toBeHidden();
    const more = page.locator("#session-more");
    await more.tap();
    await expect(more).toHaveAttribute("aria-expanded", "true");
    for (const part of [session.model, page.locator(".session-folder"), page.locator("#extensions-button"),
      page.locator("#export-markdown"), page.locator("#export-json"), page.locator("#session-close")]) {
      await expect(part).toBeInViewport({ ratio: 1 });
    }
    await session.container.tap({ position: { x: 8, y: 500 } });
    await expect(session.model).toBeHidden();
    await more.tap();
    await page.locator("#extensions-button").tap();
    await expect(page.locator("#extensions-panel")).toBeVisible();
  });
});
