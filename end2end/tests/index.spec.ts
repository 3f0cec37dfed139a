import { expect, test } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

test("models are listed by name, and the preferred one is chosen", async ({ page, open }) => {
  await open("/");
  await expect(page.locator("#start-button")).toBeEnabled();
  const names = await page.locator("#model-select option").allTextContents();
  expect(names.length).toBeGreaterThan(2);
  expect(names).toEqual([...names].sort());
  await expect(page.locator("#model-select")).toHaveValue("gpt-5.2");
});

test("without the preferred model the first free one is chosen", async ({ page, open }) => {
  const models = [
    { name: "A", id: "costly", multiplier: 1 },
    { name: "B", id: "free", multiplier: 0 },
  ];
  await page.route("**/api/copilot/models", (route) => route.fulfill({ json: { models } }));
  await open("/");
  await expect(page.locator("#model-select")).toHaveValue("free");
});

test("the form waits for the models, and says why it waits in vain", async ({
  page,
  open,
  watch,
}) => {
  watch.expect(/Failed to load resource/);
  let answers = false;
  await page.route("**/api/copilot/models", (route) =>
    answers ? route.continue() : route.abort("connectionrefused"),
  );
  await open("/");
  await expect(page.locator("#setup-ui")).toContainText("can't be reached");
  await expect(page.locator("#start-button")).toBeDisabled();
  answers = true;
  await page.locator("#refresh-button").click();
  await expect(page.locator("#start-button")).toBeEnabled();
  await expect(page.locator("#setup-ui .failure")).toHaveCount(0);
});

for (const [folder, reason] of [
  ["relative/path", "not an absolute path"],
  ["/no/such/folder", "no such folder"],
]) {
  test(`a start in ${folder} is refused beside the field`, async ({ page, open }) => {
    await open("/");
    await page.locator("#working-dir").fill(folder);
    await page.locator("#start-button").click();
    const field = page.locator(".field", { has: page.locator("#working-dir") });
    await expect(field.getByRole("alert")).toContainText(reason);
    await expect(page.locator("#working-dir")).toHaveValue(folder);
    await expect(page.locator("#start-button")).toBeEnabled();
  });
}

test("open sessions are listed, and can be joined again", async ({ page, context }) => {
  const session = await SessionPage.start(page);
  await session.runTurn("say hello");
  const id = new URL(page.url()).searchParams.get("session")!;

  const other = await context.newPage();
  await other.goto("/");
  const row = other.locator(`#running-sessions-list a[href*="${id}"]`);
  await row.click();
  await expect(new SessionPage(other).of("user")).toHaveCount(1);
  await page.locator("#close-session-button").click();
  await expect(page.locator("#session-note")).toBeVisible();

  await other.goto("/");
  await other.locator("#refresh-button").click();
  await expect(row).toHaveCount(0);
});
