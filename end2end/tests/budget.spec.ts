import { test as base } from "../fixtures/folder.js";
import { Portal, expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";
import { TrackingPage } from "../fixtures/tracking.js";

/** With a portal whose job has a budget. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const portal = await Portal.startWith("browser_budgets.json");
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

test("a session that has used up its budget goes on when that is raised", async ({ page }) => {
  const session = await SessionPage.start(page);
  const meters = page.locator("#request-part .budget-meters li");
  await expect(meters).toHaveCount(0);
  await page.locator("#budget-button").click();
  await page.locator("#budget-turns").fill("5");
  await page.locator("#budget-tokens").fill("1.5");
  await page.keyboard.press("Enter");
  await expect(page.locator("#budget-problem")).toContainText("Tokens must be a whole number");
  await expect(page.locator("#budget-turns")).toHaveValue("5");
  await page.locator("#budget-tokens").fill("1000");
  await page.keyboard.press("Enter");
  await expect(page.locator("#budget-panel")).toBeHidden();
  await expect(meters).toHaveText(["0 of 5 turns", "0 of 1k tokens"]);

  await session.runTurn("Count 800 input and 50 output tokens, then say hello");
  await expect(meters).toHaveText(["1 of 5 turns", "850 of 1k tokens: nearly used up"]);
  await expect(meters.nth(1).locator("meter")).toHaveAttribute("value", "850");
  await session.ask("Count 800 input and 50 output tokens, then wait 10 minutes");
  await session.ready();
  await expect(meters).toHaveText(["2 of 5 turns", "1.7k of 1k tokens: used up"]);
  await expect(page.getByText("budget of the session used up: 1700 of 1000 tokens")).toBeVisible();

  await session.ask("say goodbye");
  await expect(page.locator("#request-problem")).toContainText("used up its budget. Raise the budget");
  await expect(session.prompt).toHaveValue("say goodbye");
  await page.locator("#budget-button").click();
  await expect(page.locator("#budget-tokens")).toHaveValue("1000");
  await page.locator("#budget-tokens").fill("5000");
  await page.locator("#budget-save").click();
  await expect(page.locator("#request-problem")).toHaveCount(0);
  await session.send.click();
  await expect(session.of("message").last()).toContainText("goodbye");
  await page.reload();
  await expect(meters).toHaveText(["3 of 5 turns", "1.7k of 5k tokens"]);
});

test("a job shows what is left of its budget, and fails when nothing is", async ({ page, folder }) => {
  const job = await TrackingPage.start(page, "limited", folder);
  const meters = page.locator("#job-summary .budget-meters li");
  await expect(meters).toHaveCount(3);
  await expect(meters.nth(0)).toHaveText(/^0(\.\d+)? of 30 minutes$/);
  await job.reads("FAILED");
  await expect(meters.nth(1)).toHaveText("2 of 5 turns");
  await expect(meters.nth(2)).toHaveText("11.5k of 10k tokens: used up");
  await page.reload();
  await expect(meters.nth(2)).toHaveText("11.5k of 10k tokens: used up");
});
