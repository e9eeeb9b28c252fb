// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/rangesize"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
)

// source reads one state of a tenant, block by block: under a lock, or at one version.
type source struct {
	*Set
	name    string
	lock    Lock  // zero: at the version
	version int64 // 0: not known yet
	*manifest
	position
}

func (s *source) readManifest(ctx context.Context, tx kv.ReadTransaction) (*manifest, error) {
	m := &manifest{id: newID(), path: s.Path(s.name), layers: []string{}, lock: s.lock.ID}
	d, err := s.open(ctx, tx, s.name)
	if err != nil {
		return nil, err
	}
	m.layers = append(m.layers, d.Layers()[:len(s.parent)]...)
	if m.dirs, err = s.readTree(ctx, tx, s.name); err != nil {
		return nil, err
	}
	if m.stores, err = readStores(ctx, tx, m.dirs); err != nil {
		return nil, err
	}
	m.version, err = tx.GetReadVersion().Get(ctx)
	return m, err
}

// read runs fn with a transaction that sees the state.
func (s *source) read(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if s.lock.ID == "" {
		return s.readVersion(ctx, fn)
	}
	return s.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		if err := s.checkLock(ctx, tx, s.lock); err != nil {
			return err
		}
		return fn(tx)
	})
}

// readVersion runs fn at the version, which the first call fixes.
func (s *source) readVersion(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := s.db.Engine().Begin()
	if err != nil {
		return err
	}
	var tooOld error
	version := s.version
	err = kv.RetryRead(ctx, tx, func() (err error) {
		if s.version != 0 {
			tx.SetReadVersion(s.version)
		}
		if version, err = tx.GetReadVersion().Get(ctx); err == nil {
			err = fn(tx.Snapshot())
		}
		if s.version != 0 && kv.CodeOf(err) == kv.CodeTransactionTooOld {
			tooOld = err
			return nil
		}
		return err
	})
	var slow *kv.RetryError
	if errors.As(err, &slow) && slow.Code == kv.CodeTransactionTooOld {
		tooOld = err
	}
	switch {
	case tooOld != nil:
		return fmt.Errorf("%w: %w", ErrTooLong, tooOld)
	case err == nil:
		s.version = version
	}
	return err
}

// next returns the next block, or nil at the end.
func (s *source) next(ctx context.Context) (b *block, err error) {
	for b == nil && s.dir < len(s.dirs) {
		if !s.dirs[s.dir].isPartition() {
			err = s.read(ctx, func(tx kv.ReadTransaction) error {
				if err := s.checkDirectory(ctx, tx, s.dir); err != nil {
					return err
				}
				b, err = s.readBlock(ctx, tx, s.dir, s.rest(), math.MaxInt, blockBytes)
				return err
			})
		}
		if err != nil {
			return nil, err
		}
		if b == nil {
			s.position = position{dir: s.dir + 1}
		} else {
			s.last = b.last()
		}
	}
	return b, nil
}

// rest returns the keys of the current directory that were not read.
func (s *source) rest() kv.KeyRange {
	keys := s.dirs[s.dir].keys
	if s.last != nil {
		keys.Begin = kv.Successor(slices.Concat(keys.Begin, s.last))
	}
	return keys
}

// checkDirectory returns [ErrLockLost] if a directory is not the one that was there when the
// source was opened: a program that does not look at locks has removed or moved it. Without a
// lock, all reads are of one version.
func (s *source) checkDirectory(ctx context.Context, tx kv.ReadTransaction, dir int) error {
	if s.lock.ID == "" {
		return nil
	}
	b := &s.dirs[dir]
	d, err := s.layer.Open(ctx, tx, slices.Concat(s.Path(s.name), b.path))
	switch {
	case err == nil && bytes.Equal(d.Reserve().Begin, b.keys.Begin):
		return nil
	case err == nil || errors.Is(err, directory.ErrNotFound):
		return fmt.Errorf("%w (its directory %s was removed or moved)", ErrLockLost, pathText(b.path))
	}
	return err
}

// readBlock reads the first of some keys of a directory: at most so many pairs, and about so many
// bytes. It returns nil if there are none.
func (s *source) readBlock(ctx context.Context, tx kv.ReadTransaction, dir int, keys kv.KeyRange, pairs, size int) (*block, error) {
	prefix := s.dirs[dir].keys.Begin
	b := &block{dir: dir}
	for pair, err := range tx.GetRange(keys.Selectors(), kv.RangeOptions{Mode: kv.ModeSerial}).All(ctx) {
		if err != nil {
			return nil, err
		}
		pair = kv.KeyValue{Key: bytes.Clone(pair.Key[len(prefix):]), Value: bytes.Clone(pair.Value)}
		b.pairs = append(b.pairs, pair)
		if size -= len(pair.Key) + len(pair.Value); size <= 0 || len(b.pairs) == pairs {
			break
		}
	}
	if len(b.pairs) == 0 {
		return nil, nil
	}
	var err error
	b.version, err = tx.GetReadVersion().Get(ctx)
	return b, err
}

