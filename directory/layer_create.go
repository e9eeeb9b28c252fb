// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// CreateOrOpen opens the directory at path, or creates it, and its missing
// parents, with new prefixes. Expectations (see [As], [ElementAs]) are checked
// on what exists and recorded on what is created; without any a new directory
// has the empty layer. Calls for one path, in one transaction or in many, all
// return the same directory.
//
// Errors: [*LayerError], [ErrRoot], [ErrPath], [*PrefixInUseError], [ErrVersion].
func (l *Layer) CreateOrOpen(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return l.create(ctx, t, creation{path: path, orOpen: true}, expects)
}

// Create creates the directory at path, and its missing parents. If it exists
// the error is [ErrExists]. Given a database, Create reports its own directory
// as created also if the acknowledgement of the commit was lost.
//
// Errors: those of [Layer.CreateOrOpen], and ErrExists.
func (l *Layer) Create(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return l.create(ctx, t, creation{path: path}, expects)
}

// CreatePrefix is [Layer.Create] with a prefix chosen by the caller, in a layer
// that allows it. Missing parents have their prefixes allocated. Keys that are
// at the prefix already become the directory's; another directory there is a
// [*PrefixInUseError]. A prefix that was used before makes it possible that
// another directory's former readers meet the new content: choose new ones.
//
// Errors: those of [Layer.Create], and [ErrManualPrefix].
func (l *Layer) CreatePrefix(ctx context.Context, t kv.Transactor, path []string, prefix []byte, expects ...Expect) (*Directory, error) {
	return l.create(ctx, t, creation{path: path, prefix: append([]byte{}, prefix...)}, expects)
}

// creation is what a creating verb was asked for.
type creation struct {
	path   []string
	shift  int // how many elements of path are not the caller's
	prefix []byte
	orOpen bool
	want   expectations
}

func (l *Layer) create(ctx context.Context, t kv.Transactor, c creation, expects []Expect) (*Directory, error) {
	if err := l.checkCreation(&c, expects); err != nil {
		return nil, err
	}
	var d *Directory
	var own []string // prefixes that earlier attempts gave the directory
	err := change(ctx, t, func(tx kv.Transaction, maybeCommitted bool) error {
		t, err := l.follow(ctx, tx, c.path)
		if err != nil {
			return err
		}
		if t.complete() {
			d = t.directory()
			mine := maybeCommitted && slices.Contains(own, string(d.prefix))
			return c.existing(t, mine)
		}
		if d, err = c.missing(ctx, tx, t); err == nil {
			own = append(own, string(d.prefix))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create directory %s: %w", pathString(c.path), err)
	}
	return d, nil
}

func (l *Layer) checkCreation(c *creation, expects []Expect) (err error) {
	if c.prefix != nil && !l.options.AllowManualPrefixes {
		return fmt.Errorf("%w: set Options.AllowManualPrefixes, or use Create", ErrManualPrefix)
	}
	if len(c.path) == 0 {
		return fmt.Errorf("%w: it can be neither created nor opened", ErrRoot)
	}
	if err := l.checkPath(c.path); err != nil {
		return err
	}
	c.path = slices.Clone(c.path)
	c.want, err = expectationsOf(expects, len(c.path), c.shift)
	return err
}

// existing decides about a directory that exists already. If it is the
// caller's own, created by an attempt whose acknowledgement was lost, it counts
// as created.
func (c creation) existing(t *trail, own bool) error {
	if !c.orOpen && !own {
		return ErrExists
	}
	return t.check(c.want)
}

// missing creates what a trail did not find. Nothing is linked before all
// prefixes are known to be good, so that a transaction which goes on after an
// error holds no half of a path.
func (c creation) missing(ctx context.Context, tx kv.Transaction, t *trail) (*Directory, error) {
	if err := t.check(c.want); err != nil {
		return nil, err
	}
	if err := t.makeWritable(tx); err != nil {
		return nil, err
	}
	if err := c.checkPrefix(ctx, tx, t); err != nil {
		return nil, err
	}
	begin := len(t.found)
	for i := begin; i < len(c.path); i++ {
		if err := c.plan(ctx, tx, t, i); err != nil {
			return nil, err
		}
	}
	for i, e := range t.found[begin:] {
		tx.Set(e.link, e.prefix)
		tx.Set(e.tree.node(e.prefix).layerKey(), []byte(e.layer))
		if inner := begin+i+1 < len(c.path) && e.layer == Partition; inner {
			tx.Set(inPartition(e.prefix, nil).versionKey(), ownVersion.encode())
		}
	}
	return t.directory(), nil
}

// checkPrefix checks a prefix chosen by the caller, if there is one.
func (c creation) checkPrefix(ctx context.Context, tx kv.Transaction, t *trail) error {
	if c.prefix == nil {
		return nil
	}
	inPartition := !t.tree.isOutermost()
	for i := len(t.found); i < len(c.path)-1; i++ {
		layer, _ := c.want.of(i)
		inPartition = inPartition || layer == Partition
	}
	if inPartition {
		return fmt.Errorf("%w: the keys of a partition share its prefix", ErrManualPrefix)
	}
	return t.tree.checkFree(ctx, tx, c.prefix, false)
}

// plan adds the path's element i to the trail as it is going to be.
func (c creation) plan(ctx context.Context, tx kv.Transaction, t *trail, i int) error {
	if err := t.checkLink(); err != nil {
		return err
	}
	e := element{tree: t.tree, link: t.link(), prefix: c.prefix}
	e.layer, _ = c.want.of(i)
	if last := i == len(c.path)-1; !last || c.prefix == nil {
		var err error
		if e.prefix, err = t.tree.allocate(ctx, tx, c.prefix); err != nil {
			return err
		}
	}
	t.found = append(t.found, e)
	if e.layer == Partition {
		t.tree = inPartition(e.prefix, slices.Clone(c.path[:i+1]))
		t.parent = t.tree.root
	} else {
		t.parent = t.tree.node(e.prefix)
	}
	return nil
}
