// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// verifyStep is a part of a verification: what is compared, of which index.
type verifyStep struct {
	name   string
	index  string // its name in keys; empty: all
	prefix []byte // of the keys that are read; nil: the step is one range
	cut    func(point []byte) ([]byte, bool)
}

// The names of steps, in keys.
const (
	recordsStep  = "records"  // records with all their entries
	entriesStep  = "entries"  // entries of an index with their records
	versionsStep = "versions" // entries of the index of versions
	derivedStep  = "derived"  // keys that follow from entries
	totalsStep   = "totals"   // counts and sums
)

// steps returns all steps of the store.
func (v *verification) steps(o *openStore) []verifyStep {
	all := []verifyStep{{recordsStep, "", o.records.Prefix, o.records.CutRecord}, {name: totalsStep}}
	for i := range o.indexes {
		ix := &o.indexes[i]
		cut := func(point []byte) ([]byte, bool) { return bytes.CutPrefix(point, ix.Prefix) }
		if ix.Kind == index.Version {
			all = append(all, verifyStep{versionsStep, ix.KeyName(), ix.Prefix, cut})
		}
		if ix.Kind.HasEntries() {
			all = append(all, verifyStep{entriesStep, ix.KeyName(), ix.Prefix, cut})
		}
		if ix.Kind.HasDerived() {
			all = append(all, verifyStep{name: derivedStep, index: ix.KeyName()})
		}
	}
	return all
}

// key returns what the keys of the step's ranges begin with.
func (s *verifyStep) key() []byte {
	return tuple.AppendString(tuple.AppendString(nil, s.name), s.index)
}

// split returns the ranges of the step.
func (s *verifyStep) split(ctx context.Context, tx kv.ReadTransaction, least, most int64) ([]worklist.Range, error) {
	key, begins, size := s.key(), [][]byte{s.key()}, int64(0)
	if s.prefix != nil {
		all := kv.KeyRange{Begin: s.prefix, End: append(slices.Clone(s.prefix), 0xff)}
		var err error
		begins, size, err = worklist.Split(ctx, tx, all, least, most, key, func(point []byte) ([]byte, bool) {
			begin, ok := s.cut(point)
			return slices.Concat(key, begin), ok
		})
		if err != nil {
			return nil, err
		}
	}
	return worklist.NewRanges(begins, append(slices.Clone(key), 0xff), size), nil
}

// parseStep returns the name of the step of a range and its index, and the length of its key.
func (v *verification) parseStep(r *worklist.Range) (name string, i, length int, err error) {
	name, rest, err := tuple.ReadString(r.Begin)
	if err != nil {
		return "", 0, 0, errVerification
	}
	of, rest, err := tuple.ReadString(rest)
	if err != nil {
		return "", 0, 0, errVerification
	}
	i = byID
	if of != "" {
		i = slices.IndexFunc(v.record.Indexes, func(d index.Definition) bool { return d.KeyName() == of })
		if i < 0 {
			return "", 0, 0, fmt.Errorf("persistable: %s: a verification is under way of the index %s, which this program does not have: let a program that has it complete the verification", v.record.Type, of)
		}
	}
	return name, i, len(r.Begin) - len(rest), nil
}

// verifyMemory is what the attempts of one transaction know of each other: what was repaired, and
// results that take long.
type verifyMemory struct {
	next   []byte // the attempts were made from here on
	part   Report // what they have repaired, with the faults
	totals *Report
}

// verifyTransaction is a transaction of a verification. It reads as a snapshot: it conflicts
// with no write of records.
type verifyTransaction struct {
	*verification
	t      *transaction
	store  *openStore
	keys   verificationKeys
	memory *verifyMemory
}

// KV implements [worklist.Transaction].
func (v *verifyTransaction) KV() kv.Transaction { return v.t.writer }

// Open implements [worklist.Transaction].
func (v *verifyTransaction) Open(ctx context.Context) (l worklist.List, open bool, err error) {
	if err := v.store.directory.Protect(v.t.writer); err != nil {
		return l, false, err
	}
	h, err := v.keys.readHead(ctx, v.t.writer)
	return v.keys.list(), err == nil && h != nil && !h.done && bytes.Equal(h.id, v.id), err
}

