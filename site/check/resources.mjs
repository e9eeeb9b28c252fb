// SPDX-License-Identifier: Apache-2.0

// externalResources returns a fault for each thing that a page would load from elsewhere: it must
// work without a network.
export function externalResources(texts) {
  const faults = []
  for (const [name, text] of texts) {
    const patterns = name.endsWith('.css')
      ? [/url\(\s*["']?((?:https?:)?\/\/[^)"']*)/g, /@import\s+["']?((?:https?:)?\/\/[^;"']*)/g]
      : name.endsWith('.html')
        ? [/<(?:script|img|iframe|source|video)\b[^>]*?\ssrc="((?:https?:)?\/\/[^"]*)"/g, /<link\b[^>]*?\shref="((?:https?:)?\/\/[^"]*)"/g]
        : [/\bimport\(?\s*["']((?:https?:)?\/\/[^"']*)/g]
    for (const pattern of patterns) {
      for (const [, url] of text.matchAll(pattern)) faults.push(`${name}: loads ${url}`)
    }
  }
  return faults
}
