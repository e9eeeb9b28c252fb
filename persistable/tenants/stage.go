// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// stage is a tenant that arrives by a copy or an import: a directory outside of the
// set, which the last transaction moves to its name. How far it has come is in an
// annotation of the directory, so that another process can continue. That of a copy under a lock has a
// list instead (see [copyJob]).
type stage struct {
	*Set
	name string
	*manifest
	id       string // of what arrives: only the same one continues it
	path     []string
	dirs     []*directory.Directory
	key      []byte        // of the annotation
	list     worklist.List // of a copy under a lock
	versions string        // the name of an index that is ordered by versions
	lock     tenancy.Lock  // which the tenant has when it is there; zero: none
	arrival
}

// arrival is how far a stage has come. The annotation ("arrival") has it as the packed
// tuple
//
//	(1, id, next block, offset of that block, directory, last key or null, pairs, bytes)
type arrival struct {
	block, offset int64
	position
	pairs, bytes int64
}

// arrivalKeys are the keys of the annotation of a directory, and of the list of a copy under a lock.
func arrivalKeys(d *directory.Directory) (key []byte, l worklist.List) {
	arrival := d.Annotation(tenancy.Owner).Sub("arrival")
	return arrival.Bytes(), worklist.List{Prefix: arrival.Sub("range").Bytes()}
}

// clearArrival removes what is known of an arrival: a call that still runs sees that it has ended.
func clearArrival(tx kv.Transaction, d *directory.Directory) {
	key, l := arrivalKeys(d)
	tx.Clear(key)
	tx.ClearRange(l.Keys())
}

func (a *arrival) encode(id string) ([]byte, error) {
	var last any
	if a.last != nil {
		last = a.last
	}
	return tuple.Tuple{int64(1), id, a.block, a.offset, int64(a.dir), last, a.pairs, a.bytes}.Pack()
}

func decodeArrival(value []byte) (id string, a arrival, err error) {
	t, err := tuple.Unpack(value)
	if err == nil && len(t) == 8 && t[0] == int64(1) {
		var ok [6]bool
		var dir int64
		id, ok[0] = t[1].(string)
		a.block, ok[1] = t[2].(int64)
		a.offset, ok[2] = t[3].(int64)
		dir, ok[3] = t[4].(int64)
		a.last, _ = t[5].([]byte)
		a.pairs, ok[4] = t[6].(int64)
		a.bytes, ok[5] = t[7].(int64)
		if a.dir = int(dir); !slices.Contains(ok[:], false) {
			return id, a, nil
		}
	}
	return "", arrival{}, fmt.Errorf("tenants: what is known of the unfinished copy or import is damaged: abandon it: %x", value)
}

// openRoot opens the directory of the tenant, and reads how far it has come.
func (g *stage) openRoot(ctx context.Context, tx kv.Transaction) (err error) {
	if err := g.checkPathUnlocked(ctx, tx, g.parent); err != nil {
		return err
	}
	if len(g.parent) > 0 {
		if _, err := g.layer.CreateOrOpen(ctx, tx, g.parent, g.expects(g.Set)...); err != nil {
			return err
		}
	}
	if err := g.mayChange(ctx, tx, g.name); err != nil {
		return err
	}
	if there, err := g.layer.Exists(ctx, tx, g.Path(g.name)); there || err != nil {
		return errors.Join(err, fmt.Errorf("%w: %s", ErrExists, pathText(g.Path(g.name))))
	}
	if g.path, err = g.work(ctx, tx, arrivingName, g.name); err != nil {
		return err
	}
	g.dirs = nil
	d, err := g.layer.CreateOrOpen(ctx, tx, g.path, directory.As(g.manifest.dirs[0].layer))
	if errors.Is(err, directory.ErrLayer) {
		return ErrUnfinished
	}
	if err != nil {
		return err
	}
	g.key, g.list = arrivalKeys(d)
	if g.arrival, err = g.readArrival(ctx, tx, true); err == nil {
		g.dirs = []*directory.Directory{d}
	}
	return err
}

// readArrival reads how far the stage has come. If it is not of what arrives here, the
// error is [ErrUnfinished].
func (g *stage) readArrival(ctx context.Context, tx kv.Transaction, mayStart bool) (arrival, error) {
	value, err := tx.Get(g.key).Get(ctx)
	if err != nil {
		return arrival{}, err
	}
	if value == nil {
		if !mayStart {
			return arrival{}, fmt.Errorf("%w (another call has finished or abandoned it)", ErrUnfinished)
		}
		return arrival{}, g.writeArrival(tx, arrival{})
	}
	id, a, err := decodeArrival(value)
	switch {
	case err != nil || id == g.id:
	case isSameCopy(id, g.id):
		err = fmt.Errorf("%w (its directories have changed since the copy began: abandon that)", ErrLockLost)
	default:
		err = ErrUnfinished
	}
	return a, err
}

// directoriesMark is in the id of a copy under a lock before what tells the directories apart.
const directoriesMark = " with directories "

// isSameCopy reports whether two ids are those of a copy under the same lock.
func isSameCopy(a, b string) bool {
	i, j := strings.LastIndex(a, directoriesMark), strings.LastIndex(b, directoriesMark)
	return i >= 0 && j >= 0 && a[:i] == b[:j]
}

