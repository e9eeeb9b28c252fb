// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Indexes builds, checks and mends the indexes of a store's directory. [Store.Indexes]
// returns it. Its operations run in as many transactions of their own as they need, while
// others read and write; on a store that is bound to a transaction they fail.
type Indexes struct {
	source
	schema *erased.Schema // of the type, even of a store that cannot be used; nil of the zero store
}

// Build completes the indexes that are not readable in this store's
// directory: those added to the type since the first record was written there.
// It runs while others read and write, in many small transactions. After an
// interruption another call, in any process, goes on where it stopped. At the end it
// returns a *[NotUniqueError] if records share values of a unique index. Until then a new
// record can have the value of one that the build has not come to. It does
// nothing if all indexes are readable.
//
// The indexes that this call builds are in the state building until it is done: every program
// maintains them with its writes, and none reads them. Indexes that are added while a
// build runs are built after it. Any number of processes may call Build at
// once: they share the work. A call returns when all of it is done, or with ctx's
// error; whatever it has done stays done, even if its process is killed.
//
// Cost: every record is read once. A transaction reads and writes at most about a
// megabyte; each worker holds one in memory. A write conflicts with the build, and is
// retried, only if both touch the same record at the same time.
func (x Indexes) Build(ctx context.Context, o BuildOptions) (err error) {
	ctx, op := x.begin(ctx, "Indexes.Build", byID)
	defer op.finish(&err)
	if err := x.prepareMaintenance(); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	// Another program may remove an index, or build it in another layout.
	for range 3 {
		err := x.build(ctx, o)
		if !errors.Is(err, ErrNotBuilt) {
			return err
		}
	}
	return fmt.Errorf("persistable: %s: other programs keep removing its indexes, or building them in another layout: update them first", x.record.Type)
}

// Progress returns how far the build of this store's indexes has come, in
// whatever process it runs.
//
// Cost: one round of reads of at most some hundred keys.
func (x Indexes) Progress(ctx context.Context) (BuildProgress, error) {
	if err := x.mayBuild(); err != nil {
		return BuildProgress{}, err
	}
	p, err := build.ReadProgress(ctx, buildStore{&x.source})
	return newBuildProgress(p), err
}

// Rebuild makes the entries of the index with that name in keys anew. It removes them and
// builds the index again; a unique index that is readable it mends entry by entry, as
// Verify does with Repair, so that it stays readable and unique, unless records share a
// value by then: those end in a *[NotUniqueError]. It mends all faults of entries that
// Verify finds, and builds the other indexes that are not readable as well.
//
// The name in keys is [IndexDefinition.KeyName]: it ends in _unique for a unique index, and
// [Violation], [Fault], the text of an [ErrNotBuilt] and "kazahana index list" show it.
func (x Indexes) Rebuild(ctx context.Context, name string, o BuildOptions) (err error) {
	ctx, op := x.begin(ctx, "Indexes.Rebuild", byID)
	defer op.finish(&err)
	if err := cmp.Or(x.prepareMaintenance(), o.Validate()); err != nil {
		return err
	}
	at, err := x.place.findIndex(name)
	if err != nil {
		return err
	}
	mended, err := x.mendUnique(ctx, x.place.definitions[at])
	if err != nil {
		return err
	}
	if !mended {
		err = x.db.transact(ctx, func(t *transaction) error {
			return x.changeState(ctx, t, index.Disabled, func(i int, _ index.State) bool { return i == at })
		})
	}
	if err != nil {
		return err
	}
	return x.Build(ctx, o)
}

