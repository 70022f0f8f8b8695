// Blocks of code that scroll are reached by the keyboard, and the landmarks of their buttons have names of their own.
const reach = () => {
  for (const code of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) code.tabIndex = 0;
  document.querySelectorAll(".md-code__nav").forEach((nav, place) => nav.setAttribute("aria-label", `Code ${place + 1}`));
};
reach();
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
