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
complete();
