// Order of search results: pages for users first, then reference, then measurements, then decisions and the changelog.
// Sphinx gives 5 for a word in a text and 15 for a word in a heading; equal scores are in alphabetical order.
var Scorer = {
  score: ([page, , , , score, , kind]) => score + (kind === "title" ? 10 : 0)      // a heading that is hardly more than the query
    - ({decisions: 30, benchmarks: 12, reference: 8}[page.split("/")[0]] || 0) - (page === "reference/changelog" ? 22 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
