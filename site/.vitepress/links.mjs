// SPDX-License-Identifier: Apache-2.0

// Links of the pages: GitHub's names for headings, and links to what is not on the site.
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const repository = 'https://github.com/kazahana-db/kazahana'

// slugify returns the name by which GitHub links to a heading, as internal/arch checks it.
export function slugify(heading) {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')
}

// onSite reports whether a file of the repository is a page of the site.
export function onSite(file) {
  return /^(docs\/.*|README|CONTRIBUTING|CHANGELOG)\.md$/.test(file)
}

// toRepository changes links to files that are not on the site into links to the repository.
export function toRepository(md) {
  md.core.ruler.push('to_repository', (state) => {
    for (const block of state.tokens) {
      for (const token of block.children ?? []) {
        if (token.type === 'link_open') token.attrSet('href', target(state.env, token.attrGet('href')))
      }
    }
  })
}

// withoutBadges leaves out the images of other hosts, which GitHub shows: a page of the site asks no other host.
export function withoutBadges(md) {
  md.core.ruler.push('without_badges', (state) => {
    for (const block of state.tokens) {
      if (block.children?.some((token) => token.type === 'image' && /^https?:/.test(token.attrGet('src')))) block.children = []
    }
  })
}

// target returns where a link leads to on the site. A link to a file that does not exist is
// left as it is: the build then fails.
function target(env, href) {
  if (/^([a-z]+:|#|\/)/.test(href)) return href
  const [link, anchor] = href.split('#')
  const file = path.relative(root, path.resolve(path.dirname(env.realPath ?? env.path), decodeURI(link)))
  if (!existsSync(path.join(root, file))) return href
  if (onSite(file)) return file.startsWith('docs/') ? href.replace(/README\.md(#|$)/, './$1') : href
  const kind = statSync(path.join(root, file)).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${file}${anchor ? '#' + anchor : ''}`
}

// highlighted are the languages of blocks that the site colours; others are plain text.
const highlighted = ['go', 'console', 'sh', 'json', 'ini', 'toml', 'yaml', 'sql', 'dockerfile', 'proto', 'js']

// plainText lets blocks of languages that the highlighter does not know be plain text.
export function plainText(md) {
  md.core.ruler.push('plain_text', (state) => {
    for (const token of state.tokens) {
      if (token.type === 'fence' && !highlighted.includes(token.info.trim())) token.info = 'txt'
    }
  })
}
