import { writeFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { test } from "../fixtures/folder.js";
import { Portal, expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

/** What the browser keeps under a key that begins so. */
const kept = (page: import("@playwright/test").Page, key: string) =>
  page.evaluate((key) => {
    const found = Object.keys(localStorage).find((one) => one.startsWith(key));
    return found ? localStorage.getItem(found) : null;
  }, key);

test("a session is started, prompted and answered without a mouse", async ({ page, folder, open }) => {
  await open("/");
  await page.locator("#working-dir").fill(folder);
  await expect(page.locator("#start-button")).toBeEnabled();
  await page.keyboard.press("Enter");
  const session = new SessionPage(page);
  await session.ready();
  await expect(session.prompt).toBeFocused();
  await page.keyboard.type(`use the createFile tool with the arguments {"path":"a.txt","content":"x"}`);
  await page.keyboard.press("Control+Enter");
  await expect(session.cards).toBeVisible();
  await expect(session.prompt).toBeFocused();
  const approve = session.cards.locator(".permission-approve");
  const isThere = () => approve.evaluate((it) => it === document.activeElement);
  for (let steps = 0; steps < 20 && !(await isThere()); steps++) await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await session.ready();
  await expect(session.of("tool")).toContainText("created a.txt");
  await page.keyboard.press("Control+L");
  await expect(session.prompt).toBeFocused();
});

test.describe("while the agent works", () => {
  test("prompts are queued in their order, and have their turns", async ({ page }) => {
    const session = await SessionPage.start(page);
    await expect(session.queue).toHaveCount(0);
    await session.keepBusy();
    await expect(session.abort).toHaveClass(/primary/);
    await expect(session.queue).toBeDisabled();
    await session.prompt.fill("say first");
    await expect(session.queue).toHaveClass(/primary/);
    await expect(session.abort).not.toHaveClass(/primary/);
    await session.prompt.press("Control+Enter");
    await expect(session.prompt, "Send is inert").toHaveValue("say first");
    await session.prompt.press("Control+Shift+Enter");
    await expect(session.prompt).toHaveValue("");
    await expect(session.prompt).toBeFocused();
    await session.prompt.fill("say second\nof two lines");
    await session.queue.click();
    await expect(session.queued.locator(".queue-text")).toHaveText([
      "queued: say first",
      "queued: say second",
    ]);
    await session.abort.click();
    await session.ready();
    await expect(session.queued).toHaveCount(0);
    await expect(session.body(session.of("user"))).toHaveText([
      "wait 60 seconds",
      "say first",
      "say second\nof two lines",
    ]);
  });

  test("prompts that are queued at once keep their order", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.keepBusy();
    let isFirst = true;
    await page.route("**/query", async (route) => {
      const isHeldUp = isFirst;
      isFirst = false;
      if (isHeldUp) await page.request.get("/api/copilot/models");
      await route.continue();
    });
    for (const prompt of ["say one", "say two", "say three"]) {
      await session.prompt.fill(prompt);
      await session.prompt.press("Control+Shift+Enter");
    }
    await expect(session.queued.locator(".queue-text")).toHaveText(["queued: say one", "queued: say two", "queued: say three"]);
  });

  test("queued prompts are edited in full, and removed", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.keepBusy();
    for (const prompt of ["say one\nand more", "say two"]) {
      await session.prompt.fill(prompt);
      await session.queue.click();
    }
    await expect(session.queued).toHaveCount(2);
    await session.queued.nth(0).getByRole("button", { name: "Edit" }).click();
    const editor = page.locator(".queue-editor");
    await expect(editor).toBeFocused();
    await expect(editor).toHaveValue("say one\nand more");
    await editor.press("Escape");
    await expect(editor).toHaveCount(0);
    await expect(page.locator("dialog[open]"), "Escape closed the editor, no more").toHaveCount(0);

    await session.queued.nth(0).getByRole("button", { name: "Edit" }).click();
    await editor.fill("say changed");
    await editor.press("Control+Enter");
    await expect(session.queued.locator(".queue-text").first()).toHaveText("queued: say changed");
    await session.queued.nth(1).getByRole("button", { name: "Remove" }).click();
    await expect(session.queued).toHaveCount(1);
    await page.reload();
    await expect(session.queued.locator(".queue-text")).toHaveText(["queued: say changed"]);
    await session.abort.click();
    await session.ready();
    await expect(session.body(session.of("user")).last()).toHaveText("say changed");
  });

  test("a prompt whose turn begins while it is edited goes into the box", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.keepBusy();
    await session.prompt.fill("say one");
    await session.queue.click();
    await session.queued.getByRole("button", { name: "Edit" }).click();
    await page.locator(".queue-editor").fill("say something else");
    await session.abort.click();
    await session.ready();
    await expect(session.prompt).toHaveValue("say something else");
    await expect(page.locator("#request-problem")).toContainText("Too late");
  });

  test("a prompt is handed to the running turn, from the box and from the queue", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.ask("Stream 150 deltas with 20 ms between deltas after 0 ms.");
    await session.prompt.fill("say steered");
    await session.steer.click();
    await expect(session.prompt).toHaveValue("");
    await session.prompt.fill("say from the queue");
    await session.queue.click();
    await session.queued.filter({ hasText: "from the queue" }).getByRole("button", { name: "Steer" }).click();
    await session.ready();
    await expect(session.queued).toHaveCount(0);
    await expect(session.body(session.of("message"))).toContainText(["<149:", "steered", "from the queue"]);
  });

  test("where the model takes no prompts in its turn, the first in the queue can end it", async ({ page }) => {
    await page.route("**/api/copilot/session", async (route) => {
      const { sessions } = await (await route.fetch()).json();
      await route.fulfill({ json: { sessions: sessions.map((one: object) => ({ ...one, canSteer: false })) } });
    });
    const session = await SessionPage.start(page);
    await session.keepBusy();
    for (const prompt of ["wait 60 seconds, say one", "say two"]) {
      await session.prompt.fill(prompt);
      await session.queue.click();
    }
    await session.prompt.fill("typed");
    await expect(session.queued).toHaveCount(2);
    await expect(session.steer).toHaveCount(0);
    await expect(session.queued.nth(1).getByRole("button")).toHaveText(["Edit", "Remove"]);
    await session.queued.nth(0).getByRole("button", { name: "Send now" }).click();
    await expect(session.queued.locator(".queue-text")).toHaveText(["queued: say two"]);
    await expect(session.body(session.of("user")).last()).toHaveText("wait 60 seconds, say one");
    await session.queued.getByRole("button", { name: "Remove" }).click();
    await expect(session.queued).toHaveCount(0);
    await session.abort.click();
    await session.ready();
    await expect(session.of("user")).toHaveCount(2);
    await expect(session.prompt).toHaveValue("typed");
  });

  test("Escape aborts after asking once", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.prompt.press("Escape");
    const question = page.locator("dialog[open]");
    await expect(question).toHaveCount(0);
    await session.keepBusy();
    await session.prompt.fill("/");
    await expect(session.completions.first()).toBeVisible();
    await session.prompt.press("Escape");
    await expect(session.completions).toHaveCount(0);
    await expect(question, "pop-ups close first").toHaveCount(0);
    await session.prompt.press("Escape");
    await expect(question).toContainText("Abort the running turn?");
    await page.keyboard.press("Escape");
    await expect(question).toHaveCount(0);
    await expect(session.abort).toBeEnabled();
    await session.container.focus();
    await page.keyboard.press("Escape");
    await question.getByRole("button", { name: "Abort" }).click();
    await session.ready();
  });

  test("a task is not queued, and stays", async ({ page }) => {
    const session = await SessionPage.start(page);
    await page.route("**/api/copilot/task", (route) =>
      route.fulfill({ json: { tasks: [{ name: "review", requireUserInput: false }] } }),
    );
    await page.reload();
    await session.ready();
    await session.keepBusy();
    await session.prompt.fill("/review this");
    await session.queue.click();
    await expect(page.locator("#request-problem")).toContainText("Only prompts can be queued");
    await expect(session.prompt).toHaveValue("/review this");
  });
});

