import { expect, test } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

test("a turn shows its prompt, reasoning, tools and message", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("Use the job_boolean_true tool with the argument done. Then say goodbye.");
  const headers = await page.locator(".message-block-toggle").allTextContents();
  expect(headers[0]).toBe("User");
  expect(headers).toContain("Reasoning");
  expect(headers).toContain("Tool (job_boolean_true)");
  expect(headers.at(-1)).toBe("Message");
  await expect(session.of("message").last()).toContainText("goodbye");

  const tool = session.of("tool");
  await expect(session.body(tool)).toBeHidden();
  await tool.locator(".message-block-header").click();
  await expect(session.body(tool)).toContainText('"argument": "done"');
  await expect(session.body(tool)).toContainText("Result: done");
  await expect(session.awaiting).toHaveCSS("display", "none");
});

test("a new session takes a prompt at once", async ({ page, open }) => {
  await open("/");
  await page.locator("#start-button").click();
  // Shorter than the timeout of a live call.
  await expect(page.locator("#send-button")).toBeEnabled({ timeout: 3_000 });
});

test("what is said stays open, the rest folds, each by itself", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("Think about folding, then say done.");
  const [user, reasoning, message] = ["user", "reasoning", "message"].map((kind) =>
    session.of(kind).first(),
  );
  await expect(user).not.toHaveClass(/collapsed/);
  await expect(message).not.toHaveClass(/collapsed/);
  await expect(reasoning).toHaveClass(/collapsed/);
  await session.header(reasoning).click();
  await session.header(user).focus();
  await page.keyboard.press("Enter");
  await expect(user).toHaveClass(/collapsed/);

  await session.runTurn("say something else");
  await expect(user).toHaveClass(/collapsed/);
  await expect(reasoning).not.toHaveClass(/collapsed/);
});

test("a receiving block is low, raw, and does not fold", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.ask("Stream 100000 deltas with 5 ms between deltas after 0 ms.");
  const block = page.locator(".message-block.receiving");
  await expect(session.header(block)).toHaveText("Message [receiving...]");
  await expect(session.awaiting).toHaveCSS("display", "block");
  await expect
    .poll(() => session.body(block).evaluate((body) => body.scrollHeight))
    .toBeGreaterThan(150);
  expect(await session.body(block).evaluate((body) => body.clientHeight)).toBeLessThanOrEqual(150);
  await block.locator(".message-block-header").click();
  await expect(block).not.toHaveClass(/collapsed/);
  await expect(session.send).toBeDisabled();
  await session.abort.click();
  await session.ready();
});

test("Ctrl+Enter and Cmd+Enter send, and do nothing while the agent works", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.prompt.fill("Stream 100000 deltas with 5 ms between deltas after 0 ms.");
  await session.prompt.press("Control+Enter");
  await expect(session.send).toBeDisabled();
  await expect(session.of("user")).toHaveCount(1);
  await session.prompt.fill("say too early");
  await session.prompt.press("Control+Enter");
  await expect(session.prompt).toHaveValue("say too early");

  await session.abort.click();
  await session.ready();
  await expect(session.of("user")).toHaveCount(1);
  await session.prompt.press("Meta+Enter");
  await expect(session.of("user")).toHaveCount(2);
  await expect(session.prompt).toHaveValue("");
  await session.ready();
});

test("Abort ends the turn, keeps what was said, and the session goes on", async ({ page }) => {
  const session = await SessionPage.start(page);
  await expect(session.abort).toBeDisabled();
  await session.ask("Stream 100000 deltas with 5 ms between deltas after 0 ms.");
  await expect(session.of("message")).toContainText("<0:");
  await session.abort.click();
  await session.ready();
  await expect(session.of("message")).toHaveClass(/completed/);
  await expect(session.of("message")).toContainText("<0:");
  await session.runTurn("say still here");
  await expect(session.of("message").last()).toContainText("still here");
});

