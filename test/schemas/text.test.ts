import { expect, test } from "vitest";
import { line, text } from "../../server/schemas/common.ts";
import { canonicalEmail, Password, PasswordAttempt } from "../../server/schemas/user.ts";

test("a line has no line break and no control character, in any position", () => {
  const Title = line(3, 120);
  for (const bad of ["abc\ndef", "abc\u2028def", "\u001b[31mred", "abc\u0007"]) {
    expect(Title.safeParse(bad).success, JSON.stringify(bad)).toBe(false);
  }
  expect(Title.parse(" Käännä ruokalista 👨‍👩‍👧‍👦\n")).toBe("Käännä ruokalista 👨‍👩‍👧‍👦");
  expect(text(1, 100).parse("one\ntwo\t")).toBe("one\ntwo\t");
});

test("an invisible character cannot make a second account with an address that looks the same", () => {
  for (const bad of ["a\u200bda@example.com", "\u202eada@example.com", "ada\u00ad@example.com"]) {
    expect(canonicalEmail(bad), JSON.stringify(bad)).toBeNull();
  }
  expect(canonicalEmail(" Ädä@BÜCHER.example ")).toBe("ädä@xn--bcher-kva.example");
});

test("a password's length is counted in characters, and every password that can be set can be tried", () => {
  const family = "👨‍👩‍👧‍👦";
  expect(Password.safeParse(family.repeat(7)).success).toBe(false);
  expect(Password.safeParse(family.repeat(8)).success).toBe(true);
  const longest = family.repeat(128);
  expect(PasswordAttempt.parse(Password.parse(longest))).toBe(longest);
  expect(Password.safeParse("x".repeat(129)).success).toBe(false);
});
