import { existsSync } from "node:fs";
import path from "node:path";
import { test as base } from "../fixtures/folder.js";
import { Portal, expect } from "../fixtures/portal.js";
import { TrackingPage } from "../fixtures/tracking.js";

/** With a portal whose job asks. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const portal = await Portal.startWith("browser_questions.json");
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

test("a question of a task leads to its tab, and is answered there", async ({ page, folder }) => {
  const job = await TrackingPage.start(page, "careful", folder);
  await expect(page).toHaveTitle(/^\(\?\) careful/);
  await page.locator(".job-asking button").click();
  await expect(job.tab("Attempt #1")).toHaveAttribute("aria-selected", "true");
  await expect(job.tab("Attempt #1")).toHaveClass(/asking/);
  const card = page.locator("#session-response-part .permission-card");
  await card.locator(".permission-approve").click();
  await expect(card.locator(".permission-outcome")).toContainText("Approved once");
  await job.reads("SUCCEEDED");
  expect(existsSync(path.join(folder, "a.txt"))).toBe(true);
  await expect(page.locator(".job-asking button")).toHaveCount(0);
  await expect(page).not.toHaveTitle(/^\(\?\) /);
  for (const where of [".job-usage", ".tab-usage", ".session-usage"]) {
    await expect(page.locator(where)).toHaveText(/^1k tokens in, 20 out/);
  }
  await page.reload();
  await expect(page.locator(".job-usage")).toHaveText(/^1k tokens in, 20 out/);
});
