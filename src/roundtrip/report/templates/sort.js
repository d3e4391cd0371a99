// A table whose headings sort its rows by their words. Numbers are compared inside a metric, which
// the first column names.

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, at) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(...head.childNodes);
    head.append(made);
    made.addEventListener("click", () => {
      const isUp = head.getAttribute("aria-sort") !== "ascending";
      for (const one of heads) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      const words = (row, column) => row.cells[column].textContent.trim();
      const order = (a, b, column) => words(a, column).localeCompare(words(b, column), "en", { numeric: true });
      const value = (row) => row.cells[at].dataset.value, sign = isUp ? 1 : -1;
      const rows = [...body.rows].sort((a, b) => (value(a) === undefined
        ? sign * order(a, b, at) : order(a, b, 0) || sign * (Number(value(a)) - Number(value(b)))));
      body.append(...rows);
      for (const row of rows) row.cells[0].classList.remove("again");
    });
  });
}
