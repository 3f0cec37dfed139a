import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "../fixtures/folder.js";
import { expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

const EXTENSION = `import { joinSession } from "@github/copilot-sdk/extension";
const session = await joinSession({
  tools: [{
    name: "greet",
    description: "Greets",
    parameters: { type: "object", properties: {} },
    handler: async () => "Hello from an extension",
  }],
});
await session.log("I have joined", { level: "warning" });
`;

/** Puts an extension into a folder that is a repository. */
async function install(folder: string): Promise<void> {
  const place = path.join(folder, ".github/extensions/greeter");
  await mkdir(place, { recursive: true });
  await mkdir(path.join(folder, ".git"));
  await writeFile(path.join(place, "extension.mjs"), EXTENSION);
}

test("a folder's extensions wait until they are allowed", async ({ page, folder }) => {
  await install(folder);
  await SessionPage.startIn(page, folder);
  await page.locator("#extensions-button").click();
  const panel = page.locator("#extensions-panel");
  const extension = panel.locator('.extension[data-name="greeter"]');
  await expect(extension.locator(".extension-state")).toHaveText("not allowed");
  await expect(panel).toContainText("run with your rights");
  const trust = panel.locator("#extensions-trust");
  await expect(trust).toHaveText("Allow extensions in this folder");
  await trust.click();
  await expect(trust).toHaveText("Forbid extensions in this folder");
  // Without Node or its package, the panel says so instead.
  await expect(extension.locator(".extension-state")).toHaveText(/running|needs/, {
    timeout: 15_000,
  });
  // Only the content at that time was allowed.
  await writeFile(path.join(folder, ".github/extensions/greeter/more.mjs"), "");
  await panel.locator("#extensions-reload").click();
  await expect(extension.locator(".extension-state")).toHaveText("not allowed");
  await expect(trust).toHaveText("Allow extensions as they are now");
  await page.keyboard.press("Escape");
  await expect(panel).toBeHidden();
});

test("a session without extensions says so", async ({ page, folder }) => {
  await SessionPage.startIn(page, folder);
  await page.locator("#extensions-button").click();
  const panel = page.locator("#extensions-panel");
  await expect(panel).toContainText("There are none");
  await panel.getByRole("button", { name: "Close" }).click();
  await expect(panel).toBeHidden();
});
