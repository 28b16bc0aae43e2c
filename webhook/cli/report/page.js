"use strict";
const filters = [...document.querySelectorAll("[data-filter]")];
const objects = [...document.querySelectorAll("article")];
const shown = document.getElementById("shown");
const fits = (item, filter) => !filter.value || item.dataset[filter.dataset.filter] === filter.value;

function apply() {
  const words = document.getElementById("search").value.toLowerCase();
  const ofObjects = filters.filter((each) => each.dataset.of === "object");
  const ofFindings = filters.filter((each) => each.dataset.of === "finding");
  let count = 0;
  for (const object of objects) {
    let visible = 0;
    const within = ofObjects.every((filter) => fits(object, filter));
    const named = object.dataset.text.includes(words);
    for (const finding of object.querySelectorAll("li[data-code]")) {
      const is = within && ofFindings.every((filter) => fits(finding, filter)) &&
        (named || finding.textContent.toLowerCase().includes(words));
      finding.hidden = !is;
      visible += is;
    }
    object.hidden = !visible;
    count += visible;
  }
  shown.textContent = `${count} shown`;
}

for (const each of [...filters, document.getElementById("search")]) each.addEventListener("input", apply);
document.getElementById("all").addEventListener("click", () => {
  for (const each of [...filters, document.getElementById("search")]) each.value = "";
  apply();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    document.getElementById("search").focus();
  }
});
apply();