test.describe("what was typed", () => {
  test("survives a reload, each in its session", async ({ page }) => {
    const session = await SessionPage.start(page);
    const address = page.url();
    await session.prompt.fill("half a\nthought");
    await expect.poll(() => kept(page, "draft:")).toBe("half a\nthought");
    await page.reload();
    await expect(session.prompt).toHaveValue("half a\nthought");
    await session.prompt.fill("changed at the last moment");
    await page.reload();
    await expect(session.prompt).toHaveValue("changed at the last moment");

    await SessionPage.start(page);
    await expect(session.prompt).toHaveValue("");
    await page.goto(address);
    await expect(session.prompt).toHaveValue("changed at the last moment");
    await session.ready();
    await session.prompt.fill("say sent");
    await session.send.click();
    await expect.poll(() => kept(page, "draft:")).toBeNull();
  });

  test("is kept until it is taken, and comes back if it is not", async ({ page, watch }) => {
    watch.expect(/Failed to load resource/);
    const session = await SessionPage.start(page);
    let refuse = () => {};
    await page.route("**/query", async (route) => {
      await new Promise<void>((resolve) => (refuse = resolve));
      await route.abort("connectionreset");
    });
    await session.prompt.fill("say it again");
    await expect.poll(() => kept(page, "draft:")).toBe("say it again");
    await session.send.click();
    await expect(session.prompt).toHaveValue("");
    await session.prompt.fill("and more");
    expect(await kept(page, "draft:")).toBe("say it again");
    refuse();
    await expect(session.prompt).toHaveValue("say it again\nand more");
    await expect.poll(() => kept(page, "draft:")).toBe("say it again\nand more");
  });

  test("goes on in the session that continues a closed one", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.runTurn("say hello");
    await session.prompt.fill("to be continued");
    await expect.poll(() => kept(page, "draft:")).toBe("to be continued");
    const id = new URL(page.url()).searchParams.get("session")!;
    await page.request.post(`/api/copilot/session/${id}/stop`);
    await page.locator("#continue-button").click();
    await expect(page).not.toHaveURL(new RegExp(id));
    await expect(session.prompt).toHaveValue("to be continued");
  });
});