// RemoveUnused removes the indexes that this program's type does not have, by
// name, from the directory: their entries, and their place in its header, which ends
// their maintenance by all programs. Call it from the newest program only, since an older
// one would remove the newer one's indexes. A program that still has a removed index
// finds it as one that was never built: queries return an [ErrNotBuilt], and
// Build builds it again. It works where an [ErrForeignIndex] refuses writes.
func (x Indexes) RemoveUnused(ctx context.Context) (err error) {
	ctx, o := x.begin(ctx, "Indexes.RemoveUnused", byID)
	defer o.finish(&err)
	if err := x.prepareMaintenance(); err != nil {
		return err
	}
	return x.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, x.place)
		if err != nil || o == nil {
			return err
		}
		next := o.catalog.Clone()
		for _, name := range next.RemoveUnused(x.place.definitions) {
			index.ClearUnknown(t.writer, o.prefix, name)
		}
		if next.Equal(o.catalog) {
			return nil
		}
		return t.changeCatalog(ctx, x.place, o, next)
	})
}

// Violations returns the violations of the unique index with that name in keys, while it
// cannot be completed: after a token, or the first ones if token is empty. A page has
// at least fifty, unless it is the last one. An index that is readable, or not yet
// built, has none. A wrong name is an [ErrNoIndex], a wrong token an [ErrBadToken].
//
// Violations checks each of them again and removes those that are solved from the list,
// in transactions of its own. So the list is exact at the time of the call. Where the
// owner of a value is gone, the first of the other records becomes the owner. When
// none are left Build makes the index readable. While the tenant is locked, the error is an
// [ErrLocked].
//
// Cost: for each fifty violations a range read, two rounds of reads each, and a commit.
func (x Indexes) Violations(ctx context.Context, index, token string) (ViolationPage, error) {
	if err := x.mayBuild(); err != nil {
		return ViolationPage{}, err
	}
	i, err := x.place.findIndex(index)
	if err != nil {
		return ViolationPage{}, err
	}
	if !x.place.definitions[i].Unique {
		e := noIndex{typ: x.record.Type, reason: fmt.Sprintf("the index %s is not unique", index), indexes: x.record.indexFields()}
		return ViolationPage{}, e.err()
	}
	tokens := maintenanceTokens{&x.source, "violations " + index}
	after, err := tokens.open(token)
	if err != nil {
		return ViolationPage{}, err
	}
	var page ViolationPage
	for {
		left, next, err := x.settlePage(ctx, i, after)
		if err != nil {
			return ViolationPage{}, err
		}
		page.Violations = append(page.Violations, left...)
		if next == nil {
			return page, nil
		}
		if after = next; len(page.Violations) >= violationBatch {
			page.Next = tokens.seal(next)
			return page, nil
		}
	}
}

// Verify compares every record with its entries in all readable indexes, and
// every entry with its record. It runs while others read and write, and takes as many
// transactions as it needs: an entry and its record are compared within one. Without
// VerifyOptions.Repair it corrects nothing. If it ends early, with an error or with
// the end of ctx, the report says what it has found until then, and its Next is the token
// with which another call goes on, perhaps in another process.
//
// With Repair it mends the entries at fault, and only these. A transaction that mends an
// entry reads its record again, so it never undoes a concurrent write. One that corrects a
// count or a sum adds what is missing, which commutes with what writes add: it conflicts
// with no write. The counts of ranks remain: Rebuild mends them. Other faults need a
// decision: records that cannot be decoded, and records that have a unique value that
// another record has, too. The report's Faults has all faults, Repaired is the number of
// those that are mended.
//
// Counts and sums of few records are compared with the records at one version, which can be
// read for five seconds. Those of more records are counted anew while others write: Verify
// adds an index to the directory, the recount, with the name of the other one and
// "~recount" after it. It builds the recount as Build builds any index, compares the two
// group by group, each at one version, and removes the recount. Queries go on reading the
// count or sum. Until then writes maintain both, even those of programs that do not have
// the index, and [Indexes.Progress] names the recount. If the process is killed the
// recount stays: the next call goes on with it, or RemoveUnused removes it. In a locked
// tenant nothing can be counted anew, and the report has such counts and sums as skipped.
//
// With Workers the work is shared, see [VerifyOptions.Workers]: several goroutines and
// processes verify at once, and any of them goes on after a crash.
//
// Cost: it reads every record, and every entry, once, and every record once more if the
// type has counts or sums. Each transaction reads at
// most [Options].BuildBatch of them, and about two megabytes of records. A recount costs
// what its build costs.
func (x Indexes) Verify(ctx context.Context, o VerifyOptions) (r Report, err error) {
	ctx, op := x.begin(ctx, "Indexes.Verify", byID)
	defer op.finish(&err)
	if err := x.prepareMaintenance(); err != nil {
		return Report{}, err
	}
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	if o.Workers > 0 {
		return (&verification{source: &x.source, options: o}).run(ctx)
	}
	v := verifier{source: &x.source, options: o, index: byID}
	if err := v.resume(o.Token); err != nil {
		return Report{}, err
	}
	err = v.run(ctx)
	if err != nil {
		v.report.Next = v.token()
	}
	return v.report, err
}

