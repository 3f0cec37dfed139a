import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "../fixtures/folder.js";
import { expect, hydrated } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

test("a file is made once that is approved", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder);
  await session.askForFile("a.txt", "hi");
  const card = session.cards;
  await expect(card.locator(".permission-title")).toContainText("a.txt");
  await expect(card).toContainText("hi");
  await expect(session.hint).toHaveText("Waits for you: create a.txt?");
  await expect(page).toHaveTitle(/^\(\?\) /);
  expect(existsSync(path.join(folder, "a.txt"))).toBe(false);

  await card.locator(".permission-approve").click();
  await expect(card.locator(".permission-outcome")).toContainText("Approved once");
  await expect(card.locator("button")).toHaveCount(0);
  await session.ready();
  expect(readFileSync(path.join(folder, "a.txt"), "utf8")).toBe("hi");
  await expect(session.hint).toHaveCount(0);
  await expect(page).not.toHaveTitle(/^\(\?\) /);
});

test("what is denied is not done, and everybody hears of it", async ({ page, context, folder }) => {
  const session = await SessionPage.startIn(page, folder);
  const other = await context.newPage();
  await other.goto(page.url());
  await hydrated(other);
  await session.askForFile("a.txt", "hi");
  const seen = new SessionPage(other).cards;
  await expect(seen.locator(".permission-deny")).toBeVisible();
  await session.cards.locator(".permission-deny").click();
  for (const card of [session.cards, seen]) {
    await expect(card.locator(".permission-outcome")).toContainText("Denied");
  }
  await session.ready();
  expect(existsSync(path.join(folder, "a.txt"))).toBe(false);

  // A later viewer sees it, too.
  await other.reload();
  await expect(seen.locator(".permission-outcome")).toContainText("Denied");
});

test("always says what it covers, and means it in this session", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder);
  await session.askForFile("a.txt", "one");
  const always = session.cards.locator(".permission-always");
  await expect(always).toHaveText("Always: new files in the workspace's top folder");
  await always.click();
  await session.ready();
  await session.askForFile("b.txt", "two");
  await expect(session.of("tool")).toHaveCount(2);
  await session.ready();
  expect(readFileSync(path.join(folder, "b.txt"), "utf8")).toBe("two");
  await expect(session.cards.locator(".permission-outcome")).toHaveCount(1);
});

test("a file that runs later is not approved for ever", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder);
  await session.askForFile(".envrc", "one");
  await expect(session.cards.locator(".permission-approve")).toBeVisible();
  await expect(session.cards.locator(".permission-always")).toHaveCount(0);
  await session.cards.locator(".permission-deny").click();
  await session.ready();
});

test("a change is shown line by line, as text", async ({ page, folder }) => {
  await writeFile(path.join(folder, "a.html"), "<b>one</b>\ntwo\n");
  const session = await SessionPage.startIn(page, folder);
  await session.runTurn('use the readFiles tool with the arguments {"files":["a.html"]}');
  const edit = JSON.stringify({ path: "a.html", content: "<i>one</i>\ntwo\n" });
  await session.ask(`use the editFile tool with the arguments ${edit}`);
  const diff = session.cards.locator(".permission-diff");
  await expect(diff.locator(".diff-removed")).toHaveText("-<b>one</b>");
  await expect(diff.locator(".diff-added")).toHaveText("+<i>one</i>");
  await expect(diff.locator(".diff-hunk")).toHaveCount(1);
  await session.abort.click();
  await expect(session.cards.locator(".permission-outcome")).toContainText("Withdrawn");
});

