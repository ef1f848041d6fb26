// Values next to sliders as they move, and buttons that copy. All else is done by the server.

document.documentElement.classList.add('with-script')

// A form that changes says so now and then while it does, and once more when it rests: htmx's own
// throttle would lose the last value.
const PAUSE = 60
let pending

document.addEventListener('input', event => {
  const shown = document.querySelector(`output[for="${event.target.id}"]`)
  if (shown) shown.textContent = [event.target.value, shown.dataset.unit].join(' ').trim()
  const form = event.target.closest('#controls')
  if (!form || pending) return
  pending = setTimeout(() => {
    pending = undefined
    form.dispatchEvent(new Event('moved'))
  }, PAUSE)
})

document.addEventListener('click', async event => {
  const what = event.target.dataset.copy
  if (!what) return
  const words = event.target.textContent
  try {
    await navigator.clipboard.writeText(document.getElementById(what).textContent)
    event.target.textContent = 'Copied'
  } catch {
    getSelection().selectAllChildren(document.getElementById(what))
    event.target.textContent = 'Selected: copy it with your keyboard'
  }
  setTimeout(() => { event.target.textContent = words }, 2000)
})
