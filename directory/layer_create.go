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
// [*PrefixInUseError]. Choose a prefix that was never used: a program that kept the
// prefix of a removed directory would otherwise read the new content.
//
// Errors: those of [Layer.Create], and [ErrManualPrefix].
func (l *Layer) CreatePrefix(ctx context.Context, t kv.Transactor, path []string, prefix []byte, expects ...Expect) (*Directory, error) {
	return l.create(ctx, t, creation{path: path, prefix: append([]byte{}, prefix...)}, expects)
}

func (l *Layer) create(ctx context.Context, t kv.Transactor, c creation, expects []Expect) (*Directory, error) {
	if err := l.checkCreation(&c, expects); err != nil {
		return nil, err
	}
	var d *Directory
	var own []string // prefixes that earlier attempts gave the directory
	err := change(ctx, t, func(tx kv.Transaction, maybeCommitted bool) error {
		t, err := l.followPath(ctx, tx, c.path)
		if err != nil {
			return err
		}
		if t.isComplete() {
			//persistvet:ignore txescape the caller asked for the directory, and is told to use it in one transaction
			d = t.directory()
			mine := maybeCommitted && slices.Contains(own, string(d.prefix))
			return c.checkExisting(t, mine)
		}
		if d, err = c.createMissing(ctx, tx, t); err == nil {
			//persistvet:ignore retryeffect earlier attempts may have been durable: their prefixes tell the own directory
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
