// SPDX-License-Identifier: Apache-2.0

import path from 'node:path'

// brokenLinks returns a fault for each link within the site that leads nowhere.
export function brokenLinks(texts, base, exists) {
  const faults = []
  const anchors = new Map([...texts].map(([name, text]) => [name, new Set([...text.matchAll(/\sid="([^"]*)"/g)].map((m) => unescape(m[1])))]))
  let links = 0
  for (const [name, text] of texts) {
    if (!name.endsWith('.html') || name === '404.html') continue
    for (const [, href] of text.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(href)) continue
      links++
      const fault = check(name, decodeURI(unescape(href)), base, anchors, exists)
      if (fault) faults.push(`${name}: ${href}: ${fault}`)
    }
  }
  if (links < 500) faults.push(`the site has ${links} links within it`)
  return faults
}

function check(from, href, base, anchors, exists) {
  const [link, anchor] = href.split('#')
  const file = link === '' ? from : fileOf(from, link, base)
  if (file === undefined) return `outside of ${base}`
  if (!exists(file)) return 'no such page'
  if (anchor && !anchors.get(file)?.has(anchor)) return 'no such heading'
}

// fileOf returns the file that a server sends for a link, undefined for one outside of the site.
function fileOf(from, link, base) {
  let file = link.startsWith('/') ? link : path.posix.join(base, path.posix.dirname(from), link)
  if (!file.startsWith(base)) return undefined
  file = file.slice(base.length)
  if (file === '' || file.endsWith('/')) return file + 'index.html'
  return path.posix.extname(file) === '' ? file + '.html' : file
}

function unescape(text) {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
