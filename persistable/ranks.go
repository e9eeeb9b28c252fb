// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// RankOf implements the run-time of package persistimpl.
func (implementation) RankOf(ctx context.Context, e *erased.Source, i int, group, score []byte) (n int64, err error) {
	s := newSource(e)
	err = s.readRanks(ctx, i, func(_ *transaction, o *openStore, reader kv.ReadTransaction) error {
		n, err = o.indexes[i].Ranks().Count(ctx, reader, group, slices.Concat(group, score))
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Nth implements the run-time of package persistimpl.
func (implementation) Nth(ctx context.Context, e *erased.Source, i int, group []byte, n int64) (any, error) {
	s := newSource(e)
	return s.rankedRecord(ctx, i, group, func(l *rank.List, reader kv.ReadTransaction) ([]byte, error) {
		return l.Nth(ctx, reader, group, n)
	})
}

// Percentile implements the run-time of package persistimpl.
func (implementation) Percentile(ctx context.Context, e *erased.Source, i int, group []byte, p float64) (any, error) {
	s := newSource(e)
	return s.rankedRecord(ctx, i, group, func(l *rank.List, reader kv.ReadTransaction) ([]byte, error) {
		return l.Percentile(ctx, reader, group, groupEnd(group), p)
	})
}

// groupEnd returns the end of the elements of a group.
func groupEnd(group []byte) []byte { return append(slices.Clone(group), 0xff) }

// readRanks runs fn with an index of the kind rank. If there is no store, it does not.
func (s *source) readRanks(ctx context.Context, i int, fn func(*transaction, *openStore, kv.ReadTransaction) error) (err error) {
	ctx, o := s.begin(ctx, "Rank", i)
	defer o.finish(&err)
	defer s.nameEnded(ctx, "Rank", nil, nil, &err)
	if err := s.checkEntries(i); err != nil {
		return err
	}
	return s.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		if err := s.record.checkReadable(o, i); err != nil {
			return err
		}
		return fn(t, o, t.Reader)
	})
}

// rankedRecord returns the record of the element that find returns, or [ErrNotFound] if
// that is none of the group.
func (s *source) rankedRecord(ctx context.Context, i int, group []byte, find func(*rank.List, kv.ReadTransaction) ([]byte, error)) (v any, err error) {
	err = s.readRanks(ctx, i, func(t *transaction, o *openStore, reader kv.ReadTransaction) error {
		v = nil
		element, err := find(o.indexes[i].Ranks(), reader)
		if err != nil || !isInGroup(element, group) {
			return err
		}
		v, err = s.recordOfElement(ctx, t, o, &o.indexes[i], element)
		return err
	})
	if err == nil && v == nil {
		err = fmt.Errorf("%w: the index %s has no %s at that place%s", ErrNotFound, s.record.Indexes[i].Name, s.record.Type, s.place.inDirectory())
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// isInGroup reports whether an element is one of a group. The values of a group go on with
// a tuple element; after them 0xff continues a text with a zero byte, which is another group.
func isInGroup(element, group []byte) bool {
	return len(element) > len(group) && bytes.HasPrefix(element, group) && element[len(group)] != 0xff
}

// recordOfElement returns the record that an element of a list of ranks names.
func (s *source) recordOfElement(ctx context.Context, t *transaction, o *openStore, ix *index.Index, element []byte) (any, error) {
	key := slices.Concat(ix.Prefix, element)
	b := newEntryBatch(s.record, t, o)
	defer b.release()
	if err := b.startFetches(ix, []kv.KeyValue{{Key: key}}); err != nil {
		return nil, err
	}
	return b.awaitEntry(ctx, 0)
}
