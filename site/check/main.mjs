// SPDX-License-Identifier: Apache-2.0

// Checks the site that was built: each link within it leads to a page and to a heading that exist,
// nothing is loaded from elsewhere, and the search finds what it should. It ends with 1 if not.
import { readdirSync, readFileSync, existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { brokenLinks } from './links.mjs'
import { externalResources } from './resources.mjs'
import { missedBySearch } from './search.mjs'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
const base = process.env.SITE_BASE ?? '/'

const files = readdirSync(dist, { recursive: true }).map((name) => name.replaceAll('\\', '/'))
const texts = new Map(files.filter((name) => /\.(html|css|js)$/.test(name)).map((name) => [name, readFileSync(path.join(dist, name), 'utf8')]))
const faults = [
  ...brokenLinks(texts, base, (name) => existsSync(path.join(dist, name))),
  ...externalResources(texts),
  ...(await missedBySearch(texts, dist)),
]
const pages = [...texts.keys()].filter((name) => name.endsWith('.html')).length
if (pages < 20) faults.push(`the site has ${pages} pages`)
for (const fault of faults) console.error(fault)
console.log(`${pages} pages checked: ${faults.length} faults`)
process.exit(faults.length > 0 ? 1 : 0)
