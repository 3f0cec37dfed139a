import { type Page } from "@playwright/test";
import { Portal, test as base, expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

/** With a portal that has tasks. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const portal = await Portal.startWith("browser_tasks.json");
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

const TASKS = 7;
const LONG_NAME = /^50% of a\/b\?/;

/** Starts a session, and waits for the tasks. */
async function startSession(page: Page): Promise<SessionPage> {
  const session = await SessionPage.start(page);
  await expect(session.task.locator("option")).toHaveCount(1 + TASKS);
  return session;
}

/** Records changes of the Send button and of the awaiting line from now on. */
async function watchReadiness(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const seen: string[] = [];
    (window as { seen?: string[] }).seen = seen;
    const send = document.querySelector<HTMLButtonElement>("#send-button")!;
    const awaiting = document.querySelector<HTMLElement>(".session-response-awaiting")!;
    const note = (attribute: string, text: () => string) => (): void => {
      if (seen.at(-1) !== `${attribute} ${text()}`) seen.push(`${attribute} ${text()}`);
    };
    new MutationObserver(note("send", () => (send.disabled ? "off" : "on"))).observe(send, {
      attributeFilter: ["disabled"],
    });
    new MutationObserver(note("awaiting", () => awaiting.style.display)).observe(awaiting, {
      attributeFilter: ["style"],
    });
  });
  return () => page.evaluate(() => (window as { seen?: string[] }).seen!);
}

test("all tasks are there to choose, in their order, under a label", async ({ page }) => {
  const session = await startSession(page);
  await expect(page.getByLabel("Choose a Task:")).toHaveId("task-select");
  await expect(session.task).toHaveValue("");
  const options = session.task.locator("option");
  await expect(options).toHaveText([
    "(none)",
    "succeed",
    "fail",
    "repeat",
    "never end the second time",
    "never end",
    "crash",
    LONG_NAME,
  ]);
  await expect(options.nth(1)).toHaveAttribute("value", "succeed");
});

test("a task that succeeds says so, and only then is the session free", async ({ page }) => {
  const session = await startSession(page);
  const seen = await watchReadiness(page);
  await session.perform("succeed");
  await expect(session.titled("Task")).toHaveText([/the work is done/, /job_boolean_true/]);
  await expect(session.titled("TaskDecision")).toHaveText([
    "[CRITERIA] all criteria are met",
    "[TASK SUCCEEDED] the task succeeded",
  ]);
  const headers = await page.locator(".message-block-toggle").allTextContents();
  expect(headers[0]).toBe("User (Task)");
  expect(headers.slice(-2)).toEqual(["User (TaskDecision)", "User (TaskDecision)"]);
  await expect(session.blocks.last()).toHaveClass(/completed/);
  await expect(session.task).toHaveValue("");
  // Between the task's two prompts the session was idle, but not free.
  const both = await seen();
  expect(both.filter((one) => one.startsWith("send"))).toEqual(["send off", "send on"]);
  expect(both.filter((one) => one.startsWith("awaiting"))).toEqual([
    "awaiting block",
    "awaiting none",
  ]);
  await session.runTurn("say and on we go");
});

test("a task that fails tells every step", async ({ page }) => {
  const session = await startSession(page);
  await session.perform("fail");
  await expect(session.titled("TaskDecision")).toHaveText([
    /^\[CRITERIA\].*job_prepare_document/s,
    /^\[OPERATION\] retry #1/,
    /^\[CRITERIA\]/,
    /^\[DECISION\]/,
    /^\[TASK FAILED\]/,
  ]);
  await expect(session.titled("Task")).toHaveText([/no document/, /Go on where you were/]);
  await expect(session.body(session.blocks.first())).toContainText("no document");
  await expect(session.body(session.blocks.last())).toContainText("[TASK FAILED]");
});

test("one task after the other, a prompt in between", async ({ page }) => {
  const session = await startSession(page);
  await session.perform("succeed");
  await session.runTurn("say in between");
  await session.perform("repeat", "once more");
  await expect(session.titled("TaskDecision")).toHaveCount(3);
  await expect(session.of("message").last()).toContainText("you said once more");
  await expect(session.body(session.blocks.last())).toContainText("[TASK SUCCEEDED]");
});

test("a task that needs input asks for it", async ({ page }) => {
  const session = await startSession(page);
  const chat = await session.prompt.getAttribute("placeholder");
  await session.task.selectOption("succeed");
  await expect(session.prompt).toHaveAttribute("placeholder", /needs no input/);
  await session.task.selectOption("repeat");
  await expect(session.prompt).toHaveAttribute("placeholder", /what the task is about/);
  await session.prompt.fill("  ");
  await session.send.click();
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("needs input");
  await expect(session.prompt).toBeFocused();
  await expect(session.prompt).toHaveAccessibleDescription(/needs input/);
  await expect(session.prompt).toHaveAttribute("aria-invalid", "true");
  await expect(session.blocks).toHaveCount(0);

  await session.prompt.fill("hello");
  await expect(alert).toHaveCount(0);
  await session.prompt.press("Control+Enter");
  await expect(session.of("message")).toContainText("you said hello");
  await expect(session.prompt).toHaveValue("");
  await expect(session.prompt).toHaveAttribute("placeholder", chat!);
  await session.ready();
});

