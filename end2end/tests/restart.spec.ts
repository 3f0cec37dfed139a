import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { InboxPage } from "../fixtures/inbox.js";
import { withLasting } from "../fixtures/lasting.js";
import { expect, hydrated } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

const test = withLasting();

// These end their server and start it again on the same port and data.
test.describe("a server that comes back", () => {
  test("shows a session as it was when it was killed in a turn, and goes on", async ({ page, lasting }) => {
    const session = await SessionPage.start(page, lasting.url);
    await session.ask("say one, wait 60 seconds");
    await expect(session.body(session.of("message"))).toHaveText("one");
    await lasting.kill();
    await expect(page.locator(".server-bar")).toContainText("Server unreachable");
    const answers: string[] = [];
    page.on("response", async (response) => {
      if (response.url().includes("/api/copilot/live/")) answers.push(await response.text());
    });
    await lasting.startAgain();
    await expect(page.locator(".server-bar")).toBeHidden({ timeout: 15_000 });
    await expect(session.container).toContainText("interrupted: the server stopped");
    await expect(session.of("message").filter({ hasText: "one" })).toHaveCount(1);
    expect(answers.join()).toContain("interrupted: the server stopped");
    expect(answers.join(), "only what is new is read").not.toContain("onUserPrompt");
    await session.ready();
    await session.runTurn('say "two"');
    await expect(session.body(session.of("message")).last()).toHaveText("two");
  });

  test("has what waited in its inbox, under the same id, and takes the answer there", async ({ page, lasting, context }) => {
    const work = mkdtempSync(path.join(tmpdir(), "portal-"));
    const session = await SessionPage.startIn(page, work, "ask", lasting.url);
    await session.askForFile("a.txt", "hello");
    const inbox = await InboxPage.open(await context.newPage(), lasting.url);
    const { row, card } = inbox.item(work);
    const id = await card.getAttribute("data-request-id");
    await lasting.kill();
    await expect(inbox.page.locator(".banner")).toContainText("the server has stopped");
    await lasting.startAgain();
    await expect(inbox.page.locator(".banner")).toBeHidden({ timeout: 15_000 });
    await expect(row).toContainText("Interrupted by a restart");
    await expect(card).toHaveAttribute("data-request-id", id!);
    await card.locator(".permission-approve").click();
    await expect(row).toHaveCount(0);
    await expect.poll(() => existsSync(path.join(work, "a.txt")), { timeout: 15_000 }).toBe(true);
    rmSync(work, { recursive: true });
  });

  test("still asks what it asked when it was killed, and resumes the turn when that is approved", async ({ page, lasting }) => {
    const work = mkdtempSync(path.join(tmpdir(), "portal-"));
    const session = await SessionPage.startIn(page, work, "ask", lasting.url);
    await session.askForFile("a.txt", "hello");
    const approve = session.cards.locator(".permission-approve");
    await expect(approve).toBeVisible();
    await lasting.kill();
    await expect(page.locator(".server-bar")).toContainText("Server unreachable");
    await lasting.startAgain();
    await expect(page.locator(".server-bar")).toBeHidden({ timeout: 15_000 });
    await expect(session.container).toContainText("interrupted: the server stopped");
    await expect(approve).toHaveCount(1);
    await approve.click();
    await expect(session.of("tool").last()).toContainText("created a.txt");
    await session.ready();
    await expect(session.cards).toHaveCount(1);
    expect(readFileSync(path.join(work, "a.txt"), "utf8")).toBe("hello");
    rmSync(work, { recursive: true });
  });

  test("shows a closed session, and continues it in a new one", async ({ page, lasting }) => {
    const session = await SessionPage.start(page, lasting.url);
    await session.runTurn('say "A plum."');
    const address = page.url();
    await page.locator("#close-session-button").click();
    await expect(page.locator("#session-note")).toBeVisible();
    await lasting.stop();
    await lasting.startAgain();
    await page.goto(address);
    await hydrated(page);
    await expect(session.body(session.of("message"))).toHaveText("A plum.");
    await expect(page.locator(".banner")).toHaveText("This session has ended.");
    await page.locator("#continue-button").click();
    await expect(page).not.toHaveURL(address);
    await session.ready();
    await session.runTurn("repeat the conversation so far");
    await expect(session.body(session.of("message")).last()).toContainText("plum");
  });

  test("knows an open session after a stop in order, with what was said", async ({ page, lasting }) => {
    const session = await SessionPage.start(page, lasting.url);
    await session.runTurn('say "A plum."');
    const address = page.url();
    await lasting.stop();
    await lasting.startAgain();
    await page.goto(address);
    await hydrated(page);
    await session.ready();
    await expect(session.body(session.of("message"))).toHaveText("A plum.");
    await session.runTurn("repeat the conversation so far");
    await expect(session.body(session.of("message")).last()).toContainText("plum");
  });
});
