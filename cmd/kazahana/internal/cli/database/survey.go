// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/rangesize"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// Survey says what is read of a database.
type Survey struct {
	DB    *persistable.DB
	Depth int  // levels below the directory that are returned; -1: all
	Width int  // subdirectories of each directory that are returned; 0: all
	Sizes bool // estimate sizes
	Total bool // count all directories below, also those that are not returned; Sizes does, too

	// Visit, if set, is called for each directory that was read.
	Visit func()

	page int // how many names one transaction reads; 0: pageSize
}

// Node is a directory.
type Node struct {
	Path      []string
	Layer     string // often empty
	Partition bool
	Prefix    []byte // of its keys, and of a partition those of its directories; nil for the root
	Headers   []headers.Header
	Children  []*Node // by name
	More      bool    // there are further children
	Total     Total   // of the directory and, if they were read, of those below it

	own int64
}

// Total is how much there is in directories.
type Total struct {
	Directories int   `json:"directories"`
	Stores      int   `json:"stores"` // types, each counted in each directory
	Bytes       int64 `json:"bytes"`  // estimated, of keys and values; 0 without sizes
}

// Own returns the estimated size of the directory without those below it; that of a
// partition is with them.
func (n *Node) Own() int64 { return n.own }

// Types returns the names of the types in the directory.
func (n *Node) Types() []string { return headers.Types(n.Headers) }

// All yields the node and all nodes below it, each after the one above it.
func (n *Node) All(yield func(*Node) bool) { n.each(yield) }

func (n *Node) each(yield func(*Node) bool) bool {
	if !yield(n) {
		return false
	}
	for _, child := range n.Children {
		if !child.each(yield) {
			return false
		}
	}
	return true
}

// Read returns the directory at a path, or [directory.ErrNotFound]. Each directory is
// read in a transaction of its own: a directory that moves while Read runs may be missing. Directories
// that cannot be read hide no others: they are missing, and the error, which comes with the node,
// joins a [directory.ErrCorrupt] for each.
func (s Survey) Read(ctx context.Context, path ...string) (*Node, error) {
	return s.read(ctx, path, s.Depth, true)
}

// read returns a directory. With keep it has its children down to the depth.
func (s Survey) read(ctx context.Context, path []string, depth int, keep bool) (*Node, error) {
	n := &Node{Path: slices.Clone(path)}
	if err := s.open(ctx, n); err != nil {
		return nil, err
	}
	if s.Visit != nil {
		s.Visit()
	}
	if depth == 0 {
		n.More = true // unless there are none
		if !s.Sizes && !s.Total {
			return n, s.checkMore(ctx, n)
		}
	}
	return n, s.readChildren(ctx, n, depth, keep)
}

// pageSize is how many names one transaction reads.
const pageSize = 1000

// readChildren reads the subdirectories of a node, and adds what they hold.
func (s Survey) readChildren(ctx context.Context, n *Node, depth int, keep bool) error {
	n.More = false
	page := cmp.Or(s.page, pageSize)
	var damage error
	for after := ""; ; {
		names, err := s.DB.Layer().ListAfter(ctx, s.DB.Engine(), n.Path, after, page)
		if errors.Is(err, directory.ErrCorrupt) {
			damage = errors.Join(damage, err)
		} else if err != nil {
			return ignoreMissing(err)
		}
		for _, name := range names {
			shown := keep && depth != 0 && (s.Width == 0 || len(n.Children) < s.Width)
			n.More = n.More || !shown
			if !shown && !s.Sizes && !s.Total {
				return damage
			}
			err := s.readChild(ctx, n, name, depth, shown)
			if errors.Is(err, directory.ErrCorrupt) {
				damage = errors.Join(damage, err)
			} else if err != nil {
				return err
			}
		}
		if len(names) < page {
			return damage
		}
		after = names[len(names)-1]
	}
}

