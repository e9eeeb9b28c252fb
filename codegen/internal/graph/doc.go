// SPDX-License-Identifier: Apache-2.0

// Package graph draws the types of packages: the directories that hold them as a tree,
// the fields that are in directories and indexes, and the indexes. The drawing is text,
// in the language of Mermaid, which GitHub and GitLab show in Markdown files, or in that
// of Graphviz. It depends on the model only, so the same source gives the same text.
package graph
