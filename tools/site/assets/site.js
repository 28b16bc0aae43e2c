// What the theme leaves out for people without a mouse or a screen: code and tables that scroll can be focused, and the
// buttons of each block have a name of their own.
function complete() {
  document.querySelectorAll("pre > code, .md-typeset__scrollwrap").forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  });
  document.querySelectorAll(".md-code__nav").forEach((nav, number) => {
    const label = `Code block ${number + 1}`;
    if (nav.getAttribute("aria-label") !== label) nav.setAttribute("aria-label", label);
  });
}
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", complete);

// A long word of a table or a title, such as a path, may go on in the next line behind a mark.
document.querySelectorAll("td, td *, h1 code").forEach((part) => {
  [...part.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && /\S{16}/.test(node.data)).forEach((node) => {
    const pieces = node.data.split(/(?<=[./,:_([])(?=\w)/);
    node.replaceWith(...pieces.flatMap((piece) => [document.createElement("wbr"), piece]).slice(1));
  });
});

// The list of codes shows the rows that have every word of the filter, in the row or in the headings above it.
const frame = (row) => row.closest(".md-typeset__scrollwrap") ?? row.closest("table");
function filter(place) {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "denies InferenceService runtime" });
  const count = Object.assign(document.createElement("p"), { ariaLive: "polite" });
  label.append("Filter by code, effect, kind, field or words of the message", input);
  place.append(label, count);
  const rows = [];
  let heads = [], level = [];
  place.parentElement.querySelectorAll("h2, h3, tbody tr").forEach((part) => {
    if (part.tagName === "TR") {
      rows.push({ part, heads: [...level], words: [part, ...level].map((each) => each.textContent).join(" ").toLowerCase() });
    } else {
      level = part.tagName === "H2" ? [part] : [level[0], part];
      heads.push(part);
    }
  });
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    const shown = rows.filter((row) => words.every((word) => row.words.includes(word)));
    const seen = new Set(shown.flatMap((row) => [row.part, frame(row.part), ...row.heads]));
    const all = new Set(rows.flatMap((row) => [row.part, frame(row.part)]).concat(heads));
    all.forEach((part) => { part.hidden = !seen.has(part); });
    count.textContent = `${shown.length} of ${rows.length} codes`;
  });
}
document.querySelectorAll(".mg-filter").forEach(filter);
complete();
