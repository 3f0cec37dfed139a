import { appendFileSync } from "node:fs";
import { type Page } from "@playwright/test";

/** Notes a figure, for `cargo xtask bench browser` and for who watches. The names are known there. */
export function note(name: string, value: number): void {
  const line = JSON.stringify({ name, value: Math.round(value * 10) / 10 });
  console.log(line);
  if (process.env.PORTAL_FIGURES) appendFileSync(process.env.PORTAL_FIGURES, `${line}\n`);
}

declare global {
  interface Window {
    bench: { longest: number; hydrated?: number };
  }
}

/** Watches, from the first moment of each page: its longest task, and when it is hydrated. */
export async function watch(page: Page): Promise<void> {
  await page.addInitScript(() => {
    window.bench = { longest: 0 };
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        window.bench.longest = Math.max(window.bench.longest, duration);
      }
    }).observe({ type: "longtask", buffered: true });
    new MutationObserver((_, observer) => {
      if (!document.documentElement?.dataset.hydrated) return;
      window.bench.hydrated = performance.now();
      observer.disconnect();
    }).observe(document, { attributes: true, childList: true, subtree: true });
  });
}

/** The longest task since the page began, or since this was called last. */
export async function longestTask(page: Page): Promise<number> {
  // Entries are delivered in a task of their own.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  return page.evaluate(() => {
    const { longest } = window.bench;
    window.bench.longest = 0;
    return longest;
  });
}