func (s Survey) readChild(ctx context.Context, n *Node, name string, depth int, shown bool) error {
	child, err := s.read(ctx, append(slices.Clone(n.Path), name), max(depth-1, min(depth, -1)), shown)
	if child == nil {
		return ignoreMissing(err)
	}
	if shown {
		n.Children = append(n.Children, child)
	}
	n.Total.Directories += child.Total.Directories
	n.Total.Stores += child.Total.Stores
	if !n.Partition { // its keys include those of its directories
		n.Total.Bytes += child.Total.Bytes
	}
	return ignoreMissing(err)
}

// checkMore finds out whether a node has children. It is for nodes that are shown without them.
func (s Survey) checkMore(ctx context.Context, n *Node) error {
	names, err := s.DB.Layer().ListAfter(ctx, s.DB.Engine(), n.Path, "", 1)
	n.More = len(names) > 0
	return ignoreMissing(err)
}

// ignoreMissing drops the error of a directory that another process has removed since it was listed.
func ignoreMissing(err error) error {
	if errors.Is(err, directory.ErrNotFound) {
		return nil
	}
	return err
}

// open reads what there is to know of a directory without those below it.
func (s Survey) open(ctx context.Context, n *Node) error {
	if len(n.Path) == 0 { // the root has no keys
		return nil
	}
	return s.DB.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := s.DB.Layer().Open(ctx, tx, n.Path)
		if err != nil {
			return err
		}
		n.Layer, n.Partition, n.Prefix, n.Headers = d.Layer(), d.IsPartition(), d.Reserve().Begin, nil
		if !n.Partition {
			prefix, err := d.Prefix()
			if err != nil {
				return err
			}
			if n.Headers, err = headers.Read(ctx, tx, prefix); err != nil {
				return err
			}
		}
		n.Total = Total{Directories: 1, Stores: len(n.Headers)}
		if s.Sizes {
			n.own, _, err = rangesize.Of(ctx, tx, d.Reserve())
			n.Total.Bytes = n.own
		}
		return err
	})
}

// ReadShown is [Survey.Read] that shows on the console how many directories it has read.
func (s Survey) ReadShown(ctx context.Context, c *shell.Console, path ...string) (*Node, error) {
	show := c.StartProgress("reading directories", 0, shell.Things)
	defer show.Finish()
	seen := int64(0)
	s.Visit = func() {
		seen++
		show.Set(seen)
	}
	return s.Read(ctx, path...)
}

// mostDescribed is how many directories a description lists.
const mostDescribed = 10

// Describe returns lines that say what is in a directory.
func (n *Node) Describe() []string {
	lines := []string{fmt.Sprintf("%s: %s, %s, about %s", QuotePath(n.Path),
		Plural(n.Total.Directories, "directory", "directories"), Plural(n.Total.Stores, "store", "stores"), shell.Size(n.Total.Bytes))}
	stored := slices.DeleteFunc(slices.Collect(n.All), func(d *Node) bool { return len(d.Headers) == 0 })
	for i, d := range stored {
		if i == mostDescribed {
			return append(lines, fmt.Sprintf("  … and %d more with types", len(stored)-i))
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", QuotePath(d.Path), strings.Join(d.Types(), ", ")))
	}
	return lines
}

// Plural returns a number with its noun.
func Plural[N int | int64](n N, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", several)
}

// CheckSame returns an error unless d is the directory of the node: another process may have
// put another one at its path since the node was read. Only a directory's prefix is its own.
func (n *Node) CheckSame(d *directory.Directory) error {
	if bytes.Equal(n.Prefix, d.Reserve().Begin) {
		return nil
	}
	return fmt.Errorf("another process has put another directory at %s since it was shown: nothing was changed; repeat the command", QuotePath(d.Path()))
}

// CheckSubtree returns an error if one of the directories is not the node's, nor that of one
// below it, which were all read.
func (n *Node) CheckSubtree(all []*directory.Directory) error {
	shown := map[string]*Node{}
	for below := range n.All {
		shown[QuotePath(below.Path)] = below
	}
	for _, d := range all {
		path := QuotePath(d.Path())
		if shown[path] == nil {
			return fmt.Errorf("another process has made or moved the directory %s since %s was shown: nothing was changed; repeat the command", path, QuotePath(n.Path))
		}
		if err := shown[path].CheckSame(d); err != nil {
			return err
		}
	}
	return nil
}