// Verification returns the last verification with workers, in whatever processes it runs or
// ran. It is kept until the next one begins.
//
// Cost: one round of reads of at most some hundred keys, and of the faults that were found.
func (x Indexes) Verification(ctx context.Context) (Verification, error) {
	if err := x.mayBuild(); err != nil {
		return Verification{}, err
	}
	now, _, err := (&verification{source: &x.source}).read(ctx)
	return now, err
}

// History returns what the header of the store's directory said of schema and
// indexes, the first version first, the present one last; nothing if no record was ever
// written there. A version is kept when a program of a newer schema writes for the first
// time, and when an index is added, built in another layout or removed; not for changes of
// an index's state.
//
// Cost: two rounds of reads.
func (x Indexes) History(ctx context.Context) (all []SchemaVersion, err error) {
	ctx, o := x.begin(ctx, "Indexes.History", byID)
	defer o.finish(&err)
	err = x.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, x.place)
		if all = nil; err != nil || o == nil {
			return err
		}
		r := kv.PrefixRange(o.historyKey(x.place))
		for pair, err := range t.Reader.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).All(ctx) {
			if err != nil {
				return err
			}
			former, err := format.DecodeFormer(pair.Value)
			if err != nil {
				return recordError(x.record.Type, "", pair.Key, err)
			}
			all = append(all, newSchemaVersion(former))
		}
		all = append(all, newSchemaVersion(format.Former{Catalog: o.catalog}))
		return nil
	})
	return all, err
}

// Report is what Verify found, and what it repaired.
type Report struct {
	Records  int      // that were read
	Entries  int      // of readable indexes that were read
	Skipped  []string // the names in keys of the indexes that are not readable; in a locked tenant, and with NoRecount, counts and sums of many records
	Faults   []Fault  // at most a thousand; with those that were repaired
	More     bool     // there are more faults
	Repaired int      // the number of faults that were repaired
	// Next is a token if the call ended with an error: with it another call of
	// [Indexes.Verify] goes on where this one stopped.
	Next string
}

// Fault is a record without its entry, an entry without its record, or bytes that
// cannot be decoded.
type Fault struct {
	Index  string // its name in keys; empty if the record itself is at fault
	Key    []byte // the entry's, or the record's
	ID     string // the record's id as a tuple, if it is known
	Reason string
}

// String describes the fault.
func (f Fault) String() string {
	return fmt.Sprintf("%s record %s key %x: %s", f.Index, f.ID, f.Key, f.Reason)
}

// isSame reports whether both are of one key of one index.
func (f Fault) isSame(other Fault) bool {
	return f.Index == other.Index && bytes.Equal(f.Key, other.Key)
}

const maxFaults = 1000

func (r *Report) addFault(f Fault) {
	if len(r.Faults) == maxFaults {
		r.More = true
		return
	}
	r.Faults = append(r.Faults, f)
}

