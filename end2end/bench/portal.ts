import { test as base } from "@playwright/test";
import { Portal } from "../fixtures/server.js";

/** A portal of its own for each measurement, with models that never pause. */
export const test = base.extend<{ portal: Portal }>({
  portal: async ({}, use) => {
    const pace = ["--simulated-first-ms", "0", "--simulated-delta-ms", "0"];
    const portal = await Portal.start(...pace);
    await use(portal);
    await portal.stop();
  },
});

/** What scripts of the portal's users call, too. */
export class Api {
  constructor(private readonly portal: Portal) {}

  private async call<T>(path: string, body?: string): Promise<T> {
    const method = body === undefined ? "GET" : "POST";
    const response = await fetch(`${this.portal.url}/api/copilot/${path}`, { method, body });
    const answer = (await response.json()) as T & { error?: string };
    if (answer.error) throw new Error(`${path}: ${answer.error}`);
    return answer;
  }

  async startSession(folder = "/"): Promise<string> {
    return (await this.call<{ sessionId: string }>("session/start/simulated-quick", folder)).sessionId;
  }

  /** Queues a prompt. */
  async ask(session: string, prompt: string): Promise<void> {
    await this.call(`session/${session}/query`, prompt);
  }

  async startJob(job: string, folder = "/"): Promise<string> {
    return (await this.call<{ jobId: string }>(`job/start/${encodeURIComponent(job)}`, folder)).jobId;
  }

  /** Waits until a session has nothing left to do. */
  async idle(session: string): Promise<void> {
    type Sessions = { sessions: { sessionId: string; busy: boolean; queued: number }[] };
    for (;;) {
      const { sessions } = await this.call<Sessions>("session");
      const found = sessions.find(({ sessionId }) => sessionId === session);
      if (!found || (!found.busy && found.queued === 0)) return;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

/** A prompt that keeps a session at work for as long as anything here takes. */
export const ENDLESS = "Stream 100000 deltas with 20 ms between deltas after 0 ms.";
