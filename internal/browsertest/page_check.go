// SPDX-License-Identifier: Apache-2.0

package browsertest

// unlabelled returns the controls of a page without a name for screen readers, duplicate ids, missing
// descriptions, headings that leave a level out, and elements wider than the page.
const unlabelled = `(() => {
  const faults = [];
  for (const e of document.querySelectorAll('input:not([type=hidden]):not([hidden]), select, textarea'))
    if (![...e.labels ?? []].some(l => l.textContent.trim()) && !e.getAttribute('aria-label')) faults.push('no label: ' + e.outerHTML);
  for (const e of document.querySelectorAll('button, a[href], summary'))
    if (!(e.getAttribute('aria-label') || e.textContent.trim())) faults.push('no name: ' + e.outerHTML);
  for (const e of document.querySelectorAll('svg'))
    if (!e.getAttribute('aria-label') || e.getAttribute('role') !== 'img') faults.push('no words: ' + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) faults.push('no alt: ' + e.outerHTML);
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (ids.has(e.id)) faults.push('twice: ' + e.id);
    ids.add(e.id);
  }
  for (const name of ['aria-describedby', 'aria-labelledby', 'for'])
    for (const e of document.querySelectorAll('[' + name + ']'))
      for (const id of e.getAttribute(name).split(' ')) if (!ids.has(id)) faults.push(name + ' of nothing: ' + e.outerHTML);
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3')) {
    const next = Number(e.tagName[1]);
    if (next > level + 1) faults.push('level: ' + e.outerHTML);
    level = next;
  }
  if (document.querySelectorAll('h1').length !== 1) faults.push('headings of level 1: ' + document.querySelectorAll('h1').length);
  if (document.querySelectorAll('main').length !== 1 || !document.documentElement.lang || !document.title) faults.push('no main, language or title');
  return faults;
})()`

// CheckPage makes the checks of a page that need no person, at each width, and takes
// screenshots.
func (b *Page) CheckPage(name string) {
	b.Helper()
	for _, fault := range Evaluate[[]string](b, unlabelled) {
		b.Errorf("%s: %s", name, fault)
	}
	for _, l := range []look{looks[2], looks[0]} { // the second is that of the page that follows
		b.setLook(l)
		if wider := Evaluate[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wider > 0 {
			b.Errorf("%s: at %d pixels the page is %d wider", name, l.width, wider)
		}
	}
	b.TakeScreenshots(name)
}