test("arrow up in an empty box brings earlier prompts, of other sessions as well", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("say one");
  await SessionPage.start(page);
  await session.runTurn("say two\nlines");
  await session.prompt.press("ArrowUp");
  await expect(session.prompt).toHaveValue("say two\nlines");
  await session.prompt.press("ArrowUp");
  await expect(session.prompt).toHaveValue("say one");
  await session.prompt.press("ArrowDown");
  await expect(session.prompt).toHaveValue("say two\nlines");
  await session.prompt.press("ArrowDown");
  await expect(session.prompt).toHaveValue("");
  await session.prompt.fill("typed");
  await session.prompt.press("ArrowUp");
  await expect(session.prompt).toHaveValue("typed");
});

test("keys that belong to an input method do nothing else", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.prompt.fill("say 日本");
  const typed = await session.prompt.evaluate((box) => {
    const press = (more: object) =>
      box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true, ...more }));
    return [press({ isComposing: true }), press({ keyCode: 229 })];
  });
  expect(typed, "the browser handles them").toEqual([true, true]);
  await expect(session.prompt).toHaveValue("say 日本");
  await session.prompt.press("Control+Enter");
  await expect(session.prompt).toHaveValue("");
});

test("Enter sends for those who want it, and it is remembered", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.prompt.fill("a");
  await session.prompt.press("Enter");
  await expect(session.prompt).toHaveValue("a\n");
  await page.locator("#enter-sends").check();
  await page.reload();
  await expect(page.locator("#enter-sends")).toBeChecked();
  await session.ready();
  await session.prompt.fill("say sent");
  await session.prompt.press("Shift+Enter");
  await expect(session.prompt).toHaveValue("say sent\n");
  await session.prompt.press("Enter");
  await expect(session.prompt).toHaveValue("");
  await expect(session.of("message")).toContainText("sent");
});