// Work implements [worklist.Transaction].
func (v *verifyTransaction) Work(ctx context.Context, r *worklist.Range, b worklist.Batch) (taken worklist.Portion, err error) {
	if !bytes.Equal(v.memory.next, r.Next) {
		*v.memory = verifyMemory{next: r.Next}
	}
	name, i, length, err := v.parseStep(r)
	if err != nil {
		return taken, err
	}
	w := verifier{source: v.source, options: v.options, index: i}
	w.options.Progress = nil
	var part verifyPart
	switch name {
	case recordsStep:
		part, taken.Next, err = v.pass(ctx, &w, r, b, length, w.verifyRecords)
	case entriesStep:
		part, taken.Next, err = v.pass(ctx, &w, r, b, length, w.verifyEntries)
	case versionsStep:
		part, taken.Next, err = v.pass(ctx, &w, r, b, length, w.verifyVersions)
	case derivedStep:
		part, taken.Next, err = v.derived(ctx, &w, r, length)
	case totalsStep:
		part, taken.Next, err = v.totals(ctx, &w, r, b, length)
	default:
		err = fmt.Errorf("persistable: %s: a verification of a newer program is under way, with the step %q: let that complete it", v.record.Type, name)
	}
	taken.Records, taken.Bytes = part.Records+part.Entries, part.bytes
	if err == nil {
		err = v.note(r, part.Report)
	}
	return taken, err
}

// pass verifies the next records or entries, and repairs what is at fault.
func (v *verifyTransaction) pass(ctx context.Context, w *verifier, r *worklist.Range, b worklist.Batch, length int, pass verifyPass) (verifyPart, []byte, error) {
	q := query{source: *v.source, plan: plan{Index: w.index, AsIs: true, Bounds: index.Bounds{}.From(r.Next[length:]).Before(r.End[length:])}}
	c := cursor{limit: min(b.Records, v.place.db.options.BuildBatch)}
	part, err := w.verifyBatch(ctx, v.t.snapshot(), v.store, &q, &c, pass)
	if err == nil {
		err = v.repair(ctx, w, &part)
	}
	if err != nil || !c.done {
		return part, r.End, err
	}
	next := slices.Concat(r.Begin[:length], c.position)
	if w.index != byID {
		next = append(next, 0) // after the entry; the position is after the record and its chunks
	}
	return part, next, nil
}

// repair repairs the faults of a batch, in transactions of their own, and adds those that the
// attempts before have repaired.
func (v *verifyTransaction) repair(ctx context.Context, w *verifier, part *verifyPart) error {
	if err := w.repairPart(ctx, part); err != nil || !v.options.Repair {
		return err
	}
	known := v.memory.part
	v.memory.part.Repaired += part.Repaired
	for _, f := range part.Faults {
		if !slices.ContainsFunc(known.Faults, f.isSame) {
			v.memory.part.addFault(f)
		}
	}
	part.Repaired, part.Faults, part.More = v.memory.part.Repaired, v.memory.part.Faults, part.More || v.memory.part.More
	return nil
}

// derived verifies the next keys that follow from entries.
func (v *verifyTransaction) derived(ctx context.Context, w *verifier, r *worklist.Range, length int) (verifyPart, []byte, error) {
	part, next, err := w.verifyDerivedBatch(ctx, v.t.snapshot(), v.store, w.index, r.Next[length:])
	if next == nil {
		return part, r.End, err
	}
	return part, slices.Concat(r.Begin[:length], next), err
}

// totals verifies counts and sums, which takes any number of transactions. The first batch only
// claims the range.
func (v *verifyTransaction) totals(ctx context.Context, w *verifier, r *worklist.Range, b worklist.Batch, length int) (verifyPart, []byte, error) {
	if len(r.Next) == length {
		return verifyPart{}, append(slices.Clone(r.Next), 0), nil
	}
	if v.memory.totals == nil {
		err := v.whileRenewing(ctx, b, w.verifyCounts)
		if err != nil {
			return verifyPart{}, nil, err
		}
		v.memory.totals = &w.report
	}
	return verifyPart{Report: *v.memory.totals}, r.End, nil
}

// whileRenewing runs fn, and renews the claim until it ends. A claim that cannot be renewed
// expires: fn goes on, and its transaction does not commit.
func (v *verifyTransaction) whileRenewing(ctx context.Context, b worklist.Batch, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	renewed := make(chan struct{})
	defer func() { <-renewed }()
	defer cancel()
	ticker := time.NewTicker(max(v.workOptions().Lease/4, time.Millisecond))
	go func() {
		defer close(renewed)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_ = b.Renew(ctx)
			}
		}
	}()
	return fn(ctx)
}

// note adds what a batch has found to the result of its range, and stores the faults.
func (v *verifyTransaction) note(r *worklist.Range, part Report) error {
	result, err := decodeVerifyResult(r.Result)
	if err != nil {
		return err
	}
	result.add(&part)
	for _, f := range part.Faults {
		if result.faults >= maxFaults || v.stored.Add(1) > mostStored {
			result.more = true
			break
		}
		if err := v.keys.writeFault(v.t.writer, r.Begin, result.faults, f); err != nil {
			return err
		}
		result.faults++
	}
	r.Result = result.encode()
	return nil
}