// readUnlocked is readArrival of a stage that has begun, unless it lies in a locked tenant,
// which must not change.
func (g *stage) readUnlocked(ctx context.Context, tx kv.Transaction) (arrival, error) {
	a, err := g.readArrival(ctx, tx, false)
	if err == nil {
		err = CheckUnlocked(ctx, tx, g.dirs[0])
	}
	return a, err
}

func (g *stage) writeArrival(tx kv.Transaction, a arrival) error {
	value, err := a.encode(g.id)
	if err == nil {
		tx.Set(g.key, value)
	}
	return err
}

// openBatch opens some directories in that of the tenant.
func (g *stage) openBatch(ctx context.Context, batch tree) error {
	opened := len(g.dirs)
	return g.transact(ctx, func(tx kv.Transaction) error {
		g.dirs = g.dirs[:opened]
		if _, err := g.readUnlocked(ctx, tx); err != nil {
			return err
		}
		for _, b := range batch {
			d, err := g.layer.CreateOrOpen(ctx, tx, slices.Concat(g.path, b.path), directory.As(b.layer))
			if err != nil {
				return err
			}
			//persistvet:ignore txescape no program moves it while the annotation is there, which each transaction reads
			g.dirs = append(g.dirs, d)
		}
		return nil
	})
}

// add writes a block, which ends at next in the stream, unless an earlier attempt, or
// another process, has written it.
func (g *stage) add(ctx context.Context, b *block, next int64) error {
	after := arrival{g.block + 1, next, position{b.dir, b.last()}, g.pairs + int64(len(b.pairs)), g.bytes + b.size()}
	err := g.transact(ctx, func(tx kv.Transaction) error {
		there, err := g.readUnlocked(ctx, tx)
		if err != nil || there.block > g.block {
			return err
		}
		if there.block < g.block {
			return fmt.Errorf("%w (another call has begun it again)", ErrUnfinished)
		}
		if err := g.checkVersion(ctx, tx, b); err != nil {
			return err
		}
		if err := g.write(tx, b); err != nil {
			return err
		}
		return g.writeArrival(tx, after)
	})
	if err == nil {
		g.arrival = after
	}
	return err
}

// write writes the pairs below the prefix that the directory has here. As long as the
// annotation is there, no transaction has moved the directory: the one that finishes
// or abandons the arrival also clears the annotation.
func (g *stage) write(tx kv.Transaction, b *block) error {
	d := g.dirs[b.dir]
	prefix, err := d.Prefix()
	if err != nil {
		return err
	}
	if err := d.Protect(tx); err != nil {
		return err
	}
	for _, pair := range b.pairs {
		tx.Set(slices.Concat(prefix, pair.Key), pair.Value)
	}
	return nil
}

// checkVersion refuses versions that this database has not reached.
func (g *stage) checkVersion(ctx context.Context, tx kv.Transaction, b *block) error {
	if g.versions == "" {
		return nil
	}
	here, err := tx.GetReadVersion().Get(ctx)
	if err == nil && b.version > here {
		err = sentinel.Mark(ErrAhead, fmt.Errorf("tenants: the index %s has changes up to the version %d, and this database is only at %d: import it into a database that has reached that version, or export again after Indexes().RemoveUnused by a program whose type has no persistable.Version",
			g.versions, b.version, here))
	}
	return err
}

// checkComplete returns an error if another call has written to the stage since.
func (g *stage) checkComplete(_ context.Context, _ kv.ReadTransaction, there arrival) error {
	if there.block != g.block {
		return fmt.Errorf("%w (another call has begun it again)", ErrUnfinished)
	}
	return nil
}

// finish moves the tenant to its name, unless check returns an error: from then on programs see it, whole.
func (g *stage) finish(ctx context.Context, check func(context.Context, kv.ReadTransaction, arrival) error) error {
	own := string(g.dirs[0].Reserve().Begin)
	err := g.transact(ctx, func(tx kv.Transaction) error {
		if there, err := g.hasPrefix(ctx, tx, g.name, own); there || err != nil {
			return err
		}
		there, err := g.readUnlocked(ctx, tx)
		if err == nil {
			err = g.checkPathUnlocked(ctx, tx, g.parent)
		}
		if err == nil {
			err = check(ctx, tx, there)
		}
		if err != nil {
			return err
		}
		clearArrival(tx, g.dirs[0])
		if g.lock.ID != "" {
			if err := (tenancy.Settings{Lock: g.lock}).Write(ctx, tx, g.dirs[0]); err != nil {
				return err
			}
		}
		if _, err = g.layer.Move(ctx, tx, g.path, g.Path(g.name), g.isOwn); err != nil {
			return existsError(err)
		}
		return tenancy.StartRecount(ctx, tx, g.layer, g.parent, 0)
	})
	if err != nil {
		return err
	}
	return g.recount(ctx)
}

// isOwn is a [directory.Condition]: it allows only the directory that this call writes to.
func (g *stage) isOwn(_ kv.ReadTransaction, d *directory.Directory) error {
	if !bytes.Equal(d.Reserve().Begin, g.dirs[0].Reserve().Begin) {
		return ErrUnfinished
	}
	return nil
}

func (g *stage) progress() Progress {
	return Progress{Blocks: g.block, Pairs: g.pairs, Bytes: g.bytes, Offset: g.offset}
}
