import type { APIRequestContext } from "@playwright/test";
import { BridgePage } from "../fixtures/bridge.js";
import { withLasting } from "../fixtures/lasting.js";
import { expect, hydrated } from "../fixtures/portal.js";

const test = withLasting("--workspace", "/tmp", "--simulated-delta-ms", "0");

/** Posts a draft, as a script would; returns its id. */
async function post(request: APIRequestContext, url: string, text: string, more = {}): Promise<string> {
  const data = { text, mode: "draft", source: "my editor", ...more };
  const answer = await request.post(`${url}/message`, { data });
  expect(answer.status()).toBe(202);
  return (await answer.json()).id;
}

for (const [name, width, height] of [["desktop", 1440, 900], ["phone", 390, 844]] as const) {
  test.describe(`on a ${name}`, () => {
    test.use({ viewport: { width, height } });

    test("a draft comes into the form with its origin, to be edited and sent", async ({ page, request, lasting }) => {
      const bridge = await BridgePage.open(page, lasting.url);
      await bridge.mode.selectOption("prompt");
      await post(request, lasting.url, "say from a script");
      await expect(bridge.text).toHaveValue("say from a script");
      await expect(bridge.drafts).toHaveText([/Draft from my editor, .*\d/]);
      await expect(bridge.drafts.getByRole("button")).toHaveText(["Discard"]);
      await expect(bridge.blocks).toHaveCount(0);
      await bridge.text.fill("say edited by hand");
      await bridge.send.click();
      await expect(bridge.blocks.first()).toContainText("say edited by hand");
      await expect(bridge.text).toHaveValue("");
      await expect(bridge.drafts).toHaveCount(0);
      await bridge.idle();
      const size = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.scrollHeight,
      ]);
      expect(size).toEqual([width, height]);
    });
  });
}

test("what was typed stays, and drafts wait beside it", async ({ page, request, lasting }) => {
  const bridge = await BridgePage.open(page, lasting.url);
  await bridge.text.fill("my own words");
  await post(request, lasting.url, "\n  first line\nsecond line");
  await expect(bridge.drafts).toContainText(["first line"]);
  await expect(bridge.text).toHaveValue("my own words");
  // Both survive a reload.
  await page.reload();
  await hydrated(page);
  await expect(bridge.text).toHaveValue("my own words");
  await expect(bridge.drafts).toContainText(["first line"]);
  await bridge.drafts.getByRole("button", { name: "Insert" }).click();
  await expect(bridge.text).toHaveValue("my own words\n\nfirst line\nsecond line");
  await bridge.mode.selectOption("prompt");
  await bridge.send.click();
  await expect(bridge.drafts).toHaveCount(0);
  await expect(bridge.text).toHaveValue("");
});

test("a draft is discarded, and the next one takes its place", async ({ page, request, lasting }) => {
  await post(request, lasting.url, "one");
  await post(request, lasting.url, "two", { source: "a script" });
  const bridge = await BridgePage.open(page, lasting.url);
  await expect(bridge.text).toHaveValue("one");
  await expect(bridge.drafts).toContainText(["my editor", "a script"]);
  await bridge.drafts.first().getByRole("button", { name: "Discard" }).click();
  await expect(bridge.text).toHaveValue("two");
  await bridge.text.fill("two, changed");
  await bridge.drafts.first().getByRole("button", { name: "Discard" }).click();
  await expect(bridge.drafts).toHaveCount(0);
  // It was changed, so it is not thrown away with the draft.
  await expect(bridge.text).toHaveValue("two, changed");
});

test("a draft survives the server and the page, and is in every window until one sends it", async ({
  page, context, request, lasting, watch,
}) => {
  watch.expect(/ERR_|Failed to load/);
  await post(request, lasting.url, "say still here", { mode: "draft" });
  await lasting.kill();
  await lasting.startAgain();
  const bridge = await BridgePage.open(page, lasting.url);
  await expect(bridge.text).toHaveValue("say still here");
  const other = await BridgePage.open(await context.newPage(), lasting.url);
  await expect(other.text).toHaveValue("say still here");
  await bridge.mode.selectOption("prompt");
  await bridge.send.click();
  await expect(other.text).toHaveValue("");
  await expect(other.drafts).toHaveCount(0);
  await expect(other.blocks.first()).toContainText("say still here");
  await other.page.close();
});
