// SPDX-License-Identifier: Apache-2.0

import { defineConfig } from 'vitepress'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { plainText, repository, root, slugify, toRepository, withoutBadges } from './links.mjs'

const page = (text, link) => ({ text, link })

// icon is a drop, within the page: one less file to find at any base.
const icon = 'data:image/svg+xml,' + encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3451b2" d="M8 1c3 4 5 6 5 9a5 5 0 0 1-10 0c0-3 2-5 5-9z"/></svg>',
)

// others are the folders without pages of the site.
const others = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !['docs', 'site'].includes(entry.name))
  .map((entry) => `${entry.name}/**`)

const sidebar = [
  { text: 'Start', items: [page('README', '/README'), page('Questions', '/docs/questions'), page('Glossary', '/docs/glossary')] },
  {
    text: 'Tutorial',
    items: [
      page('A service with many tenants', '/docs/tutorial/'),
      page('1. The first record', '/docs/tutorial/1-first-record'),
      page('2. Tenants and HTTP', '/docs/tutorial/2-http'),
      page('3. Changes and errors', '/docs/tutorial/3-changes-and-errors'),
      page('4. Lists and searches', '/docs/tutorial/4-lists'),
      page('5. Following changes', '/docs/tutorial/5-changes'),
      page('6. A new field, while serving', '/docs/tutorial/6-migration'),
      page('7. Operating', '/docs/tutorial/7-operating'),
      page('8. Deployment', '/docs/tutorial/8-deployment'),
      page('9. Under load', '/docs/tutorial/9-load'),
    ],
  },
  {
    text: 'Develop',
    items: [
      page('Modelling', '/docs/modelling'), page('Recipes', '/docs/recipes'), page('Tags', '/docs/tags'), page('Transactions and errors', '/docs/errors'), page('Changing a schema', '/docs/changing-a-schema'), page('Testing', '/docs/testing'),
      page('persistgen', '/docs/persistgen'), page('persistvet', '/docs/persistvet'),
    ],
  },
  { text: 'Operate', items: [page('Operations', '/docs/operations'), page('Commands', '/docs/commands'), page('Tenants', '/docs/tenants'), page('Deploying', '/docs/deploying')] },
  { text: 'Services', items: [page('The ID service', '/docs/idbuilder'), page('Virtual actors', '/docs/placement')] },
  {
    text: 'Trust',
    items: [
      page('Guarantees', '/docs/guarantees'), page('Security and privacy', '/docs/security'), page('Benchmarks', '/docs/benchmarks'),
      page('Benchmarks of the parts', '/docs/benchmarks-parts'), page('Changelog', '/CHANGELOG'),
    ],
  },
  {
    text: 'Inside',
    items: [
      page('Architecture', '/docs/architecture'), page('Layout', '/docs/layout'), page('Decisions', '/docs/decisions/'), page('Dependencies', '/docs/dependencies'),
      page('Contributing', '/CONTRIBUTING'), page('Releasing', '/docs/releasing'),
    ],
  },
]

export default defineConfig({
  title: 'Kazahana',
  description: "A persistence layer for Go with FoundationDB's transactions and built-in IDs",
  lang: 'en',
  base: process.env.SITE_BASE ?? '/',
  head: [['link', { rel: 'icon', href: icon }]],
  srcDir: '..',
  srcExclude: [...others, 'SECURITY.md', 'CODE_OF_CONDUCT.md', 'site/*/**', 'site/!(index).md'],
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  rewrites: { 'site/index.md': 'index.md', 'docs/:folder/README.md': 'docs/:folder/index.md' },
  lastUpdated: false,
  markdown: {
    anchor: { slugify },
    toc: { slugify },
    attrs: { disable: true },
    config: (md) => md.use(toRepository).use(withoutBadges).use(plainText),
  },
  vite: {
    build: { chunkSizeWarningLimit: 2000 }, // the index of the search
    resolve: {
      // The pages are outside of this folder, where no node_modules would be found for them.
      alias: [{ find: /^vue(\/server-renderer)?$/, replacement: path.join(root, 'site/node_modules/vue$1') }],
    },
  },
  themeConfig: {
    nav: [page('Tutorial', '/docs/tutorial/'), page('Operations', '/docs/operations'), page('Guarantees', '/docs/guarantees')],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    externalLinkIcon: true,
  },
})
