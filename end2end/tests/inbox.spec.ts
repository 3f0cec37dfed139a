import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "../fixtures/folder.js";
import { InboxPage } from "../fixtures/inbox.js";
import { Portal, expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

test.describe("the inbox", () => {
  test("a question of another tab is seen and answered there", async ({ page, context, folder }) => {
    const session = await SessionPage.startIn(page, folder);
    const inbox = await InboxPage.open(await context.newPage());
    await session.askForFile("a.txt", "hi");
    const item = inbox.item(folder);
    await expect(item.card.locator(".permission-title")).toHaveText("Create a.txt?");
    await expect(item.card).toContainText("hi");
    await expect(inbox.page).toHaveTitle(/^\(\d+\) Inbox/);
    await item.card.locator(".permission-approve").click();
    await expect(item.row).toHaveCount(0);
    await session.ready();
    await expect(session.cards.locator(".permission-outcome")).toContainText("Approved once");
    expect(readFileSync(path.join(folder, "a.txt"), "utf8")).toBe("hi");
    await expect(inbox.answered.first()).toContainText("Create a.txt");
    await expect(inbox.answered.first()).toContainText("Approved once by local");
  });

  test("before the first answer it says that there is none", async ({ page, watch }) => {
    const portal = await Portal.start();
    watch.own(portal.url);
    try {
      const inbox = await InboxPage.open(page, portal.url);
      await expect(page.locator("#inbox-ui .empty")).toHaveText("Nothing was answered yet.");
      await expect(inbox.count).toHaveText("Nothing waits for you.");
      // Nothing of the page is left that asks a server that is gone.
      await page.goto("about:blank");
    } finally {
      await portal.stop();
    }
  });

  test("of two browsers and a script the first counts, and all are told", async ({
    page, browser, request, folder,
  }) => {
    const session = await SessionPage.startIn(page, folder);
    const contexts = await Promise.all([browser.newContext(), browser.newContext()]);
    const inboxes = await Promise.all(contexts.map(async (one) => InboxPage.open(await one.newPage())));
    await session.askForFile("a.txt", "hi");
    const items = inboxes.map((inbox) => inbox.item(folder));
    for (const item of items) await expect(item.card).toBeVisible();
    const id = await items[0].card.getAttribute("data-request-id");
    // By handles: a card may be gone before its button is found again.
    const approve = await items[0].card.locator(".permission-approve").elementHandle();
    const deny = await items[1].card.locator(".permission-deny").elementHandle();
    const press = (button: HTMLElement | SVGElement) => (button as HTMLElement).click();
    const [script] = await Promise.all([
      request.post(`/api/copilot/inbox/${id}`, { data: "deny\ntoo late?" }),
      approve!.evaluate(press),
      deny!.evaluate(press),
    ]);
    expect([{}, { error: "NotPending" }]).toContainEqual(await script.json());
    for (const item of items) await expect(item.row).toHaveCount(0);
    await session.ready();
    const outcome = session.cards.locator(".permission-outcome");
    await expect(outcome).toHaveCount(1);
    const approved = (await outcome.textContent())?.includes("Approved");
    expect(existsSync(path.join(folder, "a.txt"))).toBe(approved);
    const late = await request.post(`/api/copilot/inbox/${id}`, { data: "approve" });
    expect(await late.json()).toEqual({ error: "NotPending" });
    await Promise.all(contexts.map((one) => one.close()));
  });

  test("an agent's question is answered with a text, and a refusal can say why", async ({
    page, context, folder,
  }) => {
    const session = await SessionPage.startIn(page, folder);
    await session.ask('use the ask_user tool with the arguments {"question":"Which name?"}');
    const inbox = await InboxPage.open(await context.newPage());
    const item = inbox.item(folder);
    await expect(item.card.locator(".permission-answer")).toBeDisabled();
    await item.card.getByLabel("Your answer").fill("Ada");
    await item.card.locator(".permission-answer").click();
    await session.ready();
    await expect(session.cards.locator(".permission-outcome")).toHaveText("✓ Answered");
    await expect(session.of("tool").last()).toContainText("Result: Ada");

    await session.askForFile("a.txt", "hi");
    await session.cards.last().locator(".permission-why").click();
    await session.cards.last().getByLabel("Why it is denied").fill("use b.txt");
    await session.cards.last().locator(".permission-deny").click();
    await session.ready();
    await expect(session.of("tool").last()).toContainText("refused by the user: use b.txt");
    await expect(inbox.answered.first()).toContainText("use b.txt");
  });

  test("it works on a phone, by keyboard", async ({ page, context, folder }) => {
    const session = await SessionPage.startIn(page, folder);
    await session.askForFile("a.txt", `${"word ".repeat(300)}\n`);
    const phone = await context.newPage();
    await phone.setViewportSize({ width: 390, height: 844 });
    const inbox = await InboxPage.open(phone);
    const { card, row } = inbox.item(folder);
    await expect(card).toBeVisible();
    expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await row.getByRole("link", { name: "Open session" }).focus();
    for (let tabs = 0; tabs < 6; tabs += 1) {
      await phone.keyboard.press("Tab");
      if (await card.locator(".permission-deny").evaluate((button) => button === document.activeElement)) break;
    }
    await phone.keyboard.press("Enter");
    await expect(row).toHaveCount(0);
    await session.ready();
    expect(existsSync(path.join(folder, "a.txt"))).toBe(false);
  });

  for (const { name, ...viewport } of [
    { name: "on a desk", width: 1280, height: 800 },
    { name: "on a phone", width: 390, height: 844 },
  ]) {
    test.describe(name, () => {
      test.use({ viewport });

      test("questions are answered one after the other by keys alone", async ({ page, context, folder, portal, watch }) => {
        const own = await Portal.start();
        watch.own(own.url);
        const folders = ["one", "two", "three"].map((name) => path.join(folder, name));
        const sessions: SessionPage[] = [];
        for (const one of folders) {
          mkdirSync(one);
          const session = await SessionPage.startIn(await context.newPage(), one, "ask", own.url);
          await session.askForFile("a.txt", "hi");
          await expect(session.cards.locator(".permission-approve")).toBeVisible();
          sessions.push(session);
        }
        await page.setViewportSize(viewport);
        const inbox = await InboxPage.open(page, own.url);
        const card = (index: number) => inbox.item(folders[index]).card;
        await expect(card(0).locator(".permission-count")).toHaveText("1 of 3");
        await expect(inbox.item(folders[0]).row.locator("time")).toHaveText(/^waits \d+ (s|min)$/);
        await expect(inbox.item(folders[0]).row).toContainText(/until \d+:\d\d/);
        await expect(inbox.item(folders[0]).row.locator(".inbox-session")).toContainText("use the createFile tool");
        await card(0).focus();
        await page.keyboard.press("ArrowDown");
        await expect(card(1)).toBeFocused();
        await page.keyboard.press("y");
        await expect(inbox.item(folders[1]).row).toHaveCount(0);
        await expect(card(2)).toBeFocused();
        await expect(card(2).locator(".permission-count")).toHaveText("2 of 2");
        await page.keyboard.press("n");
        await expect(inbox.item(folders[2]).row).toHaveCount(0);
        await expect(card(0)).toBeFocused();
        await expect(card(0).locator(".permission-count")).toHaveCount(0);
        await page.keyboard.press("y");
        await expect(inbox.item(folders[0]).row).toHaveCount(0);
        await expect(inbox.count).toHaveText("Nothing waits for you.");
        await expect(inbox.count).toBeFocused();
        for (const session of sessions) await session.ready();
        expect(folders.map((one) => existsSync(path.join(one, "a.txt")))).toEqual([true, true, false]);
        await Promise.all(sessions.map((session) => session.page.close()));
        watch.own(portal.url);
        await page.goto(`${portal.url}/test.html`);
        await own.stop();
      });
    });
  }

  test("an answer that comes too late says so", async ({ page, context, folder }) => {
    const session = await SessionPage.startIn(page, folder);
    await session.askForFile("a.txt", "hi");
    const inbox = await InboxPage.open(await context.newPage());
    const { card } = inbox.item(folder);
    await expect(card).toBeVisible();
    // The page does not hear that somebody else was faster.
    await inbox.page.route("**/api/copilot/live/**", () => {});
    await inbox.page.route("**/api/copilot/inbox/permission-*", (route) =>
      route.fulfill({ json: { error: "NotPending" } }),
    );
    await card.locator(".permission-approve").click();
    await expect(card.locator(".permission-problem")).toHaveText("Too late: already answered or withdrawn.");
    await session.cards.locator(".permission-deny").click();
    await session.ready();
  });
});
