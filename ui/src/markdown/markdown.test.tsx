/** Whatever a model writes, nothing of it loads or runs anything. */
import { cleanup, render } from "@testing-library/react";
import fc from "fast-check";
import ReactMarkdown from "react-markdown";
import { afterEach, describe, expect, it, vi } from "vitest";
import { safeAddress } from "./links";
import { Markdown } from "./markdown";

// Colours come from a chunk of their own, later; here they never do.
vi.mock("./highlight", () => ({ tokenize: () => Promise.reject(new Error("no colours")) }));

afterEach(cleanup);

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg/onload=alert(1)>",
  '<iframe src="https://evil.example"></iframe>',
  '<a href="javascript:alert(1)">x</a>',
  "<style>@import url(https://evil.example/x.css)</style>",
  '<link rel=stylesheet href="https://evil.example/x.css">',
  '<meta http-equiv=refresh content="0;url=https://evil.example">',
  "<form action=https://evil.example><input type=submit></form>",
  "<object data=https://evil.example></object><embed src=https://evil.example>",
  "<video src=https://evil.example poster=https://evil.example></video>",
  "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
  "[a](javascript:alert(1))",
  "[a](JaVaScRiPt:alert(1))",
  "[a](java\u0009script:alert(1))",
  "[a](&#106;avascript:alert(1))",
  "[a](javascript&colon;alert(1))",
  "[a](\u0001javascript:alert(1))",
  "[a](data:text/html,<script>alert(1)</script>)",
  "[a](vbscript:x) [b](file:///etc/passwd) [c](blob:https://x/1)",
  "[a](/api/v1/oidc/x/start) [b](//evil.example) [c](#top) [d](../x) [e](?a=1)",
  "[bank](https://bank.example@evil.example/)",
  "[a]: javascript:alert(1)\n\n[a]",
  "![x](https://evil.example/pixel.gif)",
  "![x](data:image/svg+xml;base64,PHN2Zz4=)",
  "![x](javascript:alert(1))",
  "[![x](https://evil.example/a.png)](javascript:alert(1))",
  "<https://ok.example> <javascript:alert(1)>",
  "https://ok.example/\u202Egpj.exe",
  "```html\n<img src=x onerror=alert(1)>\n```",
  "```<img/src=x>\ncode\n```",
  "| a |\n| --- |\n| <img src=x onerror=alert(1)> |",
  "- [ ] <input autofocus onfocus=alert(1)>",
  "text[^1]\n\n[^1]: <b onclick=alert(1)>note</b>",
  '<div style="background:url(https://evil.example)">x</div>',
  "<!--><img src=x onerror=alert(1)>-->",
  "\\<script>alert(1)\\</script>",
];

const LOADS =
  "script, iframe, object, embed, img, image, picture > source, video, audio, link, meta, style, base, form, use, foreignObject, math";
const RUNS =
  /^on|^(?:src|srcset|srcdoc|action|formaction|poster|background|data|ping|xlink:href|style)$/i;
const SCHEMES = /^(?:https?|mailto):/;

function harmOf(root: Element): string[] {
  const harm = [...root.querySelectorAll(LOADS)].map((element) => `<${element.localName}>`);
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (RUNS.test(name)) harm.push(`${element.localName}[${name}]`);
      if (name === "href" && !SCHEMES.test(value)) harm.push(`href=${value}`);
      if (name === "target" && element.getAttribute("rel") !== "noopener noreferrer")
        harm.push("rel");
    }
  }
  return harm;
}

