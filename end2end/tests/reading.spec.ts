import { type Locator } from "@playwright/test";
import { test } from "../fixtures/folder.js";
import { expect, hydrated } from "../fixtures/portal.js";
import { Portal } from "../fixtures/server.js";
import { SessionPage } from "../fixtures/session.js";

const ENDLESS = "Stream 100000 deltas with 5 ms between deltas after 0 ms.";

/** A prompt that calls one tool after the other, and is done. */
function calls(...tools: [name: string, args: object][]): string {
  const calls = tools.map(([name, args]) => `use the ${name} tool with the arguments ${JSON.stringify(args)}`);
  return `${calls.join(", then ")}, then say done`;
}

test("a block that receives is shown in full when asked, and so are later ones", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.ask(ENDLESS);
  const block = page.locator(".message-block.receiving");
  const height = () => session.body(block).evaluate((body) => body.clientHeight);
  await expect.poll(() => session.body(block).evaluate((body) => body.scrollHeight)).toBeGreaterThan(300);
  expect(await height()).toBeLessThanOrEqual(150);
  await block.getByRole("button", { name: "Expand" }).click();
  await expect(block).toHaveClass(/expanded/);
  await expect.poll(height).toBeGreaterThan(300);
  await session.abort.click();
  await session.ready();

  await page.reload();
  await session.ready();
  await session.ask(ENDLESS);
  await expect(block).toHaveClass(/expanded/);
  await block.getByRole("button", { name: "Shrink" }).click();
  await expect(block).not.toHaveClass(/expanded/);
  await expect.poll(height).toBeLessThanOrEqual(150);
  await session.abort.click();
  await session.ready();
});

test("an expanded block is Markdown while it grows, and the same at its end", async ({ page, folder, watch }) => {
  const portal = await Portal.start("--simulated-delta-ms", "80");
  watch.own(portal.url);
  try {
    const session = await SessionPage.startIn(page, folder, "ask", portal.url);
    const paragraphs = Array.from({ length: 200 }, (_, index) => `## Part ${index}\n\nSome **bold ${index}** words about it.`);
    const code = "```rust\nfn main() {}\n```";
    await session.ask(`say “${[code, ...paragraphs].join("\n\n")}”`);
    const block = page.locator(".message-block.receiving.message");
    await block.getByRole("button", { name: "Expand" }).click();
    await expect(session.body(block).locator(".heading-2").nth(1)).toHaveText("Part 1");
    await expect(session.body(block).locator("strong").first()).toHaveText("bold 0");
    await expect(session.body(block).locator(".hl-keyword").first()).toHaveText("fn");
    await session.abort.click();
    await session.ready();
    const message = session.of("message").last();
    await expect(session.body(message).locator(".heading-2").nth(1)).toHaveText("Part 1");
    await message.getByRole("button", { name: "View Raw Data" }).click();
    await expect(session.body(message)).toContainText("## Part 1");
    // Nothing of the page is left that asks a server that is gone.
    await page.goto("about:blank");
  } finally {
    await portal.stop();
  }
});

test("one line says what a tool did, and its parts stand apart", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder, "approve-all");
  await session.runTurn(calls(["createFile", { path: "a.txt", content: "one\ntwo\n" }], ["readFiles", { files: ["none.txt"] }]));
  const [created, read] = [session.of("tool").first(), session.of("tool").last()];
  await expect(session.header(created)).toHaveText("Tool (createFile)");
  const summary = created.locator(".message-block-summary");
  await expect(summary).toContainText("Created");
  await expect(summary.locator("code")).toHaveText("a.txt");
  await expect(summary.locator(".added")).toHaveText("+2");
  await expect(summary.locator("svg")).toHaveCount(1);
  await expect(summary.locator(".outcome")).toHaveCount(0);

  await session.header(created).click();
  const parts = created.locator(".message-block-part");
  await expect(parts.first()).toContainText("Arguments");
  await expect(parts.last()).toContainText("Result: ");
  await expect(session.body(read)).toBeHidden();
});

test("on a phone, what a tool does stays within its block", async ({ page, folder }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const session = await SessionPage.startIn(page, folder, "ask");
  await session.askForFile("a-name-that-is-so-long-that-it-does-not-fit-into-one-line-of-a-phone.txt", "two");
  const block = page.locator(".message-block.tool.receiving");
  const right = async (inside: Locator) => {
    const { x, width } = (await inside.boundingBox())!;
    return x + width;
  };
  const expand = block.getByRole("button", { name: "Expand" });
  expect(await right(expand)).toBeLessThanOrEqual(await right(block));
  expect(await right(block.locator(".message-block-summary"))).toBeLessThanOrEqual((await expand.boundingBox())!.x + 1);
  await session.abort.click();
  await session.ready();
});

test("what failed, was denied or aborted says so in a word", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder, "deny");
  await session.runTurn(calls(["createFile", { path: "a.txt", content: "one" }]));
  const outcome = page.locator(".message-block-summary .outcome");
  await expect(outcome).toHaveText("denied");
  await session.runTurn(calls(["readFiles", { nonsense: true }]));
  await expect(outcome.last()).toHaveText("failed");
  await session.permissions.selectOption("ask");
  await session.askForFile("b.txt", "two");
  await expect(session.cards).toBeVisible();
  await session.abort.click();
  await session.ready();
  await expect(outcome.last()).toHaveText("aborted");
  await expect(page.locator(".turn-end[data-state=canceled]")).toContainText("Aborted");
});

