// SPDX-License-Identifier: Apache-2.0

import path from 'node:path'
import { pathToFileURL } from 'node:url'
import MiniSearch from 'minisearch'

// What is typed into the search, and a page that must be among the first five results.
const wanted = {
  'lost acknowledgement': 'docs/guarantees',
  'page token': 'docs/tags',
  'persist.lock': 'docs/changing-a-schema',
  'quota tenant': 'docs/tenants',
  'systemd': 'docs/tutorial/8-deployment',
}

// missedBySearch asks the index of the built site as the page's search does.
export async function missedBySearch(texts, dist) {
  const file = [...texts.keys()].find((name) => /localSearchIndexroot/.test(name))
  if (!file) return ['the site has no index for the search']
  const { default: json } = await import(pathToFileURL(path.join(dist, file)))
  const index = MiniSearch.loadJSON(json, { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'] })
  const faults = []
  for (const [query, page] of Object.entries(wanted)) {
    const found = index.search(query, { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } }).slice(0, 5)
    if (!found.some((result) => result.id.includes(page))) {
      faults.push(`the search for "${query}" does not find ${page}, but ${found.map((result) => result.id).join(', ')}`)
    }
  }
  return faults
}