test("Markdown is shown as such, and raw when asked", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const session = await SessionPage.start(page);
  await session.runTurn("answer in Markdown");
  const message = session.of("message").last();
  await expect(message.locator("table")).toBeVisible();
  await expect(message.locator(".hl-keyword").first()).toBeVisible();

  await message.getByRole("button", { name: "Copy" }).click();
  await expect(message.getByRole("button", { name: "Copied" })).toBeVisible();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toBe(await message.locator("code").last().textContent());

  await message.getByRole("button", { name: "View Raw Data" }).click();
  await expect(message).not.toHaveClass(/collapsed/);
  await expect(message.locator("table")).toHaveCount(0);
  await expect(session.body(message)).toContainText("| fruit |");
  await message.getByRole("button", { name: "View Markdown" }).click();
  await expect(message.locator("table")).toBeVisible();
});

test("a hostile message stays inert", async ({ page, portal }) => {
  const session = await SessionPage.start(page);
  const hostile = [
    "# Hello",
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "[click](javascript:window.hacked=3)",
    "![picture](http://evil.example/x.png)",
    `[stop](${portal.url}/api/stop)`,
    "<svg onload='window.hacked = 4'>",
  ].join("\n\n");
  await session.ask(`reply with “${hostile}”`);
  await session.ready();
  for (const block of [session.of("user"), session.of("message").last()]) {
    await expect(block).toContainText("<script>");
    await expect(block.locator("script, img, svg, iframe")).toHaveCount(0);
    await expect(block.locator("a[href^=javascript]")).toHaveCount(0);
  }
  for (const link of await page.locator(".message-block a", { hasText: "stop" }).all()) {
    await link.click();
  }
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  expect((await page.request.get("/api/test")).status()).toBe(200);
  expect(page.context().pages()).toHaveLength(1);
});

test("a reload in mid-stream brings everything back, once", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("say first");
  await session.ask("Stream 300 deltas with 10 ms between deltas after 0 ms.");
  await expect(session.of("message").last()).toContainText("<20:");
  await page.reload();
  await session.ready();
  await expect(session.of("user")).toHaveCount(2);
  const text = await session.body(session.of("message").last()).textContent();
  const numbers = [...text!.matchAll(/<(\d+):/g)].map((match) => Number(match[1]));
  expect(numbers).toEqual(Array.from({ length: 300 }, (_, index) => index));
});

test("two tabs show the same, whoever asks", async ({ page, context }) => {
  const first = await SessionPage.start(page);
  const tab = await context.newPage();
  await tab.goto(page.url());
  const second = new SessionPage(tab);
  await second.ready();
  await first.runTurn("say from the first tab");
  await second.ready();
  await second.runTurn("say from the second tab");
  await first.ready();
  await expect(first.of("user")).toHaveCount(2);
  const texts = (session: SessionPage) => session.blocks.allTextContents();
  expect(await texts(first)).toEqual(await texts(second));
});

test("a lost connection is told, and nothing is lost or shown twice", async ({ page, watch }) => {
  watch.expect(/Failed to load resource/);
  const session = await SessionPage.start(page);
  await session.runTurn("say before");
  const live = "**/live/**";
  await page.route(live, (route) => route.abort("connectionreset"));
  await session.ask("Stream 100 deltas with 1 ms between deltas after 0 ms.");
  await expect(page.locator(".server-bar")).toContainText("Server unreachable. Retrying; your text is safe.");
  await expect(page.locator(".banner"), "it is said once").toHaveCount(0);
  await page.unroute(live);
  await session.ready();
  await expect(page.locator(".server-bar")).toHaveCount(0);
  await expect(session.of("user")).toHaveCount(2);
  const text = await session.body(session.of("message").last()).textContent();
  expect(text!.match(/<\d+:/g)).toHaveLength(100);
});