test("the keyboard is enough, also on a phone", async ({ page, folder }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const session = await SessionPage.startIn(page, folder);
  await session.askForFile("a.txt", `${"word ".repeat(300)}\n`.repeat(3));
  await expect(session.cards.locator(".permission-deny")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await session.hint.focus();
  await page.keyboard.press("Enter");
  await expect(session.cards.locator(".permission-approve")).toBeFocused();
  await page.keyboard.press("Enter");
  await session.ready();
  await expect(session.cards.locator(".permission-outcome")).toContainText("Approved once");
  expect(existsSync(path.join(folder, "a.txt"))).toBe(true);
});

for (const { name, ...viewport } of [
  { name: "on a desk", width: 1280, height: 800 },
  { name: "on a phone", width: 390, height: 844 },
]) {
  test.describe(name, () => {
    test.use({ viewport });

    test("a card says what is asked, where, and which of how many", async ({ page, folder }) => {
      const session = await SessionPage.startIn(page, folder);
      await session.askForFile("a.txt", "hi");
      const card = session.cards.first();
      await expect(card.locator(".permission-title")).toHaveText("Create a.txt?");
      await expect(card.locator(".permission-folder")).toHaveAttribute("title", folder);
      await expect(card.locator(".permission-count")).toHaveCount(0);
      const label = (name: string) => card.locator(`.permission-${name}`);
      await expect(label("approve")).toHaveText(/^Approve once/);
      await expect(label("always")).toHaveText("Always: new files in the workspace's top folder");
      await expect(label("deny")).toHaveText(/^Deny/);
      await expect(label("why")).toHaveText("Deny, say why …");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width);
      if (viewport.width < 768) {
        for (const button of await card.locator(".permission-buttons button").all()) {
          expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(44);
        }
        const [all, approve] = [await card.boundingBox(), await label("approve").boundingBox()];
        expect(approve!.width).toBeGreaterThan(all!.width - 40);
      }
      // The card alone speaks.
      await expect(session.body(session.of("tool"))).toBeHidden();
      await label("why").click();
      await expect(card.getByLabel("Why it is denied")).toBeFocused();
      await page.keyboard.type("y, not yet");
      await expect(card.locator(".permission-outcome")).toHaveCount(0);
      await page.keyboard.press("Control+Enter");
      await expect(card.locator(".permission-outcome")).toContainText("Denied");
      await session.ready();
      await expect(session.of("tool").last()).toContainText("y, not yet");
    });
  });
}

test("Y approves and N denies the card that has the focus, and nothing else", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder);
  await session.askForFile("a.txt", "hi");
  const first = session.cards.first();
  await expect(first.locator(".permission-approve")).toBeVisible();
  await session.prompt.focus();
  await page.keyboard.type("y");
  await expect(session.prompt).toHaveValue("y");
  await first.focus();
  await page.keyboard.press("Control+Alt+y");
  await expect(first.locator(".permission-outcome")).toHaveCount(0);
  await page.keyboard.press("y");
  await expect(first.locator(".permission-outcome")).toContainText("Approved once");
  await session.ready();
  expect(readFileSync(path.join(folder, "a.txt"), "utf8")).toBe("hi");
  // Answered once, it hears no keys any more.
  await expect(first).not.toHaveAttribute("tabindex");

  await session.askForFile("b.txt", "hi");
  const second = session.cards.nth(1);
  await second.locator(".permission-approve").focus();
  await page.keyboard.press("n");
  await expect(second.locator(".permission-outcome")).toContainText("Denied");
  await session.ready();
  expect(existsSync(path.join(folder, "b.txt"))).toBe(false);
});

test("the mode of a running session can be changed", async ({ page, folder }) => {
  const session = await SessionPage.startIn(page, folder, "deny");
  await expect(session.permissions).toHaveValue("deny");
  await session.askForFile("a.txt", "hi");
  await expect(session.of("tool")).toHaveClass(/failed/);
  await session.ready();
  expect(existsSync(path.join(folder, "a.txt"))).toBe(false);

  const changed = page.waitForResponse(/\/permissions$/);
  await session.permissions.selectOption("approve-all");
  await changed;
  await session.askForFile("b.txt", "hi");
  await expect(session.of("tool")).toHaveCount(2);
  await session.ready();
  expect(existsSync(path.join(folder, "b.txt"))).toBe(true);
  await expect(session.cards.locator(".permission-approve")).toHaveCount(0);
  await page.reload();
  await expect(session.permissions).toHaveValue("approve-all");
});

test("what was used is told", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("count 1200 input tokens and 34 output tokens");
  await expect(session.usage).toHaveText("1.2k tokens in, 34 out");
  await session.runTurn("count 800 input tokens and 6 output tokens");
  await expect(session.usage).toHaveText(
    "Last turn: 800 tokens in, 6 out · In all: 2k tokens in, 40 out",
  );
  await page.reload();
  await expect(session.usage).toHaveText(/In all: 2k tokens in, 40 out$/);
});
