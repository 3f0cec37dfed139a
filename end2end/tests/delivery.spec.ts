import { expect, Portal, test } from "../fixtures/portal.js";
import { SessionPage } from "../fixtures/session.js";

const KEY = "correct-horse-battery";

/** Stops a portal that asks for the key. */
async function stopLocked(portal: Portal): Promise<void> {
  const headers = { authorization: `Bearer ${KEY}` };
  await fetch(`${portal.url}/api/stop`, { method: "POST", headers });
  expect(await portal.ended()).toBe(0);
}

test("scripts, app and styles come hashed, compressed and cacheable for ever", async ({
  page,
  open,
}) => {
  const answers = new Map<string, Record<string, string>>();
  page.on("response", async (response) => {
    const path = new URL(response.url()).pathname;
    if (path.startsWith("/pkg/")) answers.set(path, await response.allHeaders());
  });
  await open("/");
  const types = new Map([
    [".js", "text/javascript; charset=utf-8"],
    [".wasm", "application/wasm"],
    [".css", "text/css; charset=utf-8"],
  ]);
  for (const [ending, type] of types) {
    const found = [...answers].find(([path]) => path.endsWith(ending));
    expect(found, ending).toBeDefined();
    const [path, headers] = found!;
    expect(path).toMatch(/\.[0-9a-f]{8,}\.\w+$/);
    expect(headers["content-type"]).toBe(type);
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(headers["vary"]).toContain("accept-encoding");
    expect(headers["content-encoding"]).toMatch(/^(br|gzip)$/);
  }
});

test("the same file is there for every kind of client", async ({ page, open, request }) => {
  await open("/");
  const css = await page.locator("link[rel=stylesheet]").getAttribute("href");
  const sizes: number[] = [];
  // Only a release has brotli variants, because they take time to build.
  const encodings = process.env.PORTAL_KIND === "small" ? ["br", "gzip"] : ["gzip"];
  for (const encoding of [...encodings, "identity"]) {
    const response = await request.get(css!, { headers: { "accept-encoding": encoding } });
    const expected = encoding === "identity" ? undefined : encoding;
    expect(response.headers()["content-encoding"]).toBe(expected);
    sizes.push(Number(response.headers()["content-length"]));
  }
  const plain = sizes.pop()!;
  for (const size of sizes) expect(size).toBeLessThan(plain);
});

test("files with fixed names are asked for again, and not sent again", async ({ request }) => {
  const first = await request.get("/favicon.svg");
  expect(first.status()).toBe(200);
  expect(first.headers()["content-type"]).toBe("image/svg+xml");
  expect(first.headers()["cache-control"]).toBe("no-cache");
  const again = await request.get("/favicon.svg", {
    headers: { "if-none-match": first.headers()["etag"] },
  });
  expect(again.status()).toBe(304);
});

test("the portal can be installed: its manifest and icons are there, without a key, too", async ({ page, open }) => {
  await open("/");
  const path = (await page.locator("link[rel=manifest]").getAttribute("href"))!;
  const locked = await Portal.start("--access-key", KEY);
  try {
    const answer = await fetch(`${locked.url}${path}`);
    expect(answer.headers.get("content-type")).toBe("application/manifest+json");
    const { display, icons } = (await answer.json()) as { display: string; icons: Record<string, string>[] };
    expect(display).toBe("standalone");
    expect(icons.map(({ purpose }) => purpose)).toContain("maskable");
    for (const { src, type } of icons) {
      const icon = await fetch(`${locked.url}${src}`);
      expect([src, icon.status, icon.headers.get("content-type")]).toEqual([src, 200, type]);
    }
  } finally {
    await stopLocked(locked);
  }
});

test("nothing but the site's own files is served", async ({ request }) => {
  for (const path of ["/assets.json", "/favicon.svg.br", "/pkg", "/pkg/", "/Cargo.toml"]) {
    expect((await request.get(path)).status(), path).toBe(404);
  }
});

test("a locked portal asks for its key once", async ({ page, watch }) => {
  const portal = await Portal.start("--access-key", KEY);
  watch.expect(/401/);
  watch.expect(/foreign request/);
  try {
    await page.goto(`${portal.url}/`);
    await page.getByLabel("Access key").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await expect(page.getByRole("alert")).toContainText("not the access key");
    await page.getByLabel("Access key").fill(KEY);
    await page.keyboard.press("Enter");
    await expect(page.locator("#setup-ui")).toBeVisible();
    await page.goto(`${portal.url}/test`);
    await expect(page.locator(".greeting")).toBeVisible();
    // The page can also act: it presents the secret of its login.
    await SessionPage.start(page, portal.url);
    // The page would miss the server.
    await page.goto("about:blank");
  } finally {
    await stopLocked(portal);
  }
});

test("another site can neither call, frame nor read the portal", async ({ page, portal, watch }) => {
  watch.expect(/./);
  // A page of another origin: another name for the same machine, which the portal refuses.
  await page.route("http://evil.example/**", (route) =>
    route.fulfill({ contentType: "text/html", body: "<h1>evil</h1>" }),
  );
  await page.goto("http://evil.example/");
  const outcome = await page.evaluate(async (url) => {
    const tried = async (mode: RequestMode) =>
      fetch(`${url}/api/stop`, { mode }).then((answer) => answer.type, () => "refused");
    const image = new Image();
    image.src = `${url}/api/stop`;
    const shown = await new Promise((done) => {
      image.onload = () => done("loaded");
      image.onerror = () => done("refused");
    });
    return [await tried("cors"), await tried("no-cors"), shown];
  }, portal.url);
  expect(outcome[0]).toBe("refused");
  expect(outcome[2]).toBe("refused");
  const alive = await page.request.get(`${portal.url}/api/test`);
  expect(alive.status()).toBe(200);
});
