// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/tuple"
)

// compareRecord begins to check that a record can be read, and has its entries.
func (s *store) compareRecord(b *batch, r *record) awaitFunc {
	checks, wrong := s.beginChecks(b, r)
	return func(ctx context.Context) error {
		b.keys += r.keys()
		if r.id != nil {
			b.records++
			b.bytes += r.size()
		}
		if wrong != nil {
			b.then(func() { s.damaged = s.damaged || r.id != nil })
			s.reportRecord(b, r, wrong)
		}
		if r.other != nil {
			s.reportRecord(b, r, r.other)
		}
		return s.awaitEntries(ctx, b, checks)
	}
}

func (s *store) reportRecord(b *batch, r *record, wrong *fault) {
	f := s.finding(wrong.code, wrong.key, "%s", wrong.text)
	if r.id != nil {
		f.ID = tuple.Describe(r.id)
	}
	b.report(f)
}

// beginChecks starts to read the entries of a record.
func (s *store) beginChecks(b *batch, r *record) (checks []entryCheck, wrong *fault) {
	if r.id == nil {
		return nil, newFault("record/bad-key", r.key, "%v", errKey)
	}
	payload, wrong := s.decode(r)
	if wrong != nil {
		return nil, wrong
	}
	if err := s.gather(&s.set, r.id, payload); err != nil {
		return nil, newFault("record/undecodable", r.key, "%v", err)
	}
	for i := range s.indexes {
		ix := &s.indexes[i]
		if !ix.Kind.HasEntries() {
			continue
		}
		for n := range s.set.Keys(i) {
			key := bytes.Clone(s.set.Key(i, n))
			want := ix.AppendValue(nil, s.set.Record(i, ix, r.indexRecord()))
			checks = append(checks, entryCheck{ix, r.id, key, want, b.get(key)})
		}
	}
	return checks, nil
}

// awaitEntries waits for entries, and compares them.
func (s *store) awaitEntries(ctx context.Context, b *batch, checks []entryCheck) error {
	for _, check := range checks {
		value, err := b.await(ctx, check.value)
		if err != nil {
			return err
		}
		if f := check.fault(value); f != nil {
			b.report(s.entryFinding(f.code, check.index, f.key, check.id, "%s", f.text))
		}
	}
	return nil
}
