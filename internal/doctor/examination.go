// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// batch is what one transaction has found.
type batch struct {
	findings      []Finding
	records, keys int64
	entries       int64
	bytes         int64 // of records
	after         []func()
}

// then calls fn when the transaction has ended: fn may change what is outside of it, which
// an attempt that is repeated must not.
func (b *batch) then(fn func()) { b.after = append(b.after, fn) }

// examination is one run.
type examination struct {
	db      kv.Database
	options Options
	found   func(Finding)
	report  Report
	counts  map[string]int  // findings by code and path
	seen    map[string]bool // codes' areas and keys that were reported
	usage   usage           // of all records so far
}

// Examine examines a database, or a part of it, and calls found with each finding, in this
// goroutine. It returns an error if the examination could not be finished; what was found
// until then has been passed on. It writes nothing.
//
// Cost: it reads every key once, and records once more for each of their entries.
func Examine(ctx context.Context, db kv.Database, o Options, found func(Finding)) (Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	x := &examination{db: db, options: o, found: found, counts: map[string]int{}, seen: map[string]bool{}}
	err := x.examineTree(ctx, directory.Root().Metadata(), nil)
	return x.report, err
}

// read runs fn in a transaction, and passes on what it has found.
func (x *examination) read(ctx context.Context, fn func(tx kv.ReadTransaction, b *batch) error) error {
	var b batch
	err := x.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		b = batch{}
		return fn(tx, &b)
	})
	if err != nil {
		return err
	}
	for _, fn := range b.after {
		fn()
	}
	x.report.Records += b.records
	x.report.Entries += b.entries
	x.report.Keys += b.keys
	x.usage.records += b.records
	x.usage.bytes += b.bytes
	for _, f := range b.findings {
		x.add(f)
	}
	if x.options.Progress != nil {
		x.options.Progress(x.report)
	}
	return nil
}

// add passes a finding on. A key is reported once for each area, which is the first part of
// the code: two passes may find the same fault from both sides.
func (x *examination) add(f Finding) {
	area, _, _ := strings.Cut(f.Code, "/")
	at := strings.Join(append([]string{f.Code}, f.Path...), "\x00")
	if f.Key != nil {
		key := area + "\x00" + string(f.Key)
		if x.seen[key] {
			return
		}
		if x.counts[at] < mostOfCode {
			x.seen[key] = true
		}
	}
	switch f.Severity {
	case Damage:
		x.report.Damage++
	case Warning:
		x.report.Warnings++
		if f.Code == NotExamined {
			x.report.NotExamined++
		}
	case Notice:
		x.report.Notices++
	}
	if x.counts[at]++; x.counts[at] <= mostOfCode {
		x.found(f)
	}
}

// The bounds of what one transaction reads.
const (
	batchPairs = 1000
	batchBytes = 2 << 20
)

// readBatch reads the first pairs of a range. It reports whether more may follow.
func readBatch(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange) (pairs []kv.KeyValue, more bool, err error) {
	size := 0
	for pair, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeIterator}).All(ctx) {
		if err != nil {
			return nil, false, err
		}
		if len(pairs) == batchPairs || size > batchBytes {
			return pairs, true, nil
		}
		pairs = append(pairs, pair)
		size += len(pair.Key) + len(pair.Value)
	}
	return pairs, false, nil
}

// eachBatch calls fn with the pairs of a range, in batches of one transaction each. fn may
// read what they refer to.
func (x *examination) eachBatch(ctx context.Context, r kv.KeyRange, p *place, fn func(tx kv.ReadTransaction, b *batch, pairs []kv.KeyValue) error) error {
	for more := true; more; {
		var last []byte
		err := x.read(ctx, func(tx kv.ReadTransaction, b *batch) error {
			if there, err := p.exists(ctx, tx); err != nil || !there {
				more = false
				return err
			}
			pairs, follow, err := readBatch(ctx, tx, r)
			if more = follow; err != nil || len(pairs) == 0 {
				return err
			}
			last = pairs[len(pairs)-1].Key
			b.keys = int64(len(pairs))
			return fn(tx, b, pairs)
		})
		if err != nil {
			return err
		}
		if more {
			r.Begin = kv.Successor(last)
		}
	}
	return nil
}
