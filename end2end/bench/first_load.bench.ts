import { type Page } from "@playwright/test";
import { longestTask, note, watch } from "./figures.js";
import { test } from "./portal.js";

const PAGES = ["/", "/jobs.html?wb=/", "/inbox.html", "/bridge.html", "/jobTracking.html?jobName=build"];

/** A phone in a train: 1.6 Mbit/s, 150 ms, and a quarter of this machine's speed. */
async function slow(page: Page): Promise<void> {
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  await client.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 150,
    downloadThroughput: 1_600_000 / 8,
    uploadThroughput: 750_000 / 8,
  });
  await client.send("Emulation.setCPUThrottlingRate", { rate: 4 });
}

test("the first load on a slow phone", async ({ page, portal }) => {
  await watch(page);
  await slow(page);
  await page.goto(portal.url);
  await page.waitForFunction(() => window.bench.hydrated);
  const { readable, hydrated } = await page.evaluate(() => ({
    readable: performance.getEntriesByName("first-contentful-paint")[0]!.startTime,
    hydrated: window.bench.hydrated!,
  }));
  note("first load: readable", readable);
  note("first load: hydrated", hydrated);
  note("first load: longest task", await longestTask(page));
});

for (const path of PAGES) {
  test(`the download of ${path}`, async ({ page, portal }) => {
    const client = await page.context().newCDPSession(page);
    await client.send("Network.enable");
    let bytes = 0;
    client.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(`${portal.url}${path}`);
    await page.waitForSelector("html[data-hydrated]");
    note(`download: ${path.split("?")[0]}`, bytes / 1000);
  });
}