test("the box grows with its text up to what the bar allows", async ({ page }) => {
  const session = await SessionPage.start(page);
  const height = async () => (await session.prompt.boundingBox())!.height;
  const scrolls = () => session.prompt.evaluate((box) => box.scrollHeight > box.clientHeight);
  const part = page.locator("#request-part");
  const low = await height();
  await session.prompt.fill("line\n".repeat(5));
  expect(await height()).toBeGreaterThan(low + 30);
  expect(await scrolls()).toBe(false);
  await session.prompt.fill("line\n".repeat(60));
  const high = await height();
  expect(await scrolls()).toBe(true);
  const [box, around] = [(await page.locator(".composer").boundingBox())!, (await part.boundingBox())!];
  expect(Math.round(around.height)).toBe(300);
  expect(box.y).toBeGreaterThanOrEqual(around.y);
  await expect(session.send).toBeInViewport({ ratio: 1 });
  await page.locator("#resize-bar").press("Shift+ArrowUp");
  expect(Math.round((await height()) - high)).toBe(80);
});

test.describe("completions", () => {
  test.beforeEach(async ({ folder }) => {
    await mkdir(path.join(folder, "src"));
    for (const name of ["main.rs", "margin.rs", "other.txt"]) {
      await writeFile(path.join(folder, "src", name), "");
    }
  });

  test("@ completes files of the folder, by keys", async ({ page, folder }) => {
    const session = await SessionPage.startIn(page, folder);
    await session.prompt.pressSequentially("mail me@ma");
    await expect(session.completions).toHaveCount(0);
    await session.prompt.fill("");
    await session.prompt.pressSequentially("see @ma");
    await expect(session.completions).toHaveText(["src/main.rs", "src/margin.rs"]);
    await expect(session.prompt).toHaveAttribute("aria-controls", "completions");
    await expect(session.prompt).toHaveAttribute("aria-activedescendant", "completion-0");
    await session.prompt.press("ArrowDown");
    await expect(session.marked).toHaveText("src/margin.rs");
    await expect(session.prompt).toHaveAttribute("aria-activedescendant", "completion-1");
    await session.prompt.press("ArrowDown");
    await expect(session.marked).toHaveText("src/main.rs");
    await session.prompt.press("ArrowUp");
    await session.prompt.press("Tab");
    await expect(session.prompt).toHaveValue("see @src/margin.rs ");
    await expect(session.prompt).toBeFocused();
    await expect(session.completions).toHaveCount(0);
    await session.prompt.pressSequentially("and @oth");
    await expect(session.completions).toHaveText(["src/other.txt"]);
    await session.prompt.press("Enter");
    await expect(session.prompt).toHaveValue("see @src/margin.rs and @src/other.txt ");
    await session.prompt.pressSequentially("@");
    await expect(session.completions).not.toHaveCount(0);
    await session.prompt.press("Escape");
    await expect(session.completions).toHaveCount(0);
    await expect(session.prompt).not.toHaveAttribute("aria-activedescendant");
  });

  test("/ at the start offers commands, which the page obeys", async ({ page }) => {
    const session = await SessionPage.start(page);
    await session.prompt.pressSequentially("see /");
    await expect(session.completions).toHaveCount(0);
    await session.prompt.fill("");
    await session.prompt.pressSequentially("/bud");
    await expect(session.completions).toHaveText(/^budget/);
    await session.prompt.press("Enter");
    await expect(page.locator("#budget-panel")).toBeVisible();
    await expect(session.prompt).toHaveValue("");
    await page.keyboard.press("Escape");
    await session.prompt.fill("/rename");
    await session.prompt.press("Control+Enter");
    await expect(page.locator("#title-input")).toBeFocused();
  });

  test.describe("with tasks", () => {
    let portal: Portal;
    test.beforeAll(async () => {
      portal = await Portal.startWith("browser_tasks.json");
    });
    test.afterAll(() => portal.stop());
    test.beforeEach(({ watch }) => watch.own(portal.url));

    test("/ and the name of a task start it with what follows", async ({ page }) => {
      const session = await SessionPage.start(page, portal.url);
      await session.prompt.pressSequentially("/suc");
      await expect(session.marked).toContainText("succeed");
      await session.prompt.press("Tab");
      await expect(session.prompt).toHaveValue("/succeed ");
      await session.prompt.press("Control+Enter");
      await expect(session.titled("TaskDecision").last()).toContainText("[TASK SUCCEEDED]");
      await session.ready();
      await session.prompt.fill("/repeat");
      await session.send.click();
      await expect(page.getByRole("alert")).toContainText("needs input");
      await expect(session.prompt).toHaveValue("/repeat");
    });
  });
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("choices are behind a button, Enter begins a line, and nothing takes the focus", async ({ page, folder }) => {
    await writeFile(path.join(folder, "main.rs"), "");
    const session = await SessionPage.startIn(page, folder);
    await expect(session.prompt).not.toBeFocused();
    await expect(session.permissions).toBeHidden();
    await page.locator("#choices-button").tap();
    await expect(session.permissions).toBeVisible();
    await session.permissions.selectOption("deny");
    await page.locator(".session-response-container").tap();
    await expect(session.permissions).toBeHidden();

    await session.prompt.tap();
    await page.keyboard.type("a");
    await page.keyboard.press("Enter");
    await expect(session.prompt).toHaveValue("a\n");
    await page.keyboard.type("@ma");
    await session.completions.tap();
    await expect(session.prompt).toHaveValue("a\n@main.rs ");
    await session.prompt.fill("wait 60 seconds");
    await session.send.tap();
    for (const button of [session.abort, session.queue, page.locator("#choices-button"), page.locator("#session-more")]) {
      expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(44);
    }
  });

  /** The heights of the header, the conversation and the part below it. */
  const parts = (page: import("@playwright/test").Page) =>
    page.evaluate(() => {
      const height = (id: string) => document.getElementById(id)!.getBoundingClientRect().height;
      const bottom = document.getElementById("request-part")!.getBoundingClientRect().bottom;
      return { header: height("session-header"), said: height("session-part"), request: height("request-part"), bottom };
    });

  test("with the keyboard open the conversation keeps half of what is left", async ({ page }) => {
    await page.addInitScript(() => {
      const height = Object.getOwnPropertyDescriptor(VisualViewport.prototype, "height")!.get!;
      const fake = window as { keyboard?: number };
      Object.defineProperty(VisualViewport.prototype, "height", {
        get() {
          return height.call(this) - (fake.keyboard ?? 0);
        },
      });
    });
    const session = await SessionPage.start(page);
    await session.runTurn("answer in Markdown");
    await session.prompt.fill("line\n".repeat(30));
    const whole = await parts(page);
    expect(whole.request).toBeLessThanOrEqual(844 * 0.4);
    for (const keyboard of [340, 480]) {
      await page.evaluate((keyboard) => {
        (window as { keyboard?: number }).keyboard = keyboard;
        window.visualViewport!.dispatchEvent(new Event("resize"));
      }, keyboard);
      const visible = 844 - keyboard;
      await expect.poll(async () => (await parts(page)).bottom).toBeLessThanOrEqual(visible);
      const { header, said, request } = await parts(page);
      expect(said, `${keyboard}`).toBeGreaterThanOrEqual((visible - header) / 2 - 1);
      expect(request).toBeLessThanOrEqual(visible * 0.4);
      const [box, send] = [(await session.prompt.boundingBox())!, (await session.send.boundingBox())!];
      expect(box.height).toBeGreaterThanOrEqual(40);
      expect(send.y + send.height).toBeLessThanOrEqual(visible);
    }
    await page.evaluate(() => {
      (window as { keyboard?: number }).keyboard = 0;
      window.visualViewport!.dispatchEvent(new Event("resize"));
    });
    await expect.poll(() => parts(page)).toEqual(whole);
  });

  test("in a low window, too", async ({ page }) => {
    const session = await SessionPage.start(page);
    await page.setViewportSize({ width: 390, height: 430 });
    await session.prompt.fill("line\n".repeat(30));
    const { header, said } = await parts(page);
    expect(said).toBeGreaterThanOrEqual((430 - header) / 2 - 1);
    await expect(session.send).toBeInViewport({ ratio: 1 });
  });
});
