// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Directory is a directory that was opened or created: its path, and the
// prefix under which its keys are. It is immutable and safe for concurrent
// use. Its prefix is valid in the transaction that returned it; its verbs follow the
// path again and act on the directory that is there then.
type Directory struct {
	root   *Layer
	tree   *tree // the tree of the node: that of the innermost partition around it
	path   []string
	layers []string // of the path's elements
	prefix []byte
	links  [][]byte // the keys that lead to it, outermost first
	nodes  []node   // of the path's elements
}

// Protect makes tx conflict with every move and removal of the directory or of
// one above it, by any program, as if tx had opened it. Call it before tx uses what
// another transaction has read of the directory.
func (d *Directory) Protect(tx kv.Transaction) error {
	for _, link := range d.links {
		if err := tx.AddReadConflictKey(link); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the path from the layer's root, partitions included.
func (d *Directory) Path() []string { return slices.Clone(d.path) }

// Layer returns the layer with which the directory was created, often empty.
func (d *Directory) Layer() string { return d.layers[len(d.layers)-1] }

// IsPartition reports whether the directory is a partition.
func (d *Directory) IsPartition() bool { return d.Layer() == Partition }

// Prefix returns a copy of the bytes with which all keys of the directory, and
// no others, begin. For a partition it fails with [ErrPartition].
func (d *Directory) Prefix() ([]byte, error) {
	if d.IsPartition() {
		return nil, fmt.Errorf("%w: %s; open a directory inside it", ErrPartition, pathString(d.path))
	}
	return slices.Clone(d.prefix), nil
}

// Subspace returns the subspace of the directory's keys. For a partition it
// fails with [ErrPartition].
func (d *Directory) Subspace() (tuple.Subspace, error) {
	if d.IsPartition() {
		return tuple.Subspace{}, fmt.Errorf("%w: %s; open a directory inside it", ErrPartition, pathString(d.path))
	}
	return tuple.NewSubspace(d.prefix), nil
}

// String returns the path, layer and prefix for people.
func (d *Directory) String() string {
	return fmt.Sprintf("directory %s layer %q prefix %x", pathString(d.path), d.Layer(), d.prefix)
}

// CreateOrOpen is [Layer.CreateOrOpen] with a path relative to the directory.
func (d *Directory) CreateOrOpen(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return d.create(ctx, t, creation{path: path, orOpen: true}, expects)
}

// Create is [Layer.Create] with a path relative to the directory.
func (d *Directory) Create(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return d.create(ctx, t, creation{path: path}, expects)
}

// CreatePrefix is [Layer.CreatePrefix] with a path relative to the directory.
func (d *Directory) CreatePrefix(ctx context.Context, t kv.Transactor, path []string, prefix []byte, expects ...Expect) (*Directory, error) {
	return d.create(ctx, t, creation{path: path, prefix: append([]byte{}, prefix...)}, expects)
}

func (d *Directory) create(ctx context.Context, t kv.Transactor, c creation, expects []Expect) (*Directory, error) {
	if err := d.checkSelf(c.path); err != nil {
		return nil, err
	}
	c.path, c.shift = join(d.path, c.path), len(d.path)
	return d.root.create(ctx, t, c, expects)
}

// Open is [Layer.Open] with a path relative to the directory. The empty path
// opens the directory itself anew; a partition's is its root ([ErrRoot]).
func (d *Directory) Open(ctx context.Context, t kv.ReadTransactor, path []string, expects ...Expect) (*Directory, error) {
	if err := d.checkSelf(path); err != nil {
		return nil, err
	}
	return d.root.open(ctx, t, join(d.path, path), len(d.path), expects)
}

// checkSelf refuses the empty path in a partition, where it is the root.
func (d *Directory) checkSelf(path []string) error {
	if len(path) == 0 && d.IsPartition() {
		return fmt.Errorf("%w of the partition %s", ErrRoot, pathString(d.path))
	}
	return nil
}

// Exists is [Layer.Exists] with a path relative to the directory; the empty
// path asks whether it still exists itself.
func (d *Directory) Exists(ctx context.Context, t kv.ReadTransactor, path []string) (bool, error) {
	return d.root.Exists(ctx, t, join(d.path, path))
}

// List is [Layer.List] with a path relative to the directory.
func (d *Directory) List(ctx context.Context, t kv.ReadTransactor, path []string) ([]string, error) {
	return d.root.List(ctx, t, join(d.path, path))
}

// Move is [Layer.Move] with paths relative to the directory.
func (d *Directory) Move(ctx context.Context, t kv.Transactor, from, to []string, conditions ...Condition) (*Directory, error) {
	return d.root.Move(ctx, t, join(d.path, from), join(d.path, to), conditions...)
}

// MoveTo moves the directory itself to a path from the layer's root. See
// [Layer.Move] for the errors.
func (d *Directory) MoveTo(ctx context.Context, t kv.Transactor, to []string) (*Directory, error) {
	if !hasPrefix(to, d.tree.path) {
		return nil, fmt.Errorf("move directory %s to %s: %w", pathString(d.path), pathString(to), ErrBetweenPartitions)
	}
	return d.root.Move(ctx, t, d.path, to)
}

// Remove is [Layer.Remove] with a path relative to the directory; the empty
// path removes the directory itself.
func (d *Directory) Remove(ctx context.Context, t kv.Transactor, path []string, conditions ...Condition) error {
	return d.root.Remove(ctx, t, join(d.path, path), conditions...)
}

// RemoveIfExists is [Layer.RemoveIfExists] with a path relative to the directory.
func (d *Directory) RemoveIfExists(ctx context.Context, t kv.Transactor, path []string, conditions ...Condition) (bool, error) {
	return d.root.RemoveIfExists(ctx, t, join(d.path, path), conditions...)
}

// annotation is the element, below a directory's node, of what programs keep there.
const annotation = "annotation"

// Annotations returns, for each directory on d's path, outermost first and d last,
// the subspace of the keys that owner keeps about it. These keys are metadata: they
// lie next to the directory's layer, not among its contents, so a partition has them,
// too. A move keeps them and a removal clears them, even if a program with an
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

// hasPrefix reports whether path begins with the elements of prefix.
func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// join returns a new path.
func join(a, b []string) []string { return slices.Concat(a, b) }

// pathString shows a path without doubt about its elements: ("a", "b/c").
func pathString(path []string) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, name := range path {
		if i > 0 {
			b.WriteString(", ")
		}
		if len(name) > 64 {
			b.WriteString(strconv.Quote(name[:64]) + "…")
			continue
		}
		b.WriteString(strconv.Quote(name))
	}
	b.WriteByte(')')
	return b.String()
}

// The states that a verb can report. They come wrapped with the path: compare
// with errors.Is. None of them is retryable; errors of the engine pass through
// with their code, so that retry loops see them.
var (
	// ErrNotFound: there is no directory at the path.
	ErrNotFound = errors.New("directory: not found")
	// ErrParentNotFound: the parent of a move's destination does not exist;
	// create it first. It comes together with ErrNotFound.
	ErrParentNotFound = errors.New("directory: the parent of the destination does not exist")
	// ErrExists: there is a directory at the path already.
	ErrExists = errors.New("directory: exists already")
	// ErrRoot: the root of the layer, or of a partition, was named where a
	// directory is needed: it cannot be opened, created, moved or removed.
	ErrRoot = errors.New("directory: not possible with the root")
	// ErrMoveIntoSelf: a directory cannot be moved to itself or below itself.
	ErrMoveIntoSelf = errors.New("directory: cannot move a directory into itself")
	// ErrBetweenPartitions: a directory cannot leave its partition, because the
	// keys of a partition share its prefix.
	ErrBetweenPartitions = errors.New("directory: cannot move between partitions")
	// ErrManualPrefix: prefixes cannot be chosen in this layer (see
	// [Options].AllowManualPrefixes), and never inside a partition.
	ErrManualPrefix = errors.New("directory: manual prefixes are not allowed here")
	// ErrPartition: a partition has no subspace of its own. Its keys belong to
	// the directories inside it; a key packed directly would be overwritten.
	ErrPartition = errors.New("directory: a partition's prefix must not be used directly")
	// ErrVersion: the stored directories were written by a newer format.
	ErrVersion = errors.New("directory: incompatible version of the directory layer")
	// ErrLayer: a directory exists but belongs to another layer than the caller
	// expects (see [As] and [ElementAs]). The text names the directory, which is
	// the one at the path or one above it, and both layers.
	ErrLayer = errors.New("directory: another layer than expected")
	// ErrPrefixInUse: a directory cannot have a prefix. Keys, or a directory with
	// a prefix that begins with it or with which it begins, are there already. If
	// the text says that the allocator chose the prefix, something other than this
	// layer writes below its content prefix, or manual prefixes are in its way.
	ErrPrefixInUse = errors.New("directory: prefix in use")
	// ErrPath: an element of a path cannot be the name of a directory. The text
	// says which one, and why.
	ErrPath = errors.New("directory: illegal path")
	// ErrCorrupt marks every [*CorruptError].
	ErrCorrupt = errors.New("directory: corrupt metadata")
)

// CorruptError says that stored metadata is not what the directory layer
// writes. It is ErrCorrupt. Nothing was changed.
type CorruptError struct {
	Key    []byte
	Value  []byte
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: key %x with value %x: %s", ErrCorrupt, abridged(e.Key), abridged(e.Value), e.Reason)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// abridged keeps an error text short whatever was found.
func abridged(b []byte) []byte { return b[:min(len(b), 256)] }

func versionError(v version, what string) error {
	return fmt.Errorf("%w: the database has %s, this is %s: %s", ErrVersion, v, ownVersion, what)
}

func layerError(path []string, want, got string) error {
	return fmt.Errorf("%w: %s has the layer %q, expected was %q", ErrLayer, pathString(path), got, want)
}

func prefixError(prefix []byte, allocated bool, reason string) error {
	who := "the given prefix"
	if allocated {
		who = "the allocated prefix"
	}
	return fmt.Errorf("%w: %s %x cannot be used: %s", ErrPrefixInUse, who, abridged(prefix), reason)
}

func pathError(path []string, element int, reason string) error {
	return fmt.Errorf("%w: element %d of %s %s", ErrPath, element, pathString(path), reason)
}

func tooLong(what string, n int) string {
	return fmt.Sprintf("makes a key of %d bytes with its %s; at most %d are possible", n, what, kv.MaxKeySize)
}
