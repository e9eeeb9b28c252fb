// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/cluster"
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
	db = kv.With(db, kv.TransactionOptions{Priority: cmp.Or(o.Priority, kv.PriorityBatch)})
	x := &examination{db: db, options: o, found: found, counts: map[string]int{}, seen: map[string]bool{}}
	defer x.passHeldOn()
	for _, f := range o.Cluster {
		x.add(newFinding(f.Code, nil, nil, nil, "%s", f.Reason))
	}
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

// Report counts what was examined and found.
type Report struct {
	Directories, Stores, Records, Entries, Keys int64
	Damage, Warnings, Notices                   int64 // those that were not passed on for being too many, too
	NotExamined                                 int64 // ranges of keys that could not be examined: warnings, too
}

// Options say what [Examine] examines. The zero value examines everything, while programs write.
type Options struct {
	// Path limits the examination to a directory and those below it.
	Path []string
	// Cluster has the faults of the cluster that the database is on: they are findings, too.
	Cluster []cluster.Fault
	// SkipRecords leaves out the comparison of records with their index entries.
	SkipRecords bool
	// Exclusive says that no program writes during the examination, as to an embedded database that is
	// open for reading: counts and sums of any number of records are then compared.
	Exclusive bool
	// Priority is that of the transactions. 0: [kv.PriorityBatch], so that the requests of others come first.
	Priority kv.Priority
	// Now reads the clock. The default value is time.Now.
	Now func() time.Time
	// Progress, if it is not nil, is called after each batch with the report so far.
	Progress func(Report)
}

// mostOfCode is how many findings of one code in one directory are passed on, if each has a remedy of
// its own. The report counts all.
const mostOfCode = 100

// run runs a pass. A batch that takes longer than a version can be read is halved. A unit
// that cannot be read even so is reported, and left out: whole is false then.
func (x *examination) run(ctx context.Context, p pass) (whole bool, err error) {
	whole = true
	for most, failed := batchUnits, 0; p.at != nil; {
		next, fit, err := x.runBatch(ctx, &p, most)
		if most = min(fit+fit/4+1, batchUnits); err == nil {
			p.at, failed = next, 0
			continue
		}
		whole = false
		failed++
		if err := x.leaveOut(ctx, &p, failed, err); err != nil {
			return false, err
		}
	}
	return whole, nil
}

func (x *examination) runBatch(ctx context.Context, p *pass, most int) (next []byte, fit int, err error) {
	fit, err = x.readUnits(ctx, most, func(b *batch) error {
		next = nil
		there, err := p.isThere(ctx, b)
		if err != nil || !there {
			return err
		}
		next, err = p.examine(ctx, b, p.at)
		return err
	})
	return next, fit, err
}

// mostLeftOut is how many units in a row are left out before the rest of a pass is.
const mostLeftOut = 100

// leaveOut reports the first unit, or all that is left, and moves past it. It returns the
// cause if that is not that reading takes too long.
func (x *examination) leaveOut(ctx context.Context, p *pass, failed int, cause error) error {
	if !isTooSlow(cause) {
		return cause
	}
	at := p.at
	p.at = nil
	if p.first == nil || failed > mostLeftOut {
		x.addNotExamined(p.notExamined(nil, "the rest of %s cannot be read: %v", p.name, cause))
		return nil
	}
	var unit kv.KeyRange
	err := x.read(ctx, func(b *batch) (err error) {
		unit, err = p.first(ctx, b, at)
		return err
	})
	switch {
	case isTooSlow(err):
		x.addNotExamined(p.notExamined(at, "the rest of %s, from this key on, cannot be read: %v", p.name, err))
		return nil
	case err == nil && unit.Begin != nil:
		p.at = unit.End
		x.addNotExamined(p.notExamined(unit.Begin, "it, or what it refers to, cannot be read: %v", cause))
	}
	return err
}

// addNotExamined reports what cannot be read.
func (x *examination) addNotExamined(f Finding) {
	x.leftOut++
	x.add(f)
}

// mostAttempts is how often a single unit is read before it is left out.
const mostAttempts = 4

// eachPair calls fn with the pairs of a range, in batches of one transaction each. fn may
// read what they refer to, one after the other.
func (x *examination) eachPair(ctx context.Context, p *place, r kv.KeyRange, fn func(ctx context.Context, b *batch, pair kv.KeyValue) error) error {
	_, err := x.run(ctx, pairsPass(p, r, func(b *batch, pair kv.KeyValue) awaitFunc {
		return func(ctx context.Context) error {
			b.keys++
			return fn(ctx, b, pair)
		}
	}))
	return err
}

// eachStorePair begins to examine the pairs of a range of a store, in batches of one
// transaction each, which reads the header, too. It reports whether it has examined all.
func (x *examination) eachStorePair(ctx context.Context, s *store, r kv.KeyRange, begin func(b *batch, pair kv.KeyValue) awaitFunc) (whole bool, err error) {
	p := pairsPass(s.place, r, begin)
	p.store = s
	return x.run(ctx, p)
}

// eachRecord begins to examine the records of a store, and keys among them that are no
// record's, in batches of one transaction each. It reports whether it has examined all.
func (x *examination) eachRecord(ctx context.Context, s *store, begin func(b *batch, r *record) awaitFunc) (whole bool, err error) {
	r := s.below(letterRecord, s.typ)
	return x.run(ctx, pass{
		place: s.place, store: s, name: "the records", at: r.Begin,
		examine: func(ctx context.Context, b *batch, at []byte) ([]byte, error) {
			records := s.records(ctx, b, kv.KeyRange{Begin: at, End: r.End})
			return eachUnit(ctx, b, records, (*record).bounds, func(r *record) awaitFunc { return begin(b, r) })
		},
		first: func(ctx context.Context, b *batch, at []byte) (unit kv.KeyRange, err error) {
			pair, err := b.first(ctx, kv.KeyRange{Begin: at, End: r.End})
			if err != nil || pair.Key == nil {
				return kv.KeyRange{}, err
			}
			return s.recordOf(pair.Key).bounds(), nil
		},
	})
}
