import { expect, test } from "../fixtures/portal.js";

const PAGES = [
  { name: "index", paths: ["/", "/index", "/index.html"], mark: "#setup-ui" },
  { name: "jobs", paths: ["/jobs?wb=/tmp", "/jobs.html?wb=/tmp"], mark: "#matrix-part" },
  {
    name: "jobTracking",
    paths: ["/jobTracking?jobName=build", "/jobTracking.html?jobName=build"],
    mark: "#job-part",
  },
  { name: "inbox", paths: ["/inbox", "/inbox.html"], mark: "#inbox-ui" },
  { name: "history", paths: ["/history", "/history.html?q=x"], mark: "#history-ui" },
  { name: "test", paths: ["/test", "/test.html"], mark: ".greeting" },
];
const SIZES = [
  { name: "desktop", width: 1280, height: 800 },
  { name: "phone", width: 390, height: 844 },
];

for (const { name: size, ...viewport } of SIZES) {
  for (const colorScheme of ["light", "dark"] as const) {
    test.describe(`${size}, ${colorScheme}`, () => {
      test.use({ viewport, colorScheme });

      for (const { name, paths, mark } of PAGES) {
        for (const path of paths) {
          test(`${name} as ${path} hydrates quietly and fits the width`, async ({ page, open }) => {
            await open(path);
            await expect(page.locator(mark)).toBeVisible();
            const overflow = await page.evaluate(
              () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
            );
            expect(overflow).toBe(0);
          });
        }
      }

      test("the colours follow the system", async ({ page, open }) => {
        await open("/");
        const background = await page.evaluate(
          () => getComputedStyle(document.documentElement).backgroundColor,
        );
        const brightness = background.match(/\d+/g)!.slice(0, 3).map(Number);
        const isDark = Math.max(...brightness) < 100;
        expect(isDark).toBe(colorScheme === "dark");
      });
    });
  }
}
