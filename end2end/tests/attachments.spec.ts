import type { Page } from "@playwright/test";
import { test } from "../fixtures/folder.js";
import { expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

/** A red dot. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";
const DOT = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") };
const NOTES = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("one\ntwo\n") };
const DESCRIBE = "describe the attachments";

/** Pastes or drops a file, as the browser reports it. */
async function give(page: Page, how: "paste" | "dragover" | "drop", file: { name: string; mimeType: string; buffer: Buffer }) {
  const { name, mimeType, buffer } = file;
  await page.locator("#request-textarea").evaluate(
    (field, { how, name, mimeType, base64 }) => {
      const data = new DataTransfer();
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      data.items.add(new File([bytes], name, { type: mimeType }));
      const options = { bubbles: true, cancelable: true };
      field.dispatchEvent(
        how === "paste"
          ? new ClipboardEvent(how, { ...options, clipboardData: data })
          : new DragEvent(how, { ...options, dataTransfer: data }),
      );
    },
    { how, name, mimeType, base64: buffer.toString("base64") },
  );
}

test("a picture is pasted, a text is dropped, and the model gets both", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.prompt.fill(DESCRIBE);
  await give(page, "paste", DOT);
  await expect(session.chips).toHaveText(["dot.png85 B"]);
  await expect(session.chips.locator("img")).toHaveJSProperty("naturalWidth", 5);
  await give(page, "dragover", NOTES);
  await expect(page.locator(".composer")).toHaveClass(/dropping/);
  await give(page, "drop", NOTES);
  await expect(page.locator(".composer")).not.toHaveClass(/dropping/);
  await expect(session.chips).toHaveText(["dot.png85 B", "notes.txt8 B"]);
  await session.send.click();
  await session.ready();
  await expect(session.chips).toHaveCount(0);
  await expect(session.of("message")).toContainText("image/png, 85 B, dot.png");
  await expect(session.of("message")).toContainText("text/plain, 8 B, notes.txt");
  await expect(session.title).toHaveText(DESCRIBE);

  const sent = session.of("user");
  for (const again of [false, true]) {
    if (again) await page.reload();
    await expect(session.body(sent)).toHaveText(DESCRIBE);
    await expect(sent.getByRole("img", { name: "dot.png" })).toHaveJSProperty("naturalWidth", 5);
    const saving = page.waitForEvent("download");
    await sent.getByRole("link", { name: "notes.txt" }).click();
    expect((await saving).suggestedFilename()).toBe("notes.txt");
  }
  await session.prompt.press("ArrowUp");
  await expect(session.prompt, "an earlier prompt comes back with its files").toHaveValue(DESCRIBE);
  await expect(session.chips.locator(".chip-name")).toHaveText(["dot.png", "notes.txt"]);
});

test("files are chosen and removed with the keyboard, and survive a reload", async ({ page }) => {
  const session = await SessionPage.start(page);
  const button = page.getByRole("button", { name: "Attach files" });
  const choosing = page.waitForEvent("filechooser");
  await button.press("Enter");
  await (await choosing).setFiles([DOT, NOTES]);
  await expect(session.chips).toHaveText([/^dot.png/, /^notes.txt/]);
  await expect(session.send, "a file is enough").toBeEnabled();
  await page.getByRole("button", { name: "Remove notes.txt" }).focus();
  await page.keyboard.press("Enter");
  await expect(session.chips).toHaveText([/^dot.png/]);
  await expect(session.prompt, "whoever removes goes on typing").toBeFocused();
  await page.reload();
  await expect(session.chips.locator(".chip-name")).toHaveText(["dot.png"]);
  await expect(session.prompt).toHaveValue("");
  await session.send.click();
  await session.ready();
  await expect(session.title).toHaveText("dot.png");
  await expect(session.of("message")).toContainText("dot.png");
});

test("what is pasted as text stays text", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.prompt.focus();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.setData("text/plain", "plain");
    const event = new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data });
    document.activeElement!.dispatchEvent(event);
    document.documentElement.dataset.prevented = `${event.defaultPrevented}`;
  });
  await expect(page.locator("html")).toHaveAttribute("data-prevented", "false");
  await expect(session.chips).toHaveCount(0);
});

test("what can't be attached says why, and nothing else is lost", async ({ page }) => {
  const session = await SessionPage.start(page);
  await session.prompt.fill("say hello");
  await page.locator("#attach-input").setInputFiles([
    { name: "large.txt", mimeType: "text/plain", buffer: Buffer.alloc(10 * 1024 * 1024 + 1, "a") },
    { name: "paper.pdf", mimeType: "application/pdf", buffer: Buffer.from([0x25, 0x50, 0x44, 0x46, 0xff]) },
    NOTES,
  ]);
  await expect(session.chips).toHaveText([
    "large.txtnot attached: it is larger than 10 MB",
    /^paper.pdfnot attached: neither an image .* nor UTF-8 text/,
    "notes.txt8 B",
  ]);
  await expect(session.chips.locator("[role=alert]")).toHaveCount(2);
  await session.send.click();
  await session.ready();
  await expect(session.of("message")).toContainText("hello");
  await expect(session.chips, "what was not sent is still there").toHaveCount(2);
});

test("nothing is sent before its files have arrived, and a refused prompt keeps them", async ({ page }) => {
  const session = await SessionPage.start(page);
  let arrive = () => {};
  const held = new Promise<void>((done) => (arrive = done));
  await page.route("**/attach/*", async (route) => {
    await held;
    await route.continue();
  });
  await session.prompt.fill(DESCRIBE);
  await give(page, "paste", NOTES);
  await expect(session.chips).toHaveText(["notes.txtuploading …"]);
  await expect(session.send).toBeDisabled();
  arrive();
  await expect(session.send).toBeEnabled();
  await page.route("**/query", (route) => route.fulfill({ json: { error: "TooManyQueries" } }));
  await session.send.click();
  await expect(page.locator("#request-problem")).toBeVisible();
  await expect(session.prompt).toHaveValue(DESCRIBE);
  await expect(session.chips).toHaveText([/^notes.txt/]);
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("files are attached with a thumb, and fit", async ({ page }) => {
    const session = await SessionPage.start(page);
    const button = page.locator("#attach-button");
    const choosing = page.waitForEvent("filechooser");
    await button.tap();
    await (await choosing).setFiles([DOT, { ...NOTES, name: `${"long".repeat(30)}.txt` }]);
    await expect(session.chips).toHaveCount(2);
    const remove = session.chips.first().getByRole("button");
    for (const target of [button, remove]) {
      const { width, height } = (await target.boundingBox())!;
      expect(Math.min(width, height)).toBeGreaterThanOrEqual(44);
    }
    expect((await session.chips.nth(1).boundingBox())!.width).toBeLessThanOrEqual(390);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await expect(session.send).toBeInViewport({ ratio: 1 });
    await remove.tap();
    await expect(session.chips).toHaveCount(1);
  });
});
