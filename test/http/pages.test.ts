import { expect, test } from "vitest";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("the pages' policies allow only their own style, and no page names another address", async () => {
  for (const path of ["/", "/topup/done", "/topup/cancelled", "/onboarding/done", "/onboarding/expired"]) {
    const page = await rest(service.url, "GET", path);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:/);
    expect(page.text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(page.text).not.toMatch(/<script>|<script [^>]*>[^<]|\son\w+=|\sstyle=/);
  }
});