test("a prompt that could not be sent is not lost", async ({ page, watch }) => {
  watch.expect(/Failed to load resource/);
  const session = await SessionPage.start(page);
  await page.route("**/query", (route) => route.abort("connectionreset"));
  await session.ask("say it again");
  await expect(page.getByRole("alert")).toContainText("can't be reached");
  await expect(session.prompt).toHaveValue("say it again");
  await page.unroute("**/query");
  await session.send.click();
  await expect(session.of("message").last()).toContainText("it again");
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("the view follows the end unless the reader has scrolled up", async ({ page }) => {
  const session = await SessionPage.start(page);
  const fromEnd = () =>
    session.container.evaluate((c) => Math.round(c.scrollHeight - c.scrollTop - c.clientHeight));
  for (let turn = 0; turn < 3; turn++) await session.runTurn("answer in Markdown");
  await expect.poll(fromEnd).toBeLessThan(5);
  await session.container.evaluate((container) => container.scrollTo(0, 0));
  await expect.poll(fromEnd).toBeGreaterThan(100);
  // Somebody else asks: who sends a prompt here wants to see what comes of it.
  const id = new URL(page.url()).searchParams.get("session")!;
  await page.request.post(`/api/copilot/session/${id}/query`, { data: "say more" });
  await expect(session.of("message").last()).toContainText("more");
  await session.ready();
  expect(await session.container.evaluate((container) => container.scrollTop)).toBe(0);
  await session.runTurn("say the end");
  await expect.poll(fromEnd).toBeLessThan(5);
});

test("an error in the session is shown, and a crash ends it", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("fail with out of paper");
  await expect(session.header(session.of("failed"))).toHaveText("Message (Error)");
  await expect(session.of("failed")).toContainText("out of paper");
  await session.ask("crash");
  await expect(page.locator(".banner")).toContainText("This session has ended");
  await expect(session.send).toBeDisabled();
});

test("a session that is not there is said to be so", async ({ page, open }) => {
  await open("/index.html?session=session-00000000-0000-4000-8000-000000000000");
  await expect(page.locator(".banner")).toHaveText("This session has gone. Look in History.");
  await expect(page.locator("#session-state")).toHaveText("Gone");
  await expect(page.locator(".banner a")).toHaveAttribute("href", "/history.html");
  await open("/index.html?session=nonsense");
  await expect(page.locator("#session-note")).toContainText("names no session");
});

test("Close Session ends it and leaves a note", async ({ page }) => {
  const session = await SessionPage.start(page);
  const id = new URL(page.url()).searchParams.get("session")!;
  await session.ask("Stream 100000 deltas with 5 ms between deltas after 0 ms.");
  await page.locator("#close-session-button").click();
  await expect(page.locator("#session-note")).toContainText("session has ended");
  const answer = await page.request.post(`/api/copilot/session/${id}/query`, { data: "hello" });
  expect(await answer.json()).toEqual({ error: "SessionNotFound" });
});

test.describe("the bar above the request part", () => {
  const height = (session: SessionPage) =>
    session.page
      .locator("#request-part")
      .evaluate((part) => Math.round(part.getBoundingClientRect().height));

  test("starts at 300 px and follows mouse and keyboard", async ({ page }) => {
    const session = await SessionPage.start(page);
    expect(await height(session)).toBe(300);
    const bar = (await page.locator("#resize-bar").boundingBox())!;
    await page.mouse.move(600, bar.y);
    await page.mouse.down();
    await page.mouse.move(600, bar.y - 50, { steps: 3 });
    await page.mouse.up();
    expect(await height(session)).toBe(350);
    await page.locator("#resize-bar").press("ArrowDown");
    expect(await height(session)).toBe(334);
  });

  test.describe("on a phone", () => {
    test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

    test("follows a finger, and everything fits", async ({ page, context }) => {
      const session = await SessionPage.start(page);
      await session.runTurn("answer in Markdown");
      const before = await height(session);
      const bar = (await page.locator("#resize-bar").boundingBox())!;
      const touch = await context.newCDPSession(page);
      const at = (y: number) => [{ x: 195, y }];
      const dispatch = (type: string, touchPoints: object[]) =>
        touch.send("Input.dispatchTouchEvent", { type, touchPoints } as never);
      await dispatch("touchStart", at(bar.y));
      await dispatch("touchMove", at(bar.y - 30));
      await dispatch("touchMove", at(bar.y - 60));
      await dispatch("touchEnd", []);
      expect(await height(session)).toBe(before + 60);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBe(0);
      await expect(session.send).toBeInViewport();
    });
  });
});
