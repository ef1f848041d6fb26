// Formulas reach the page as \( ... \) or \[ ... \] inside elements of class "arithmatex".
document$.subscribe(({ body }) => {
  for (const element of body.querySelectorAll(".arithmatex:not([data-rendered])")) {
    const source = element.textContent.trim();
    katex.render(source.slice(2, -2), element, {
      displayMode: source.startsWith("\\["),
      throwOnError: false,
    });
    element.dataset.rendered = "true";
  }
});
