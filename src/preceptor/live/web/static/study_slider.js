// A slider above the field for a number. It has no value until it is touched; the field is
// what is sent and shows the slider's value, and either moves the other.
'use strict'
for (const box of document.querySelectorAll('[data-slider]')) {
  const field = box.querySelector('input')
  const slider = document.createElement('input')
  const { low, high, places, untouched: unsaid = 'no answer yet' } = box.dataset
  slider.type = 'range'
  slider.min = low
  slider.max = high
  slider.step = places
  slider.value = (Number(low) + Number(high)) / 2
  slider.setAttribute('aria-label', document.querySelector(`label[for="${field.id}"]`).textContent)
  const decimals = Math.max(0, Math.round(-Math.log10(Number(places))))
  const untouched = () => {
    slider.classList.add('untouched')
    slider.setAttribute('aria-valuetext', unsaid)
  }
  const touched = () => {
    slider.classList.remove('untouched')
    slider.removeAttribute('aria-valuetext')
  }
  const say = () => {
    touched()
    field.value = Number(slider.value).toFixed(decimals)
  }
  const hear = () => {
    const typed = Number(field.value.trim().replace(',', '.'))
    if (field.value.trim() === '' || Number.isNaN(typed)) return untouched()
    slider.value = typed
    touched()
  }
  // A click in the very middle changes no value, but is an answer all the same.
  for (const event of ['input', 'change', 'pointerup', 'click']) slider.addEventListener(event, say)
  field.addEventListener('input', hear)
  untouched()
  hear()
  box.prepend(slider)
}
