import { defineConfig } from "@playwright/test";
import tests from "../playwright.config.js";

/** As for the tests, but in the size and colours of the README's pictures. */
export default defineConfig(tests, {
  testDir: ".",
  outputDir: "../test-results",
  workers: 1,
  use: {
    viewport: { width: 1440, height: 900 },
    deviceScaleFactor: 1,
    colorScheme: "light",
    locale: "en-GB",
  },
});
