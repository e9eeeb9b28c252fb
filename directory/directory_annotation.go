// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// annotation is the element, below a directory's node, of what programs keep there.
const annotation = "annotation"

// Annotations returns, for each directory on d's path, outermost first and d last,
// the subspace of the keys that owner keeps about it. These keys are metadata: they
// lie beside the directory's layer, not among its contents, so a partition has them,
// too. A move keeps them and a removal clears them, also if a program with an
// official binding moves or removes the directory.
func (d *Directory) Annotations(owner string) []tuple.Subspace {
	all := make([]tuple.Subspace, len(d.nodes))
	for i, n := range d.nodes {
		all[i] = n.Sub(annotation, owner)
	}
	return all
}

// Annotation returns the last of [Directory.Annotations]: that of d itself.
func (d *Directory) Annotation(owner string) tuple.Subspace {
	return d.nodes[len(d.nodes)-1].Sub(annotation, owner)
}

// Metadata returns the metadata of the directories that are in the same partition as d,
// or like d in none.
func (d *Directory) Metadata() Metadata { return Metadata{d.tree} }

// Layers returns the layers of the directories on d's path, outermost first.
func (d *Directory) Layers() []string { return slices.Clone(d.layers) }

// Interrupt makes every transaction that uses d, or a directory below it, and
// commits after tx conflict as if tx had moved d. Transactions that only read go on.
func (d *Directory) Interrupt(tx kv.Transaction) error {
	return tx.AddWriteConflictKey(d.links[len(d.links)-1])
}

// Reserve is the range of the keys that begin with d's prefix, partition or not: its
// contents, and for a partition those of all directories in it with their
// metadata. Clear it only to remove the directory.
func (d *Directory) Reserve() kv.KeyRange { return kv.PrefixRange(slices.Clone(d.prefix)) }
