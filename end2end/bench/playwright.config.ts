import { defineConfig } from "@playwright/test";
import tests from "../playwright.config.js";

/** As for the tests, but one after the other: they must not disturb each other's figures. */
export default defineConfig(tests, {
  testDir: ".",
  testMatch: "*.bench.ts",
  outputDir: "../test-results",
  fullyParallel: false,
  workers: 1,
  timeout: 600_000,
  use: { viewport: { width: 1440, height: 900 } },
});
