// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// naiveView reads for a transaction or for its snapshot.
type naiveView struct {
	t        *naiveTx
	snapshot bool
}

// pairs is the database as the view sees it, own writes applied. It is called
// with the database's lock held.
func (v naiveView) pairs() (model.Model, error) {
	t := v.t
	if err := t.begin(); err != nil {
		return nil, err
	}
	t.read = true
	base, err := t.db.at(t.version)
	if err != nil || t.rywOff || v.snapshot && t.snapshotOff > 0 {
		return base, err
	}
	m := maps.Clone(base)
	for _, w := range t.writes {
		w.apply(m)
	}
	return m, nil
}

// touch adds a read conflict range, without what own writes answer, and fails
// if part of it awaits a versionstamp.
func (v naiveView) touch(r kv.KeyRange) error {
	t := v.t
	for _, w := range t.writes {
		if !t.rywOff && overlap(w.unreadable(), r) {
			t.fault = kv.NewError(kv.CodeAccessedUnreadable, "")
			return t.fault
		}
	}
	if v.snapshot {
		return nil
	}
	rest := []kv.KeyRange{{Begin: bytes.Clone(r.Begin), End: bytes.Clone(r.End)}}
	for _, w := range t.writes {
		if !t.rywOff && (w.op == naiveSet || w.op == naiveClear) {
			rest = without(rest, w.keys)
		}
	}
	t.reads = append(t.reads, rest...)
	return nil
}

// without cuts a range out of others.
func without(ranges []kv.KeyRange, hole kv.KeyRange) (rest []kv.KeyRange) {
	for _, r := range ranges {
		if !overlap(r, hole) {
			rest = append(rest, r)
			continue
		}
		if bytes.Compare(r.Begin, hole.Begin) < 0 {
			rest = append(rest, kv.KeyRange{Begin: r.Begin, End: hole.Begin})
		}
		if bytes.Compare(hole.End, r.End) < 0 {
			rest = append(rest, kv.KeyRange{Begin: hole.End, End: r.End})
		}
	}
	return rest
}

// Get implements [kv.ReadTransaction].
func (v naiveView) Get(key []byte) kv.Future[[]byte] {
	v.t.db.mu.Lock()
	defer v.t.db.mu.Unlock()
	return kv.Resolved(v.get(key))
}

func (v naiveView) get(key []byte) ([]byte, error) {
	m, err := v.pairs()
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(key, []byte{0xff}) && string(key) != kv.MetadataVersionKey {
		return nil, kv.NewError(kv.CodeKeyOutsideLegalRange, "%q", key)
	}
	if err := v.touch(single(key)); err != nil {
		return nil, err
	}
	value, ok := m[string(key)]
	if !ok {
		return nil, nil
	}
	return []byte(value), nil
}

// GetKey implements [kv.ReadTransaction].
func (v naiveView) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	v.t.db.mu.Lock()
	defer v.t.db.mu.Unlock()
	m, err := v.pairs()
	if err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	found := []byte(withoutSystemKeys(m).Key(sel))
	anchor := bytes.Clone(sel.Key)
	if sel.OrEqual {
		anchor = kv.Successor(anchor)
	}
	r := kv.KeyRange{Begin: anchor, End: kv.Successor(found)}
	if bytes.Compare(found, anchor) < 0 {
		r = kv.KeyRange{Begin: found, End: anchor}
	}
	return kv.Resolved(found, v.touch(r))
}

// withoutSystemKeys returns the pairs of m that are not system keys.
func withoutSystemKeys(m model.Model) model.Model {
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(k, _ string) bool { return k >= "\xff" })
	return m
}

// GetRange implements [kv.ReadTransaction].
func (v naiveView) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		v.t.db.mu.Lock()
		defer v.t.db.mu.Unlock()
		return kv.Resolved(v.batch(req))
	})
}

func (v naiveView) batch(req kv.BatchRequest) (kv.Batch, error) {
	switch m, err := v.pairs(); {
	case err != nil:
		return kv.Batch{}, err
	case req.Limit < 0:
		return kv.Batch{}, kv.NewError(kv.CodeRangeLimitsInvalid, "")
	case req.Limit == 0 && req.Mode == kv.ModeExact:
		return kv.Batch{}, kv.NewError(kv.CodeExactModeWithoutLimits, "")
	case string(req.End.Key) > "\xff":
		return kv.Batch{}, kv.NewError(kv.CodeKeyOutsideLegalRange, "")
	default:
		return v.window(withoutSystemKeys(m), req)
	}
}

