// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
)

// link leads from a directory to one below it.
type link struct {
	key    []byte
	parent string // prefix
	name   string
}

// node is a directory.
type node struct {
	prefix  string
	layer   string
	exists  bool   // it has a layer
	links   []link // that lead to it, in the order of their keys
	reached bool   // from the root, by links
	path    []string
	layers  []string
}

// nameIn returns the name under which a directory links to this one.
func (n *node) nameIn(parent *node) string {
	i := slices.IndexFunc(n.links, func(l link) bool { return l.parent == parent.prefix })
	return n.links[i].name
}
