"use strict";
// Tables that sort by their headings and filter by a word, and figures and tables that are saved as files. Nothing is loaded.
(() => {
  const shown = (cell) => [...(cell.querySelector("button") ?? cell).childNodes].filter((node) => node.nodeName !== "SMALL").map((node) => node.textContent).join("").trim();
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
    if (given.length < 9 || "arms" in table.dataset) return;
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
  // One number of labels, and arms by a word, in all tables and pictures at once.
  const sizes = [...new Set([...document.querySelectorAll("[data-labels]")].map((part) => part.dataset.labels))];
  const tables = [...document.querySelectorAll("table[data-arms]")].map((table) => {
    let heading;
    const rows = [...table.tBodies[0].rows].map((row) => {
      if (row.classList.contains("group")) heading = row;
      return { row, heading, words: `${heading?.textContent ?? ""} ${row.cells[0].textContent}`.toLowerCase() };
    });
    const isHeading = ({ row }) => row.classList.contains("group");
    return { headings: rows.filter(isHeading).map(({ row }) => row), rows: rows.filter((one) => !isHeading(one)) };
  });
  const most = Math.max(0, ...tables.map(({ rows }) => rows.length));
  if (sizes.length > 1 || most > 5) {
    const bar = document.createElement("p");
    bar.className = "filter";
    if (sizes.length > 1) {
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", "Number of labels to show");
      for (const words of ["All numbers of labels", ...sizes]) choice.add(new Option(words));
      choice.addEventListener("change", () => {
        const wanted = choice.selectedIndex ? choice.value : "";
        for (const part of document.querySelectorAll("[data-labels]")) {
          const away = wanted !== "" && part.dataset.labels !== wanted;
          if (part.nodeName !== "TH") part.hidden = away;
          else for (const row of part.closest("table").rows) if (row.cells[part.cellIndex]) row.cells[part.cellIndex].hidden = away;
        }
      });
      bar.append(choice);
    }
    if (most > 5) {
      const search = document.createElement("input");
      search.type = "search";
      search.placeholder = "Filter arms";
      search.setAttribute("aria-label", "Filter the arms of all tables");
      const count = document.createElement("span");
      count.setAttribute("role", "status");
      search.addEventListener("input", () => {
        const words = search.value.toLowerCase().split(/\s+/);
        for (const { headings, rows } of tables) {
          for (const one of rows) one.row.hidden = !words.every((word) => one.words.includes(word));
          for (const heading of headings) heading.hidden = !rows.some((one) => one.heading === heading && !one.row.hidden);
        }
        const kept = Math.max(...tables.map(({ rows }) => rows.filter((one) => !one.row.hidden).length));
        count.textContent = search.value ? `${kept} of ${most} arms` : "";
      });
      bar.append(search, count);
    }
    document.querySelector("main section")?.after(bar);
  }
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    target?.querySelector(":scope > details")?.setAttribute("open", "");
    for (let folded = target?.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    target?.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  if (location.hash) open();
  const save = (name, address) => {
    const link = document.createElement("a");
    link.download = name;
    link.href = address;
    link.click();
  };
  const offer = (place, words, label, action) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", action);
    place.append(button);
  };
  // A drawing as a document of its own, in the colours of light paper.
  const alone = (svg) => {
    const copy = svg.cloneNode(true);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ");
    copy.removeAttribute("style");
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", `${width}pt`);
    copy.setAttribute("height", `${height}pt`);
    const text = new XMLSerializer().serializeToString(copy).replaceAll("var(--ink)", "#1b1f23").replaceAll("var(--paper)", "#ffffff");
    return { address: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`, width, height };
  };
  document.querySelectorAll("figure .files").forEach((place) => {
    const { name } = place.dataset;
    const svg = place.closest("figure").querySelector("svg");
    offer(place, "SVG", `SVG of ${name}`, () => save(`${name}.svg`, alone(svg).address));
    offer(place, "PNG", `PNG of ${name}`, () => {
      const { address, width, height } = alone(svg);
      const image = new Image();
      image.addEventListener("load", () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [4 * width, 4 * height];
        const drawn = canvas.getContext("2d");
        drawn.fillStyle = "#ffffff";
        drawn.fillRect(0, 0, canvas.width, canvas.height);
        drawn.drawImage(image, 0, 0, canvas.width, canvas.height);
        save(`${name}.png`, canvas.toDataURL("image/png"));
      });
      image.src = address;
    });
  });
  // A table as it is shown, a second line of a cell in a column of its own; no cell is a formula to a spreadsheet.
  const csv = (table) => {
    const rows = [...table.rows].map((row) => [...row.cells].map((cell) => [shown(cell), cell.querySelector("small")?.textContent.trim() ?? ""]));
    const details = rows[0].map((_, column) => rows.some((row) => row[column]?.[1]));
    const field = (text) => {
      const plain = text.replaceAll("\u00a0", " ").replaceAll("−", "-");
      return `"${(/^[=+\-@]/.test(plain) && Number.isNaN(Number.parseFloat(plain)) ? `'${plain}` : plain).replaceAll('"', '""')}"`;
    };
    const title = rows[0].map(([text], column) => (details[column] ? [text, `${text}, detail`] : [text]));
    return rows.map((row, place) => row.flatMap((texts, column) => (place ? (details[column] ? texts : [texts[0]]) : title[column]).map(field)).join(",")).join("\n");
  };
  document.querySelectorAll("table").forEach((table, place) => {
    const name = `${table.closest("section")?.id || "table"}-${place + 1}`;
    const files = document.createElement("span");
    files.className = "files";
    (table.caption ?? table.createCaption()).append(files);
    offer(files, "CSV", `CSV of this table: ${name}`, () => save(`${name}.csv`, `data:text/csv;charset=utf-8,${encodeURIComponent(csv(table))}`));
  });
})();
