// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// examination is one run.
type examination struct {
	db      kv.Database
	options Options
	found   func(Finding)
	report  Report
	counts  map[string]int  // findings by code and path
	seen    map[string]bool // codes' areas and keys that were reported
	usage   usage           // of all records so far
	leftOut int             // parts that could not be examined
	held    []*Finding      // those of the examined store with one remedy for all of it
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
	defer x.passHeldOn()
	err := x.examineTree(ctx, directory.Root().Metadata(), nil)
	return x.report, err
}

// read runs fn in a transaction, and passes on what it has found.
func (x *examination) read(ctx context.Context, fn func(b *batch) error) error {
	_, err := x.readUnits(ctx, 1, fn)
	return err
}

// readUnits is read for at most so many units: after each failure that may be repeated, the
// next attempt examines half of what the last one began with. It returns how many the last
// one might examine, and a *slowError if a single unit cannot be read.
func (x *examination) readUnits(ctx context.Context, most int, fn func(b *batch) error) (fit int, err error) {
	var b *batch
	alone := 0
	err = x.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		if b != nil {
			most = b.half()
		}
		b = newBatch(tx, most, x.options.Now)
		err := fn(b)
		if kv.CodeOf(err) != kv.CodeTransactionTooOld {
			return err
		}
		if most == 1 {
			alone++ //persistvet:ignore retryeffect it counts the attempts that have a single unit
		}
		if alone == mostAttempts {
			return &slowError{err}
		}
		return kv.MarkProgress(err) // the next attempt does less
	})
	if err == nil {
		x.take(b)
	}
	return most, err
}

// take passes on what a transaction has found.
func (x *examination) take(b *batch) {
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
	x.counts[at]++
	switch {
	case wholeStore[f.Remedy]:
		x.hold(f)
	case x.counts[at] <= mostOfCode:
		x.found(f)
	}
}

// hold keeps a finding until its store is examined, or counts it with the first of its kind.
func (x *examination) hold(f Finding) {
	i := slices.IndexFunc(x.held, func(first *Finding) bool {
		return first.Code == f.Code && first.Type == f.Type && first.Index == f.Index && slices.Equal(first.Path, f.Path)
	})
	if i >= 0 {
		x.held[i].Places++
		return
	}
	x.held = append(x.held, &f)
}

// passHeldOn passes on the findings that were kept.
func (x *examination) passHeldOn() {
	for _, f := range x.held {
		x.found(*f)
	}
	x.held = nil
}
