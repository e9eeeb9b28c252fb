// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// The client shows a transaction's conflict ranges as keys below these prefixes:
// "1" where one begins, "0" where it ends.
const (
	readRanges  = "\xff\xff/transaction/read_conflict_range/"
	writeRanges = "\xff\xff/transaction/write_conflict_range/"
	conflicting = "\xff\xff/transaction/conflicting_keys/"
)

// allKeysEnd is behind all keys that the database holds.
const allKeysEnd = "\xff\xff"

// ConflictRanges implements [kv.ConflictRanger].
func (t *transaction) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	view := reader{t: t, snapshot: true}
	reads, writes := view.GetRange(below(readRanges), kv.RangeOptions{}), view.GetRange(below(writeRanges), kv.RangeOptions{})
	read, errRead := collectRanges(ctx, readRanges, reads)
	write, errWrite := collectRanges(ctx, writeRanges, writes)
	if err := errors.Join(errRead, errWrite); err != nil {
		return nil, nil, fmt.Errorf("fdbkv: reading the conflict ranges: %w", err)
	}
	return read, write, nil
}

// ConflictingKeys implements [kv.ConflictRanger]. The client remembers them; the
// cluster is not asked.
func (t *transaction) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	view := reader{t: t, snapshot: true}
	ranges, err := collectRanges(ctx, conflicting, view.GetRange(below(conflicting), kv.RangeOptions{}))
	if err != nil {
		return nil, fmt.Errorf("fdbkv: reading the conflicting keys: %w", err)
	}
	return ranges, nil
}

// explainConflict returns the error of a commit with the conflicting keys. An
// error that hides them is no reason to hide the commit's.
func (t *transaction) explainConflict(ctx context.Context, err error) error {
	if !kv.IsConflict(err) {
		return err
	}
	ranges, unknown := t.ConflictingKeys(ctx)
	if unknown != nil || len(ranges) == 0 {
		return err
	}
	return &clientError{kv.NewConflictError(ranges)}
}

// below is everything that the module of special keys at prefix holds.
func below(prefix string) kv.SelectorRange {
	return kv.KeyRange{Begin: []byte(prefix), End: []byte(prefix + "\xff\xff")}.Selectors()
}

// collectRanges makes ranges of their ends. The client does not show where a
// range ends that ends behind all keys.
func collectRanges(ctx context.Context, prefix string, bounds kv.RangeResult) (ranges []kv.KeyRange, err error) {
	for bound, err := range bounds.All(ctx) {
		if err != nil {
			return nil, err
		}
		key := bytes.TrimPrefix(bound.Key, []byte(prefix))
		switch last := len(ranges) - 1; {
		case string(bound.Value) == "1":
			ranges = append(ranges, kv.KeyRange{Begin: key, End: []byte(allKeysEnd)})
		case last >= 0:
			ranges[last].End = key
		}
	}
	return ranges, nil
}