// resume goes on after a position of a stream with that manifest, which must be of the
// same lock: then nothing has changed.
func (s *source) resume(m *manifest, p position) error {
	if m.lock == "" || m.lock != s.lock.ID {
		return fmt.Errorf("%w (the stream was begun under another lock, or under none)", ErrLockLost)
	}
	if !slices.Equal(m.path, s.path) {
		return errors.New("tenants: the stream is of another tenant")
	}
	if !slices.EqualFunc(m.dirs, s.dirs, sameBranch) || !slices.EqualFunc(m.stores, s.stores, sameHeader) {
		return fmt.Errorf("%w (its directories are others than those in the stream)", ErrLockLost)
	}
	m.dirs = s.dirs // with keys
	s.manifest, s.position = m, p
	return nil
}

func sameHeader(a, b header) bool {
	return a.dir == b.dir && a.typ == b.typ && bytes.Equal(a.value, b.value)
}

func sameBranch(a, b branch) bool { return slices.Equal(a.path, b.path) && a.layer == b.layer }

// copyTo copies all blocks.
func (s *source) copyTo(ctx context.Context, dst *stage, progress func(Progress)) error {
	for {
		b, err := s.next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			return dst.finish(ctx, dst.checkComplete)
		}
		if err := dst.add(ctx, b, 0); err != nil {
			return err
		}
		if progress != nil {
			progress(dst.progress())
		}
	}
}

// tree is the directories of a tenant in the order of their paths: the tenant's own
// comes first.
type tree []branch

// branch is one directory of a tenant.
type branch struct {
	path  []string // relative to the tenant's directory
	layer string
	keys  kv.KeyRange // of its contents; of a partition, also those of what is in it
}

func (b *branch) isPartition() bool { return b.layer == directory.Partition }

// readTree reads the directories at a path.
func readTree(ctx context.Context, tx kv.ReadTransaction, l *directory.Layer, path []string) (t tree, err error) {
	all, err := l.Subtree(ctx, tx, path)
	for _, d := range all {
		t = append(t, branch{d.Path()[len(path):], d.Layer(), d.Reserve()})
	}
	return t, err
}

// size adds the sizes of all directories. That of a partition has what is in it already.
func (t tree) size(ctx context.Context, tx kv.ReadTransaction) (total int64, err error) {
	for _, b := range t.outermost() {
		n, _, err := rangesize.Of(ctx, tx, b.keys)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// estimateSizes returns the estimates of all directories, and their sum.
func (t tree) estimateSizes(ctx context.Context, tx kv.ReadTransaction) (sizes []int64, total int64, err error) {
	var estimates []kv.Future[int64]
	for _, b := range t {
		estimates = append(estimates, tx.GetEstimatedRangeSizeBytes(b.keys))
	}
	for _, estimate := range estimates {
		n, err := estimate.Get(ctx)
		if err != nil {
			return nil, 0, err
		}
		sizes, total = append(sizes, n), total+n
	}
	return sizes, total, nil
}

// outermost returns the directories that are in no partition of the tenant.
func (t tree) outermost() tree {
	var all tree
	for _, b := range t {
		if n := len(all); n > 0 && all[n-1].isPartition() && isBelow(b.path, all[n-1].path) {
			continue
		}
		all = append(all, b)
	}
	return all
}

func isBelow(path, above []string) bool {
	return len(path) > len(above) && slices.Equal(path[:len(above)], above)
}

// header is the header of one store: what a directory holds of one type.
type header struct {
	dir   int // into the tree
	typ   string
	value []byte
}

// readStores reads the headers of all stores in the directories.
func readStores(ctx context.Context, tx kv.ReadTransaction, t tree) (all []header, err error) {
	for i := range t {
		if t[i].isPartition() {
			continue
		}
		found, err := headers.Read(ctx, tx, t[i].keys.Begin)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			all = append(all, header{i, h.Type, h.Value})
		}
	}
	return all, nil
}

// checkNames returns an [ErrRename] if an index has a {Field} that is an element of paths,
// and the name of that element changes.
func checkNames(stores []header, changes func(depth int) bool) error {
	for _, h := range stores {
		c, err := format.DecodeCatalog(h.value)
		if err != nil {
			return fmt.Errorf("tenants: the store of %s: %w", h.typ, err)
		}
		for depth, element := range strings.Split(c.Schema().Type().Directory, "/") {
			field := boundElement.FindStringSubmatch(element)
			if field == nil || !changes(depth) {
				continue
			}
			if name := indexOver(c, field[1]); name != "" {
				return sentinel.Mark(ErrRename, fmt.Errorf("tenants: %s: the index %s has the field %s, which is a name in the tenant's path, and would keep the old one: drop the index, or keep the name",
					h.typ, name, field[1]))
			}
		}
	}
	return nil
}

// indexOver returns the name of an index that has the field; empty if there is none.
func indexOver(c *format.Catalog, field string) string {
	word := regexp.MustCompile(`(^|\W)` + field + `(\W|$)`)
	for name, layout := range c.Layouts() {
		if word.MatchString(layout) {
			return name
		}
	}
	return ""
}

var boundElement = regexp.MustCompile(`^\{(\w+)\}`)
