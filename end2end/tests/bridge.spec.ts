import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { BridgePage } from "../fixtures/bridge.js";
import { test as base } from "../fixtures/folder.js";
import { Portal, expect } from "../fixtures/portal.js";

/** A portal of its own with two projects. */
const test = base.extend<{ bridge: BridgePage; one: string; two: string; options: string[] }>({
  options: [["--simulated-delta-ms", "0"], { option: true }],
  one: async ({ folder }, use) => use(path.join(folder, "one")),
  two: async ({ folder }, use) => use(path.join(folder, "two")),
  bridge: async ({ page, one, two, options, watch }, use) => {
    await mkdir(one);
    await mkdir(two);
    const portal = await Portal.start("--workspace", one, "--workspace", two, ...options);
    watch.own(portal.url);
    await use(await BridgePage.open(page, portal.url));
    await page.close();
    await portal.stop();
  },
});

const CREATE = {
  actions: [{ tool: "createFile", path: "a.txt", content: "hi\n" }],
  commentary: "I make a file.",
  done: false,
};
const FINAL = { finalSummary: "**All** done.", done: true };

test("an agent works in the project, and asks first", async ({ bridge, one }) => {
  await expect(bridge.projects).toHaveText(["one", "two"]);
  await bridge.ask(BridgePage.script(CREATE, FINAL));
  const card = bridge.cards;
  await expect(card.locator(".permission-title")).toHaveText("Create a.txt?");
  await expect(card).toContainText("hi");
  await expect(bridge.page).toHaveTitle(/^\(\?\) one/);
  expect(existsSync(path.join(one, "a.txt"))).toBe(false);
  await card.locator(".permission-approve").click();
  await expect(card.locator(".permission-outcome")).toContainText("Approved");
  await bridge.idle();
  expect(readFileSync(path.join(one, "a.txt"), "utf8")).toBe("hi\n");
  const answer = bridge.blocks.last();
  await expect(answer).toHaveClass(/completed/);
  await expect(answer.locator("strong").filter({ hasText: "All" })).toBeVisible();
});

test("a simulated model obeys plain sentences as an agent", async ({ bridge, one }) => {
  await bridge.ask(
    'use the createFile tool with the arguments {"path":"plain.txt","content":"hi\\n"}, then say "It is there."',
  );
  await bridge.cards.locator(".permission-approve").click();
  await bridge.idle();
  expect(readFileSync(path.join(one, "plain.txt"), "utf8")).toBe("hi\n");
  await expect(bridge.blocks.last()).toContainText("It is there.");
  await expect(bridge.blocks.last()).not.toContainText("Not a step");
});

test("what is approved always is not asked again, and answers stand below their questions", async ({
  bridge,
  one,
}) => {
  const create = (file: string) => ({ ...CREATE, actions: [{ ...CREATE.actions[0], path: file }] });
  await bridge.ask(BridgePage.script(create("a.txt"), create("b.txt"), FINAL));
  await expect(bridge.cards.locator(".permission-always")).toBeVisible();
  await bridge.ask('say "And this."', "prompt");
  await bridge.cards.locator(".permission-always").click();
  await bridge.idle();
  expect(readFileSync(path.join(one, "b.txt"), "utf8")).toBe("hi\n");
  await expect(bridge.cards).toHaveCount(1);
  await expect(bridge.log.locator(".message-block-toggle, .permission-title")).toHaveText([
    /^User \(Agent\)/,
    /^Message/,
    "Create a.txt?",
    /^Message/,
    /^User/,
    /^Message/,
  ]);
  await expect(bridge.blocks.last()).toContainText("And this.");
});

test("what is denied is not done", async ({ bridge, one }) => {
  await bridge.ask(BridgePage.script(CREATE, FINAL));
  await bridge.cards.locator(".permission-deny").click();
  await expect(bridge.cards.locator(".permission-outcome")).toContainText("Denied");
  await bridge.idle();
  expect(existsSync(path.join(one, "a.txt"))).toBe(false);
});

test("a plain prompt is answered, and is there again after a reload", async ({ bridge, page }) => {
  await bridge.ask('say "Good morning."', "prompt");
  await expect(bridge.blocks.last()).toContainText("Good morning.");
  await bridge.idle();
  const before = await bridge.blocks.allTextContents();
  await page.reload();
  await expect(bridge.blocks).toHaveText(before);

  await bridge.projects.filter({ hasText: "two" }).click();
  await expect(page).toHaveURL(/project=/);
  await expect(bridge.blocks).toHaveCount(0);
  await expect(page.locator('.bridge-project[aria-current="page"]')).toHaveText("two");
  await bridge.projects.filter({ hasText: "one" }).click();
  await expect(bridge.blocks).toHaveText(before);

  await bridge.clear.click();
  await page.locator("dialog[open] .button.danger").click();
  await expect(bridge.blocks).toHaveCount(0);
});

test("a run can be cancelled while it waits", async ({ bridge }) => {
  await bridge.ask(BridgePage.script(CREATE, FINAL));
  await expect(bridge.cards.locator(".permission-approve")).toBeVisible();
  await bridge.cancel.click();
  await expect(bridge.cards.locator(".permission-outcome")).toContainText("Withdrawn");
  await expect(bridge.blocks.last().locator(".message-block-toggle")).toContainText("cancelled");
  await bridge.idle();
});

test("two windows see the same, and it fits a phone", async ({ bridge, page, context }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const other = await BridgePage.open(await context.newPage(), new URL(page.url()).origin);
  await bridge.ask(BridgePage.script(CREATE, FINAL));
  await expect(other.cards.locator(".permission-approve")).toBeVisible();
  const { scrollWidth, scrollHeight } = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return { scrollWidth, scrollHeight };
  });
  expect([scrollWidth, scrollHeight]).toEqual([390, 844]);
  await other.cards.locator(".permission-approve").click();
  await expect(bridge.cards.locator(".permission-outcome")).toContainText("Approved");
  await bridge.idle();
  await expect(other.blocks).toHaveText(await bridge.blocks.allTextContents());
  await other.page.close();
});

test("wrong steps are refused here, and nobody is asked about notifications", async ({ bridge }) => {
  await bridge.steps.fill("0");
  await bridge.text.fill("work");
  await bridge.send.click();
  await expect(bridge.page.locator("#bridge-request .failure")).toContainText("1 or more");
  const permission = await bridge.page.evaluate(() => Notification.permission);
  expect(["default", "denied"]).toContain(permission);
});