// VerifyOptions say how [Indexes.Verify] works. The zero value verifies everything
// and changes nothing.
type VerifyOptions struct {
	// Token is the Next of the report of a call that ended early: the new call begins
	// where that one stopped. The token is bound to the store, and not to the process.
	Token string
	// Repair mends what is at fault: it writes entries that are missing or wrong, removes
	// those that do not belong to their record, and corrects counts and sums. Records are
	// never changed.
	Repair bool
	// Workers is how many goroutines of this process verify, each in transactions of its own
	// over records and entries of its own. The default value, 0, verifies in the calling goroutine,
	// and goes on by Token. With Workers the ranges of keys, their progress and what was found are in the
	// database: calls of other processes with Workers, and the same Repair, take part at
	// the same time, and each returns the report of all. A call that ends early, or whose process is
	// killed, leaves its part to the others, or to the next call, which goes on with it however old it
	// is. A call with another Repair begins anew, and ends those that run with an error. If a process is killed
	// after it has repaired a fault and before it has noted that, the report lacks the fault.
	// Indexes.Verification tells how far all have come. Share, BytesPerSecond, RangeBytes and Lease of
	// Build say how the workers work; the default value of Share is 1.
	Workers int
	// Progress, if it is not nil, is called after each batch with the report so far. With
	// Workers the report is that of all processes, without faults.
	Progress func(Report)
	// RecountBytes is the size of the records, by the engine's estimate, up to which
	// counts and sums are compared with the records at one version. Those of more
	// records, or of so many that it takes longer than a version can be read, are counted
	// anew while others write, see [Indexes.Verify]. The default value is 16 megabytes;
	// below 0 all are counted anew.
	RecountBytes int64
	// NoRecount leaves out that count, which writes a count of its own into
	// the store and removes it: counts and sums that cannot be compared at one version are
	// among the report's Skipped. With NoRecount and without Repair nothing is written.
	NoRecount bool
	// Build says how that count is made. Its Progress is called as well.
	Build BuildOptions
}

// Validate reports all faults of the options, joined.
func (o VerifyOptions) Validate() error {
	faults := []error{o.Build.Validate()}
	if o.Workers < 0 || o.Workers > maxWorkers {
		faults = append(faults, fmt.Errorf("persistable: VerifyOptions.Workers is %d, must be from 0 to %d", o.Workers, maxWorkers))
	}
	if o.Workers > 0 && o.Token != "" {
		faults = append(faults, errors.New("persistable: VerifyOptions has Workers and a Token: with Workers the database says where to go on"))
	}
	return errors.Join(faults...)
}

const defaultRecountBytes = 16 << 20

// mendUnique makes the entries of a readable unique index agree with the records, while it
// stays readable and programs write. It reports false for other indexes, and if records
// share a value or cannot be decoded.
func (x Indexes) mendUnique(ctx context.Context, d *index.Definition) (bool, error) {
	if !d.Unique {
		return false, nil
	}
	for range maxMendings {
		v := verifier{source: &x.source, options: VerifyOptions{Repair: true}, index: byID, only: d}
		err := v.run(ctx)
		switch r := v.report; {
		case err != nil || len(r.Skipped) > 0:
			return false, err
		case len(r.Faults) == 0:
			return true, nil
		case r.Repaired == 0:
			return false, nil
		}
	}
	return false, nil
}

// maxMendings is how often an index is read to mend it: once to find what is at fault, and
// again to see that nothing is.
const maxMendings = 4

// drop removes the index with that name in keys, whether the program has it or not:
// its definition and its entries.
func (x Indexes) drop(ctx context.Context, keyName string) (err error) {
	ctx, o := x.begin(ctx, "Indexes.Drop", byID)
	defer o.finish(&err)
	if err := x.prepareMaintenance(); err != nil {
		return err
	}
	return x.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, x.place)
		if err != nil {
			return err
		}
		if o == nil {
			return x.place.noHeader()
		}
		next := o.catalog.Clone()
		removed := next.Remove(keyName)
		if len(removed) == 0 && t.unsure {
			return nil // an earlier attempt removed it, and has committed, or another call did
		}
		if len(removed) == 0 {
			return x.place.noIndexNamed(keyName)
		}
		for _, name := range removed {
			index.ClearUnknown(t.writer, o.prefix, name)
		}
		return t.changeCatalog(ctx, x.place, o, next)
	})
}
