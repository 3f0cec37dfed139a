import { expect } from "@playwright/test";
import { longestTask, note, watch } from "./figures.js";
import { Api, ENDLESS, test } from "./portal.js";

/** A prompt and its answer are a block each; both are Markdown. */
const TURNS = 250;
const BYTES_PER_BLOCK = 6_800;

/** Markdown of the length of an answer: what pages render, and in which share. */
function markdown(turn: number): string {
  const section = (part: number) =>
    [
      `## Step ${turn}.${part}`,
      "The request passes the **guard**, then the router, and *only then* the handler; see `http/guard.rs`. ".repeat(3),
      "- it parses\n- it calls **one** function\n- it serialises `Answer`",
      "| file | lines |\n|---|---|\n| `a.rs` | 12 |\n| `b.rs` | 140 |",
      `\`\`\`rust\nfn step_${part}(input: &str) -> Result<usize, Error> {\n    let found = input.len(); // as bytes\n    Ok(found + ${part})\n}\n\`\`\``,
    ].join("\n\n");
  let text = "";
  for (let part = 1; text.length < BYTES_PER_BLOCK; part++) text += `${section(part)}\n\n`;
  return text.slice(0, BYTES_PER_BLOCK);
}

test("a session of 500 blocks, while another answer streams in", async ({ page, portal }) => {
  const api = new Api(portal);
  const session = await api.startSession();
  for (let turn = 0; turn < TURNS; turn++) await api.ask(session, `say “${markdown(turn)}”`);
  await api.idle(session);
  await api.ask(session, ENDLESS);

  await watch(page);
  await page.goto(`${portal.url}/index.html?session=${session}`, { waitUntil: "commit" });
  const prompt = page.locator("#request-textarea");
  const receiving = page.locator(".message-block.receiving");
  await receiving.waitFor({ timeout: 120_000 });
  // Usable: the answer that streams in is there, and the page answers to the person.
  const usable = await page.evaluate(
    () => new Promise<number>((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now())))),
  );
  note("long session: usable", usable);
  await expect(page.locator(".message-block.user")).toHaveCount(TURNS + 1, { timeout: 120_000 });
  note("long session: longest task while it opens", await longestTask(page));
  note("long session: DOM nodes", await page.evaluate(() => document.getElementsByTagName("*").length));

  await prompt.click();
  await longestTask(page);
  const typed = await page.evaluate(async () => {
    const field = document.querySelector<HTMLTextAreaElement>("#request-textarea")!;
    const { port1, port2 } = new MessageChannel();
    const start = performance.now();
    for (const character of "ten letter") {
      field.value += character;
      field.dispatchEvent(new InputEvent("input", { bubbles: true, data: character }));
      // Behind what the page does about it, and whatever else it has to do; without waiting for a
      // frame, which is no work of the page.
      await new Promise((done) => {
        port1.onmessage = done;
        port2.postMessage(null);
      });
      field.getBoundingClientRect();
    }
    return performance.now() - start;
  });
  note("long session: typing ten characters", typed);
  note("long session: longest task while typing", await longestTask(page));
});
