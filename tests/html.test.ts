/** HTML to markdown: what is kept, what is dropped, and that broken or hostile pages cost no more than their length. */
import { expect, test } from "bun:test";
import { htmlToMarkdown } from "../src/html.ts";
import { decodeEntities } from "../src/html-tokens.ts";
import { growth } from "./support/growth.ts";
import { rounds } from "./support/rounds.ts";

const markdown = (html: string): string => htmlToMarkdown(html, "https://example.org/docs/page").text;

test.each<[name: string, html: string, text: string]>([
  ["headings", "<h1>A</h1><h2>B <em>c</em></h2><h6>F</h6>", "# A\n\n## B *c*\n\n###### F"],
  ["paragraphs and blanks", "<p>one\n  two</p><p>three</p>  <div>four</div>", "one two\n\nthree\n\nfour"],
  ["line ends", "a<br>b<br/>c", "a\nb\nc"],
  [
    "links, resolved",
    '<a href="/x">a</a> <a href="y?z=1">b</a> <a href="//o.org/">c</a>',
    "[a](https://example.org/x) [b](https://example.org/docs/y?z=1) [c](https://o.org/)",
  ],
  [
    "links that lead nowhere",
    '<a href="#top">a</a> <a href="javascript:x()">b</a> <a>c</a> <a href="https://e.org"></a>',
    "a b c",
  ],
  ["a base address", '<base href="https://b.org/q/"><a href="x">a</a>', "[a](https://b.org/q/x)"],
  ["marks with their blanks outside", "a<b> bold </b>b<i>it</i>", "a **bold** b*it*"],
  ["code", "use <code>a  b</code> and <code>x`y</code>", "use `a b` and `` x`y ``"],
  [
    "blocks of code",
    '<pre><code class="hljs language-ts">if (a &lt; b) {\n  <span>c</span>\n}\n</code></pre>',
    "```ts\nif (a < b) {\n  c\n}\n```",
  ],
  ["blocks of code with fences inside", "<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"],
  [
    "lists",
    "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>x</li><li><p>y</p></li></ol>",
    "- a\n- b\n  - c\n\n1. x\n2. y",
  ],
  ["lists without end tags", "<ul><li>a<li>b<ol><li>c<li>d</ol><li>e</ul>", "- a\n- b\n  1. c\n  2. d\n- e"],
  ["quotes", "<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"],
  [
    "tables",
    "<table><tr><th>A</th><th>B</th></tr><tr><td>1|2</td><td><p>3</p><p>4</p></td></tr></table>",
    "| A | B |\n| --- | --- |\n| 1\\|2 | 3 4 |",
  ],
  ["tables without end tags", "<table><thead><tr><th>A<th>B<tbody><tr><td>1<td>", "| A | B |\n| --- | --- |\n| 1 |  |"],
  ["rules and pictures", 'a<hr>b <img alt="a  cat" src=x><img src=y>', "a\n\n---\n\nb ![a cat]"],
  [
    "nothing of scripts, styles, comments",
    "<style>p{}</style><script>if (a<b) '<p>no</p>'</script>yes<!-- no <p> --><template>no</template><svg><text>no</text></svg>",
    "yes",
  ],
  ["text that only looks like tags", "1 < 2 && 3 > 2 <3", "1 < 2 && 3 > 2 <3"],
  ["attributes in every form", "<a title='x>y' data-a=1 HREF=https://e.org/a disabled>t</a>", "[t](https://e.org/a)"],
  ["stray and crossed end tags", "</p></ul>a<b>b<i>c</b>d</i>", "a**b*c***d"],
  ["an unclosed script", "a<script>b", "a"],
  ["an unfinished tag", "a<a href='x", "a"],
])("%s", (_, html, text) => {
  expect(markdown(html)).toBe(text);
});

test("the title is apart from the text", () => {
  expect(htmlToMarkdown("<head><title>A &amp;\n B</title></head><body>c</body>", "https://e.org")).toEqual({
    title: "A & B",
    text: "c",
  });
});

test.each([
  ["&amp;&lt;&gt;&quot;&#39;&#x27;", "&<>\"''"],
  ["&eacute;&nbsp;&mdash;", "é —"],
  ["&#128512;&#x1F600;", "😀😀"],
  ["&#0;&#xD800;&#9999999;", "\ufffd\ufffd\ufffd"],
  ["&unknown; & &; AT&T &constructor;", "&unknown; & &; AT&T &constructor;"],
  ["a?b=1&copy=2", "a?b=1©=2"],
])("entities in %j", (text, decoded) => {
  expect(decodeEntities(text)).toBe(decoded);
});

test.each([
  "<a",
  "<div>",
  "<a href='",
  "<ul><li>",
  "<table><tr><td>",
  "<!--",
  "<script>",
  "<textarea></",
  "<b>x",
  "<pre>",
  "<blockquote>a",
  "&",
  "<x a=",
  "<p/",
  "</",
  "<a href=x>",
])("many times %j takes time by its length, not by its square", async (piece) => {
  const page = (count: number) => () => markdown(piece.repeat(count));
  expect(await growth(page, rounds(800, 1250))).toBeLessThan(8);
});

test("a page may hold more runs of backticks than a call may have arguments", () => {
  const { text } = htmlToMarkdown(`<pre>${"```` ".repeat(500_000)}</pre>`, "https://a.example/");
  expect(text).toStartWith("`````\n```` ");
});
