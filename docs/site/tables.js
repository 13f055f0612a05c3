// Tables that are wider than the page are put into a scrolling box by the theme; this lets the keyboard and screen readers reach the box.
const reachTables = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    box.tabIndex = 0
    box.setAttribute("role", "group")
    box.setAttribute("aria-label", "Table")
  }
}
new MutationObserver(reachTables).observe(document.body, { childList: true, subtree: true })
reachTables()