test("a task can be chosen and started without a mouse", async ({ page }) => {
  const session = await startSession(page);
  await session.task.focus();
  await page.keyboard.press("ArrowDown");
  await expect(session.task).toHaveValue("succeed");
  for (const next of [page.locator("#permission-select"), page.locator("#budget-button")]) {
    await page.keyboard.press("Tab");
    await expect(next).toBeFocused();
  }
  await page.keyboard.press("Control+L");
  await expect(session.prompt).toBeFocused();
  await page.keyboard.press("Control+Enter");
  await expect(session.titled("TaskDecision").last()).toContainText("[TASK SUCCEEDED]");
  await expect(session.task).toHaveValue("");
});

test("a name may have anything in it", async ({ page }) => {
  const session = await startSession(page);
  const name = await session.task.locator("option").last().getAttribute("value");
  expect(name).toMatch(LONG_NAME);
  await session.perform(name!);
  await expect(session.of("message")).toContainText("odd but fine");
});

test("a start that is refused says why and keeps everything", async ({ page }) => {
  const session = await startSession(page);
  const start = "**/task/start/**";
  await page.route(start, (route) => route.fulfill({ json: { error: "TaskNotFound" } }));
  await session.begin("repeat", "do not lose this");
  await expect(page.getByRole("alert")).toContainText("no such task");
  await expect(session.prompt).toHaveValue("do not lose this");
  await expect(session.task).toHaveValue("repeat");
  await expect(session.awaiting).toHaveCSS("display", "none");
  await page.unroute(start);
  await session.send.click();
  await expect(session.of("message")).toContainText("you said do not lose this");
  await expect(page.getByRole("alert")).toHaveCount(0);
  await session.ready();
});

test("a reload in the middle of a task loses nothing and shows nothing twice", async ({ page }) => {
  const session = await startSession(page);
  await session.begin("never end the second time");
  const decisions = [/^\[CRITERIA\]/, /^\[OPERATION\]/];
  await expect(session.titled("TaskDecision")).toHaveText(decisions);
  await page.reload();
  await expect(session.titled("TaskDecision")).toHaveText(decisions);
  await expect(session.titled("Task")).toHaveCount(2);
  await expect(session.send).toBeDisabled();
  await expect(session.awaiting).toHaveCSS("display", "block");

  await session.abort.click();
  await session.ready();
  await expect(session.titled("TaskDecision").last()).toContainText("[TASK FAILED]");
  await expect(session.titled("TaskDecision").filter({ hasText: "[OPERATION]" })).toHaveCount(1);
  await session.runTurn("say free again");
});

test("a task that is gone does not hold up the session", async ({ page }) => {
  const session = await startSession(page);
  const gone = "task-00000000-0000-4000-8000-000000000000";
  await page.goto(`${page.url()}&task=${gone}`);
  await session.runTurn("say still here");
  await expect(page.locator(".banner")).toHaveCount(0);
});

test("a lost connection to a task is told, and nothing is shown twice", async ({ page, watch }) => {
  watch.expect(/Failed to load resource/);
  const session = await startSession(page);
  const live = "**/api/copilot/live/**";
  await page.route(live, (route) => route.abort("connectionreset"));
  await session.begin("fail");
  await expect(page.locator(".server-bar")).toContainText("Server unreachable");
  await expect(session.send).toBeDisabled();
  await page.unroute(live);
  await session.ready();
  await expect(page.locator(".server-bar")).toHaveCount(0);
  await expect(session.titled("TaskDecision")).toHaveCount(5);
});

test("Abort ends the turn, and with it the task", async ({ page }) => {
  const session = await startSession(page);
  await session.begin("never end");
  await expect(session.of("message")).toContainText("<5:");
  await session.abort.click();
  await session.ready();
  await expect(session.titled("TaskDecision").last()).toContainText("[TASK FAILED]");
  await expect(session.header(session.of("failed").last())).toHaveText("Message (TaskError)");
  await session.runTurn("say still here");
});

test("a crash ends the session, and still tells what became of the task", async ({ page }) => {
  const session = await startSession(page);
  await session.begin("crash");
  await expect(page.locator(".banner")).toContainText("This session has ended");
  await expect(session.titled("TaskDecision").last()).toContainText("[TASK FAILED]");
  await expect(session.header(session.of("failed").last())).toHaveText("Message (TaskError)");
  await expect(session.awaiting).toHaveCSS("display", "none");
  await expect(session.send).toBeDisabled();
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("the longest name fits", async ({ page }) => {
    const session = await startSession(page);
    await page.locator("#choices-button").tap();
    const last = session.task.locator("option").last();
    await session.task.selectOption((await last.getAttribute("value"))!);
    const overflow = () =>
      page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
    expect(await overflow()).toBe(0);
    for (const part of [page.getByText("Choose a Task:"), session.task, session.prompt]) {
      await expect(part).toBeInViewport({ ratio: 1 });
    }
    const box = (await session.prompt.boundingBox())!;
    expect(box.height).toBeGreaterThan(60);
    await session.send.tap();
    await expect(session.titled("TaskDecision").last()).toContainText("[TASK SUCCEEDED]");
    expect(await overflow()).toBe(0);
  });
});

base("without an entry there is nothing to choose, and nothing to complain of", async ({ page }) => {
  const tasks = page.waitForResponse("**/api/copilot/task");
  const session = await SessionPage.start(page);
  expect(await (await tasks).json()).toEqual({ error: "EntryNotInstalled" });
  await expect(session.task.locator("option")).toHaveText(["(none)"]);
  await expect(page.getByRole("alert")).toHaveCount(0);
  await session.runTurn("say hello");
});
