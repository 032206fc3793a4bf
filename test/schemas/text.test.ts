import { expect, test } from "vitest";
import { line, text } from "../../server/schemas/common.ts";
import { canonicalEmail, Password, PasswordAttempt } from "../../server/schemas/user.ts";

const family = "👨‍👩‍👧‍👦"; // 7 code points

test("a line has no line break and no control character, in any position", () => {
  const Title = line(1, 120);
  for (const bad of ["abc\ndef", "abc\u2028def", "\u001b[31mred", "abc\u0007"]) {
    expect(Title.safeParse(bad).success, JSON.stringify(bad)).toBe(false);
  }
  expect(Title.parse(` Käännä ruokalista ${family}\n`)).toBe(`Käännä ruokalista ${family}`);
  expect(text(1, 100).parse("one\ntwo\t")).toBe("one\ntwo\t");
});

test("of the invisible characters, a line refuses only direction overrides and isolates", () => {
  const Title = line(1, 20);
  for (let codePoint = 0x2000; codePoint <= 0x206f; codePoint++) {
    const isRefused =
      (codePoint >= 0x202a && codePoint <= 0x202e) ||
      (codePoint >= 0x2066 && codePoint <= 0x2069) ||
      codePoint === 0x2028 ||
      codePoint === 0x2029;
    const title = `a${String.fromCodePoint(codePoint)}b`;
    expect([codePoint.toString(16), Title.safeParse(title).success]).toEqual([codePoint.toString(16), !isRefused]);
  }
  // Persian with a zero-width non-joiner, Sinhala with a joiner, a soft hyphen, a variation selector, right-to-left marks.
  for (const title of ["می‌خواهم", "ශ්‍රී", "Donau\u00addampf", "☎\ufe0f", "\u200fעברית\u200e"]) {
    expect(Title.parse(title)).toBe(title);
  }
});

test("a length is counted in code points", () => {
  const Text = text(2, 14);
  for (const accepted of ["ab", "🐧🐧", "e\u0301", family.repeat(2), "🐧".repeat(14)]) {
    expect(Text.safeParse(accepted).success, accepted).toBe(true);
  }
  for (const refused of ["", "a", "🐧", `${family}${family}x`, "🐧".repeat(15)]) {
    expect(Text.safeParse(refused).success, refused).toBe(false);
  }
});

test("an invisible character cannot make a second account with an address that looks the same", () => {
  for (const bad of ["a\u200bda@example.com", "\u202eada@example.com", "ada\u00ad@example.com"]) {
    expect(canonicalEmail(bad), JSON.stringify(bad)).toBeNull();
  }
  expect(canonicalEmail(" Ädä@BÜCHER.example ")).toBe("ädä@xn--bcher-kva.example");
});

test("every password that can be set, or could be set when lengths were counted in graphemes, can be tried", () => {
  expect(Password.safeParse("🐧".repeat(7)).success).toBe(false);
  expect(Password.safeParse("🐧".repeat(128)).success).toBe(true);
  expect(Password.safeParse("x".repeat(129)).success).toBe(false);
  const longest = family.repeat(128);
  expect(PasswordAttempt.parse(longest)).toBe(longest);
});
