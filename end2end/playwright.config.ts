import { accessSync, constants } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "@playwright/test";

/**
 * The first installed Chromium, or else the one that Playwright downloads. The headless shell
 * draws no window, and takes half the time for the same tests.
 */
function chromium(): string | undefined {
  const names = ["chromium-headless-shell", "chromium", "chromium-browser"];
  const candidates = [process.env.CHROMIUM_PATH, ...names.map((name) => `/usr/bin/${name}`)];
  return candidates.find((path) => {
    if (!path) return false;
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

// Chromium cannot use its sandbox as root, and must not contact other machines.
const isRoot = process.getuid?.() === 0;
const args = [
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  ...(isRoot ? ["--no-sandbox"] : []),
];

export default defineConfig({
  testDir: "./tests",
  fullyParallel: true,
  // Tests wait more than they compute; each worker has its own server.
  workers: Math.min(8, 2 * availableParallelism()),
  forbidOnly: !!process.env.CI,
  retries: 0,
  // Tests wait for conditions. These limits only end a test that hangs, even on a busy machine.
  timeout: 90_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    screenshot: "only-on-failure",
    // Recording every test takes as long as running it; `--trace on` records the one that fails.
    trace: "off",
    launchOptions: { executablePath: chromium(), args },
  },
});