test("reads and searches in a row are one row, which opens", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder, "approve-all");
  await session.runTurn(calls(["createFile", { path: "a.txt", content: "one" }]));
  await session.runTurn(calls(["readFiles", { files: ["a.txt"] }], ["searchFiles", { query: "one" }], ["listFiles", {}]));
  const row = page.locator(".group-row");
  await expect(row).toHaveText(/Looked around · 1 file, 2 searches/);
  await expect(row).toHaveAttribute("aria-expanded", "false");
  const inside = session.of("tool").filter({ hasNotText: "createFile" });
  await expect(inside).toHaveCount(3);
  for (const block of await inside.all()) await expect(block.locator(".message-block-summary")).toBeHidden();
  await row.focus();
  await page.keyboard.press("Enter");
  await expect(row).toHaveAttribute("aria-expanded", "true");
  for (const block of await inside.all()) await expect(block.locator(".message-block-summary")).toBeVisible();

  // A failure is never inside of a group.
  await session.runTurn(calls(["readFiles", { files: ["a.txt"] }], ["readFiles", { nonsense: 1 }], ["listFiles", {}]));
  await expect(row).toHaveCount(1);
});

test("a turn that failed can be tried again, with its prompt", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("fail with out of paper");
  const end = page.locator(".turn-end");
  await expect(end).toContainText("The turn failed");
  await end.getByRole("button", { name: "Retry" }).click();
  await expect(session.of("user")).toHaveCount(2);
  await session.ready();
  await expect(session.body(session.of("user").last())).toHaveText("fail with out of paper");
  // Only the last one offers it.
  await expect(end).toHaveCount(2);
  await expect(end.getByRole("button")).toHaveCount(1);
});

test("who scrolls up is left alone, told what is new, and led back", async ({ page }) => {
  const session = await SessionPage.start(page);
  for (let turn = 0; turn < 3; turn++) await session.runTurn("answer in Markdown");
  const fromEnd = () =>
    session.container.evaluate((view) => Math.round(view.scrollHeight - view.scrollTop - view.clientHeight));
  await expect.poll(fromEnd).toBeLessThan(5);
  await session.container.hover();
  // Less than what counts as the end for who scrolls down.
  await page.mouse.wheel(0, -30);
  const jump = page.locator(".jump-latest");
  await expect(jump).toHaveText("Latest");
  const top = () => session.container.evaluate((view) => view.scrollTop);
  const end = await top();
  await page.mouse.wheel(0, -600);
  await expect.poll(top).toBeLessThanOrEqual(end - 600);
  const before = await top();
  await page.request.post(`/api/copilot/session/${new URL(page.url()).searchParams.get("session")}/query`, { data: "say more" });
  await expect(jump).toHaveText(/Latest · \d+ new/);
  expect(Math.abs((await top()) - before)).toBeLessThan(3);
  await jump.click();
  await expect.poll(fromEnd).toBeLessThan(5);
  await expect(jump).toHaveCount(0);
});

test("a selection is kept in view while an answer streams in", async ({ page }) => {
  const session = await SessionPage.start(page);
  for (let turn = 0; turn < 2; turn++) await session.runTurn("answer in Markdown");
  const selected = session.of("message").nth(1).locator("p").last();
  await selected.selectText();
  await expect(page.locator(".jump-latest")).toBeVisible();
  const before = (await selected.boundingBox())!.y;
  await session.prompt.focus();
  await page.request.post(`/api/copilot/session/${new URL(page.url()).searchParams.get("session")}/query`, {
    data: "answer in Markdown",
  });
  await expect(session.of("user")).toHaveCount(3);
  await session.ready();
  expect(Math.abs((await selected.boundingBox())!.y - before)).toBeLessThan(3);
});

test("blocks out of view are plain text, found by the browser, and rendered when they come near", async ({ page }) => {
  const session = await SessionPage.start(page);
  const api = `/api/copilot/session/${new URL(page.url()).searchParams.get("session")}/query`;
  const text = `# Title\n\n${"A **bold** line of an answer that is long enough to wrap around. ".repeat(40)}`;
  for (let turn = 0; turn < 12; turn++) await page.request.post(api, { data: `say “${text}”` });
  await expect(session.of("message")).toHaveCount(12, { timeout: 30_000 });
  await session.ready();
  await page.reload();
  await hydrated(page);
  await expect(session.of("message").last().locator(".heading-1")).toBeVisible();
  const first = session.of("message").first();
  await expect(session.body(first)).toHaveClass(/raw/);
  await expect(session.body(first)).toContainText("**bold**");
  await session.container.evaluate((view) => view.scrollTo(0, 0));
  await expect(first.locator(".heading-1")).toHaveText("Title");
});

test("the browser's search opens what is folded", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder, "approve-all");
  await session.runTurn("Think about herons, then say done.");
  const reasoning = session.of("reasoning").first();
  const body = session.body(reasoning);
  await expect(body).toHaveAttribute("hidden", "until-found");
  // What the browser does before it shows a match.
  await body.dispatchEvent("beforematch", { bubbles: true });
  await expect(reasoning).not.toHaveClass(/collapsed/);
  await expect(body).not.toHaveAttribute("hidden");
});

test("the end of an answer is announced once, and nothing that streams is", async ({ page }) => {
  const session = await SessionPage.start(page);
  await expect(session.container).toHaveAttribute("aria-live", "off");
  await session.runTurn("say hello");
  await expect(page.locator(".session-response-container > [role=status]")).toHaveText("Answer complete");
});
