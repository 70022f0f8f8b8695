"use strict";
// Tables that sort by their headings and filter by a word, and folded parts that open for print. Nothing is loaded.
(() => {
  const shown = (cell) => [...cell.childNodes].filter((node) => node.nodeName !== "SMALL").map((node) => node.textContent).join("").trim();
  const numberOf = (cell) => {
    if ("value" in cell.dataset) return Number.parseFloat(cell.dataset.value);
    const found = /^[<>×+\s]*(-?[\d.]+)/.exec(shown(cell).replaceAll("−", "-").replaceAll(",", ""));
    return found ? Number.parseFloat(found[1]) : Number.NaN;
  };
  const sortable = (table) => {
    const body = table.tBodies[0];
    const given = [...body.rows];
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const numeric = heading.classList.contains("number");
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const directions = numeric ? ["descending", "ascending", null] : ["ascending", "descending", null];
        const next = directions[(directions.indexOf(heading.getAttribute("aria-sort")) + 1) % 3];
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        if (next) heading.setAttribute("aria-sort", next);
        const sign = next === "descending" ? -1 : 1;
        const order = !next ? given : given.map((row) => [row, numeric ? numberOf(row.cells[column]) : shown(row.cells[column])]).sort(([, one], [, other]) => {
          if (!numeric) return sign * one.localeCompare(other);
          if (Number.isNaN(one) || Number.isNaN(other)) return Number.isNaN(one) - Number.isNaN(other);
          return one === other ? 0 : sign * (one < other ? -1 : 1);
        }).map(([row]) => row);
        body.append(...order);
      });
    });
    if (given.length < 9) return;
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "Filter rows";
    search.setAttribute("aria-label", `Filter the rows of: ${table.caption ? table.caption.textContent : "table"}`);
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/);
      for (const row of given) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      count.textContent = search.value ? `${given.filter((row) => !row.hidden).length} of ${given.length} rows` : "";
    });
    const bar = document.createElement("p");
    bar.className = "filter";
    bar.append(search, count);
    table.parentElement.before(bar);
  };
  document.querySelectorAll("table.sortable").forEach(sortable);
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    target?.querySelector(":scope > details")?.setAttribute("open", "");
    for (let folded = target?.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    target?.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  if (location.hash) open();
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const folded of opened) folded.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const folded of opened) folded.open = false;
  });
})();
