import { mkdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Page } from "@playwright/test";
import { test as base } from "../fixtures/folder.js";
import { JobsPage } from "../fixtures/jobs.js";
import { Portal, expect } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";
import { TrackingPage } from "../fixtures/tracking.js";

const ROOT = path.resolve(import.meta.dirname, "../..");
const PICTURES = path.join(ROOT, "docs/pictures");
const SAMPLE = path.join(ROOT, "server/engine/src/entry/sample.json");

/** A README has to load quickly. */
const MAXIMUM_BYTES = 200_000;

/** With the sample entry, and models that are slow enough to be seen at work. */
const test = base.extend<object, { portal: Portal }>({
  portal: [
    async ({}, use) => {
      const pace = ["--simulated-first-ms", "400", "--simulated-delta-ms", "30"];
      const portal = await Portal.start("--entry", SAMPLE, ...pace);
      await use(portal);
      await portal.stop();
    },
    { scope: "worker" },
  ],
});

/** Takes the picture, without a caret or a pointer on it. */
async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const file = path.join(PICTURES, `${name}.png`);
  await page.screenshot({ path: file, animations: "disabled", caret: "hide" });
  expect((await stat(file)).size).toBeLessThan(MAXIMUM_BYTES);
}

const FILE = `def newest(entries):
    return sorted(entries)[-1]
`;

const DIFF = `@@
-    return sorted(entries)[-1]
+    return max(entries, default=None)
`;

const QUESTION = "Why does `newest` raise an `IndexError` on a fresh install? Please fix it.";

const ANSWER = `The list is **empty** then, and \`[-1]\` needs at least one element. With \`max\` and a default, this passes:

\`\`\`python
assert newest([]) is None
\`\`\``;

test("a session", async ({ page, folder }) => {
  await mkdir(path.join(folder, "log"));
  await writeFile(path.join(folder, "log/entries.py"), FILE);
  const session = await SessionPage.startIn(page, folder);

  // A simulated model is told beforehand what to do in its second turn.
  const edit = { path: "log/entries.py", diff: DIFF };
  const second = [
    `say ${JSON.stringify(ANSWER)}`,
    `use the applyDiff tool with the arguments ${JSON.stringify(edit)}`,
  ];
  await session.runTurn(`Turn 1: say "Ready."\nTurn 2: ${second.join(", then ")}`);
  await session.ask(QUESTION);
  await expect(session.cards.locator(".permission-approve")).toBeVisible();

  // More room for the conversation, and the question at its top.
  const bar = (await page.locator("#session-ui > .resize-bar").boundingBox())!;
  await page.mouse.move(bar.x + bar.width / 2, bar.y + bar.height / 2);
  await page.mouse.down();
  await page.mouse.move(bar.x + bar.width / 2, 760, { steps: 5 });
  await page.mouse.up();
  const question = session.of("user").last();
  await question.evaluate((element) => element.scrollIntoView());
  await expect(session.of("user").first()).not.toBeInViewport();
  await expect(session.cards.locator(".permission-approve")).toBeInViewport({ ratio: 1 });
  await take(page, "session");
  await session.abort.click();
  await session.ready();
});

test("a job", async ({ page, folder }) => {
  const jobs = await JobsPage.open(page, folder);
  await jobs.job("ship-change").click();
  await jobs.input.fill("median should accept an empty list");
  const address = await jobs.opens(jobs.start);
  const job = await TrackingPage.open(page, "ship-change", address.searchParams.get("jobId")!);
  const task = (name: string) => page.locator("#chart-container g.node").filter({ hasText: name });

  // In the middle of the run, with what a finished task has said.
  await expect(task("review-change")).toHaveClass(/\brunning\b/, { timeout: 60_000 });
  await task("write-tests").click();
  await job.tab("Attempt #1").click();
  await expect(job.blocks.last()).toBeVisible();
  await take(page, "job");
  await expect(task("review-change")).toHaveClass(/\brunning\b/);
  await job.stop.click();
});
