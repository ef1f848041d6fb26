// Seconds for which the page of a case was open, by a clock that cannot be set; sent with the answer.
// A form that was refused brings the seconds before it.
'use strict'
const elapsed = document.querySelector('input[name=elapsed]')
const before = Number(elapsed.value) || 0
const start = performance.now()
elapsed.form.addEventListener('submit', () => {
  elapsed.value = (before + (performance.now() - start) / 1000).toFixed(3)
})