// window reads one batch of a legal request.
func (v naiveView) window(m model.Model, req kv.BatchRequest) (kv.Batch, error) {
	keys := m.Keys()
	bound := func(sel kv.KeySelector) int { return min(max(m.Position(sel), 0), len(keys)) }
	from, to := bound(req.Begin), bound(req.End)
	names := slices.Clone(keys[from:max(from, to)])
	scanned := kv.KeyRange{Begin: req.Begin.Key, End: req.End.Key}
	size := map[kv.StreamingMode]int{kv.ModeIterator: 50 * req.Iteration, kv.ModeSmall: 30, kv.ModeMedium: 100}[req.Mode]
	if size == 0 || req.Limit > 0 && req.Limit < size {
		size = req.Limit
	}
	if req.Reverse {
		slices.Reverse(names)
	}
	var batch kv.Batch
	if size > 0 && len(names) >= size {
		names, batch.More = names[:size], true
		if last := []byte(names[size-1]); req.Reverse {
			scanned.Begin = last
		} else {
			scanned.End = kv.Successor(last)
		}
	}
	for _, k := range names {
		batch.KVs = append(batch.KVs, kv.KeyValue{Key: []byte(k), Value: []byte(m[k])})
	}
	return batch, v.touch(scanned)
}

// GetReadVersion implements [kv.ReadTransaction].
func (v naiveView) GetReadVersion() kv.Future[int64] {
	v.t.db.mu.Lock()
	defer v.t.db.mu.Unlock()
	err := v.t.begin()
	return kv.Resolved(v.t.version, err)
}

// Snapshot implements [kv.ReadTransaction].
func (v naiveView) Snapshot() kv.ReadTransaction { return naiveView{v.t, true} }

// SetOptions implements [kv.ReadTransaction].
func (v naiveView) SetOptions(o kv.TransactionOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	v.t.db.mu.Lock()
	defer v.t.db.mu.Unlock()
	if v.t.read || len(v.t.writes) > 0 {
		return kv.NewError(kv.CodeClientInvalidOperation, "SetOptions after a read or a write")
	}
	v.t.options = v.t.options.With(o)
	v.t.configure()
	v.t.begun()
	return nil
}

// ReadTransact implements [kv.ReadTransactor].
func (v naiveView) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}

// The naive engine's estimates are no estimates.

func (v naiveView) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	parts, err := v.split(r, 1<<62)
	return kv.Resolved(parts.last, err)
}

func (v naiveView) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	if err := kv.CheckSplitPoints(r, chunkSize); err != nil {
		return kv.Resolved[[][]byte](nil, err)
	}
	if string(r.End) > "\xff" {
		return kv.Resolved[[][]byte](nil, kv.NewError(kv.CodeKeyOutsideLegalRange, ""))
	}
	parts, err := v.split(r, chunkSize)
	return kv.Resolved(parts.bounds, err)
}

// naiveParts are the parts of a range, and the bytes of the last of them.
type naiveParts struct {
	bounds [][]byte
	last   int64
}

func (v naiveView) split(r kv.KeyRange, chunkSize int64) (naiveParts, error) {
	v.t.db.mu.Lock()
	defer v.t.db.mu.Unlock()
	if err := kv.CheckSizeRange(r); err != nil {
		return naiveParts{}, err
	}
	if err := v.t.usable(); err != nil {
		return naiveParts{}, err
	}
	m := v.t.db.last().pairs
	p := naiveParts{bounds: [][]byte{bytes.Clone(r.Begin)}}
	for _, key := range m.Keys() {
		if key < string(r.Begin) || key >= string(r.End) {
			continue
		}
		size := int64(len(key) + len(m[key]))
		if p.last > 0 && p.last+size > chunkSize {
			p.bounds, p.last = append(p.bounds, []byte(key)), 0
		}
		p.last += size
	}
	if !bytes.Equal(r.Begin, r.End) {
		p.bounds = append(p.bounds, bytes.Clone(r.End))
	}
	return p, nil
}