describe("hostile Markdown", () => {
  it.each(HOSTILE)("does no harm: %s", (text) => {
    for (const isLive of [false, true]) {
      const { container } = render(<Markdown text={text} isLive={isLive} />);
      expect(harmOf(container)).toEqual([]);
      cleanup();
    }
  });

  it("does no harm cut anywhere and put together anyhow", () => {
    const cut = fc
      .tuple(fc.constantFrom(...HOSTILE), fc.nat(60), fc.nat(60))
      .map(([text, from, length]) => text.slice(from % text.length, (from % text.length) + length));
    fc.assert(
      fc.property(
        fc.array(cut, { minLength: 1, maxLength: 5 }),
        fc.constantFrom("", "\n", "\n\n", "](", "> "),
        (cuts, glue) => {
          const { container } = render(<Markdown text={cuts.join(glue)} isLive />);
          expect(harmOf(container)).toEqual([]);
          cleanup();
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);

  it.each([
    ["addresses are not looked at", "[a](javascript:alert(1))", {}],
    ["images are fetched", "![x](https://evil.example/pixel.gif)", { a: "span" as const }],
  ])("would be seen if %s", (_mutant, text, components) => {
    const { container } = render(
      <ReactMarkdown urlTransform={(address) => address} components={components}>
        {text}
      </ReactMarkdown>,
    );
    expect(harmOf(container)).not.toEqual([]);
  });

  it("shows raw HTML as the text that it is", () => {
    const { container } = render(<Markdown text={"a <b onclick=x>bold</b> word"} />);
    expect(container.textContent).toBe("a <b onclick=x>bold</b> word");
  });

  it("names the host of an image instead of fetching it", () => {
    const { container } = render(<Markdown text="![tide](https://images.example.com/t.png)" />);
    expect(container.textContent).toBe("Image “tide” · images.example.com");
  });
});

describe("pictures of a trusted host", () => {
  const trust = (hosts: string) => {
    const meta = document.createElement("meta");
    meta.name = "image-hosts";
    meta.content = hosts;
    document.head.append(meta);
  };
  const fetched = (text: string, isLive = false) => {
    const { container } = render(<Markdown text={text} isLive={isLive} />);
    return [...container.querySelectorAll("img")].map((img) => img.getAttribute("src"));
  };
  afterEach(() => document.querySelector('meta[name="image-hosts"]')?.remove());

  it("are shown, and tell their host nothing of where they stand", () => {
    trust("a.example images.example:8443");
    const { container } = render(<Markdown text="![tide](https://images.example:8443/t.png)" />);
    const img = container.querySelector("img");
    expect(img?.getAttribute("src")).toBe("https://images.example:8443/t.png");
    expect(img?.getAttribute("alt")).toBe("tide");
    expect(img?.getAttribute("referrerpolicy")).toBe("no-referrer");
  });

  it.each([
    "https://b.example/t.png",
    "https://sub.a.example/t.png",
    "https://a.example.evil.example/t.png",
    "https://a.example:8443/t.png",
    "https://a.example@evil.example/t.png",
    "http://a.example/t.png",
    "//a.example/t.png",
    "mailto:x@a.example",
  ])("are no others: %s", (address) => {
    trust("a.example");
    expect(fetched(`![tide](${address})`)).toEqual([]);
  });

  it("are fetched by whole addresses only, never by what is half said", () => {
    trust("a.example");
    const text = "See ![tide](https://a.example/tide/low.png) there";
    for (let at = 1; at <= text.length; at++) {
      const whole = at > text.indexOf(")");
      const wanted = whole ? ["https://a.example/tide/low.png"] : [];
      expect(fetched(text.slice(0, at), true)).toEqual(wanted);
      cleanup();
    }
  });
});

describe("addresses", () => {
  it.each(["https://a.example/x", "http://10.0.0.1:8080", "mailto:a@b.example"])(
    "%s may be a link",
    (address) => {
      expect(safeAddress(address)).not.toBeNull();
    },
  );

  it.each([
    "",
    null,
    undefined,
    "/api",
    "//a.example",
    "javascript:0",
    "data:,x",
    "https://",
    "https://a@b.example",
  ])("%s may not", (address) => expect(safeAddress(address)).toBeNull());
});

describe("what is drawn", () => {
  it("is the same in the end, however it came", () => {
    const text =
      "# A\n\nsome **bold** and `code`\n\n- one\n- two\n\n```py\nx = 1\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n";
    const whole = render(<Markdown text={text} />).container.innerHTML;
    cleanup();
    const { container, rerender } = render(<Markdown text="" isLive />);
    for (let at = 1; at <= text.length; at += 3)
      rerender(<Markdown text={text.slice(0, at)} isLive />);
    rerender(<Markdown text={text} />);
    // Ids are made by the page, in the order of mounting.
    const bare = (html: string) => html.replaceAll(/id="[^"]*"/g, "");
    expect(bare(container.innerHTML)).toBe(bare(whole));
  });
});

it("a paragraph too long to be parsed is shown as it was written", () => {
  const sentence = "The tide comes in `twice` and *nobody* asked **it** to. ";
  const { container } = render(<Markdown text={`${sentence.repeat(2_000)}\n\nAnd *then*.`} />);
  const [long, short] = container.querySelectorAll("p");
  expect(long?.textContent).toBe(sentence.repeat(2_000).trimEnd());
  expect(long?.querySelector("em, code")).toBeNull();
  expect(short?.querySelector("em")?.textContent).toBe("then");
});

describe("footnotes", () => {
  const notes =
    "Tides[^t] and kelp[^k].\n\nAgain tides[^t].\n\n[^k]: Kelp grows *fast*.\n\n[^t]: The moon.\n";

  it("are numbered across the message and listed at its end, once", () => {
    const { container } = render(<Markdown text={notes} />);
    const marks = [...container.querySelectorAll("sup")].map((mark) => mark.textContent);
    expect(marks).toEqual(["1", "2", "1"]);
    const list = [...container.querySelectorAll(".footnotes li")].map((note) => note.textContent);
    expect(list).toEqual(["The moon.", "Kelp grows fast."]);
    expect(container.querySelector(".footnotes em")?.textContent).toBe("fast");
    expect(container.textContent?.match(/The moon/g)).toHaveLength(1);
  });

  it("that nothing refers to are not lost", () => {
    const { container } = render(<Markdown text={"Words.\n\n[^x]: A note."} />);
    expect(container.textContent).toContain("A note.");
  });

  it("inside a quote are drawn where they are", () => {
    const { container } = render(<Markdown text={"a[^q]\n\n> see[^q]\n>\n> [^q]: quoted"} />);
    expect(container.querySelector("blockquote")?.textContent).toContain("quoted");
    expect(container.querySelector(".footnotes")).toBeNull();
  });

  it("do not swallow what is indented after a reference", () => {
    const { container } = render(<Markdown text={"    code[^t]\n\n[^t]: The moon."} />);
    expect(container.querySelector("pre")?.textContent).toContain("code[^t]");
  });

  it("are words while their definition has not come", () => {
    const { container } = render(<Markdown text="Tides[^t]." isLive />);
    expect(container.textContent).toContain("[^t]");
  });
});

describe("maths that KaTeX does not know", () => {
  const shown = (text: string) => render(<Markdown text={text} />).container;

  it.each([
    "$\\no a*b*c$",
    "$\\no x_1 + y_1$ and $\\no x_2$",
    "$$\\no a*b*c$$ in a line",
    "\\(\\no a*b*c\\) in a line",
    "$$\n\\no\\frac{a*b*}{c} \\\\\n\n<b>\n$$",
    "\\[\n\\no x^2 * y^2 *\n\\]",
  ])("shows its source as it was written: %j", (text) => {
    expect(shown(text).textContent).toBe(text);
  });

  it("leaves prices and code alone", () => {
    const container = shown("from $5 to *$10*, `$a*b*$` and $7");
    expect(container.textContent).toBe("from $5 to $10, $a*b*$ and $7");
    expect(container.querySelector("em")?.textContent).toBe("$10");
  });
});

describe("every word of the source is seen", () => {
  /** Distinct words, also of a script that is written from right to left. */
  const WORD = fc.oneof(
    fc.stringMatching(/^[a-z]{3,8}$/),
    fc.constantFrom("שלום", "مرحبا", "עולם", "straße", "日本語"),
  );
  const WORDS = fc.array(WORD, { minLength: 1, maxLength: 3 }).map((all) => all.join(" "));
  const LABEL = fc.constantFrom("a", "b", "note");
  const LINE = fc.oneof(
    WORDS,
    fc.tuple(fc.integer({ min: 1, max: 6 }), WORDS).map(([n, text]) => `${"#".repeat(n)} ${text}`),
    fc
      .tuple(fc.constantFrom("- ", "* ", "1. ", "2) ", "  - ", "- [ ] "), WORDS)
      .map((x) => x.join("")),
    WORDS.map((text) => `> ${text}`),
    WORDS.map((text) => `**${text}** and *${text}* ~~${text}~~`),
    fc
      .tuple(WORD, WORD)
      .map(([one, two]) => `| ${one} | ${two} |\n| --- | --- |\n| ${two} | ${one} |`),
    WORDS.map((text) => `\`${text}\``),
    WORDS.map((text) => `\`\`\`py\n${text}\n\n${text}\n\`\`\``),
    WORDS.map((text) => `    ${text}`),
    fc.tuple(WORD, LABEL).map(([word, label]) => `${word}[^${label}]`),
    fc.tuple(LABEL, WORDS).map(([label, text]) => `[^${label}]: ${text}`),
    fc.tuple(LABEL, WORDS, WORDS).map(([label, x, y]) => `[^${label}]: ${x}\n\n    ${y}`),
    fc.tuple(LABEL, WORDS).map(([label, text]) => `> [^${label}]: ${text}`),
    WORDS.map((text) => `$${text}$ and $$${text}$$`),
    WORDS.map((text) => `$$\n${text}\n\n${text}\n$$`),
    WORDS.map((text) => `\\[ ${text} \\] \\(${text}\\)`),
    WORDS.map((text) => `:::note\n${text}\n\n${text}\n:::`),
    fc.constantFrom("$$", ":::", ":::note", "\\[", "```", "---", "==="),
    WORD.map((word) => `<${word} ${word}="x">${word}</${word}>`),
    WORD.map((word) => `<div>\n${word}\n</div>`),
    WORD.map((word) => `<!-- ${word}`),
    WORD.map((word) => `[${word}](https://${word}.example) https://a.example`),
    fc.constant(""),
  );
  /** Marks of Markdown are no words; nor are labels of footnotes, and addresses of links. */
  const wordsOf = (source: string) =>
    source.replaceAll(/\]\([^)]*\)|\[\^\w+\]|```py|(?<!<!)--+/g, " ").match(/\p{L}{3,}/gu) ?? [];

  it.each([false, true])(
    "isLive: %s",
    (isLive) => {
      fc.assert(
        fc.property(fc.array(LINE, { maxLength: 10 }), (lines) => {
          const source = lines.join("\n");
          const { container, unmount } = render(<Markdown text={source} isLive={isLive} />);
          const seen = container.textContent ?? "";
          unmount();
          for (const word of wordsOf(source)) expect(seen).toContain(word);
        }),
        { numRuns: 100 },
      );
    },
    120_000,
  );

  it("and nothing that was not written", () => {
    const { container } = render(
      <Markdown text={"<!-- [x] and [^a]\n\n[x]: https://secret.example\n\n[^a]: note"} />,
    );
    expect(container.textContent).not.toContain("secret");
  });
});
