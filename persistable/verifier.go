// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// verifier compares records and entries, in steps: all records with their entries,
// then the entries of each index with their records, then counts and sums. Each step goes over keys in their
// order, in batches, so its position says where another verifier may go on.
type verifier struct {
	*source
	options VerifyOptions
	report  Report
	index   int // the index with the entries that are being read; byID: the records
	cursor  cursor
	only    *index.Definition // the index that is verified; nil: all
}

// verifyPart is what a batch has found.
type verifyPart struct {
	Report
	repairs []repair
	bytes   int // that were read of records, or of entries
}

// addRepair notes a fault of an entry that may be repaired.
func (p *verifyPart) addRepair(f Fault, r repair) {
	p.addFault(f)
	p.repairs = append(p.repairs, r)
}

// run takes all steps from the verifier's position on.
func (v *verifier) run(ctx context.Context) error {
	if v.index == byID {
		if err := v.verifyBatches(ctx, v.verifyRecords); err != nil {
			return err
		}
		v.startStep(0)
	}
	for ; v.index < len(v.record.Indexes); v.startStep(v.index + 1) {
		d := &v.record.Indexes[v.index]
		if d.Kind == index.Version && v.includes(d) {
			if err := v.verifyBatches(ctx, v.verifyVersions); err != nil {
				return err
			}
		}
		if !d.Kind.HasEntries() || !v.includes(d) {
			continue
		}
		if err := v.verifyBatches(ctx, v.verifyEntries); err != nil {
			return err
		}
		if err := v.verifyDerived(ctx, v.index); err != nil {
			return err
		}
	}
	if v.only != nil {
		return nil
	}
	return v.verifyCounts(ctx)
}

// includes reports whether an index is verified.
func (v *verifier) includes(d *index.Definition) bool { return v.only == nil || v.only == d }

// startStep begins at an index.
func (v *verifier) startStep(i int) { v.index, v.cursor = i, cursor{} }

// verifyPass checks the next records or entries of a query, and moves the cursor past them.
type verifyPass func(context.Context, *transaction, *openStore, *query, *cursor) (verifyPart, error)

// verifyBatches takes a step from the cursor on: each batch in one transaction that
// reads, and, if faults are to be repaired, one that repairs what the batch has found.
func (v *verifier) verifyBatches(ctx context.Context, pass verifyPass) error {
	q := query{source: *v.source, plan: plan{Index: v.index, AsIs: true}}
	for done := false; !done; {
		var part verifyPart
		var next cursor
		err := v.db.readOnly(ctx, func(t *transaction) error {
			part, next, done = verifyPart{}, v.cursor, true
			next.limit, next.done = v.place.db.options.BuildBatch, false
			o, err := t.openStore(ctx, v.place)
			if err != nil || o == nil {
				return err
			}
			part, err = v.verifyBatch(ctx, t, o, &q, &next, pass)
			done = !next.done
			return err
		})
		if err != nil {
			return err
		}
		if err := v.repairPart(ctx, &part); err != nil {
			return err
		}
		v.cursor = next
		v.addPart(part.Report)
	}
	return nil
}

// verifyBatch is one batch of a pass, which skips an index that is not readable.
func (v *verifier) verifyBatch(ctx context.Context, t *transaction, o *openStore, q *query, c *cursor, pass verifyPass) (part verifyPart, err error) {
	if i := v.index; i != byID && o.indexes[i].State != index.Readable {
		part.Skipped = []string{o.indexes[i].KeyName()}
		return part, nil
	}
	return pass(ctx, t, o, q, c)
}

func (v *verifier) addPart(part Report) {
	v.report.Records += part.Records
	v.report.Entries += part.Entries
	v.report.Skipped = append(v.report.Skipped, part.Skipped...)
	v.report.More = v.report.More || part.More
	v.report.Repaired += part.Repaired
	for _, f := range part.Faults {
		v.report.addFault(f)
	}
	if v.options.Progress != nil {
		v.options.Progress(v.report)
	}
}

// verifyRecords checks that each record has all its entries.
func (v *verifier) verifyRecords(ctx context.Context, t *transaction, o *openStore, q *query, c *cursor) (verifyPart, error) {
	var part verifyPart
	var checks []entryCheck
	versions, number := versionStates{index: o.versions, reader: t.Reader}, o.verifiedVersions()
	if number >= 0 && !v.includes(o.indexes[number].Definition) {
		number = -1
	}
	blobs := blobChecks{reader: t.Reader}
	if v.only == nil {
		blobs.place = o.blobs
	}
	read := 0
	for g, err := range q.recordGroups(ctx, t, o, q.plan, c, nil) {
		if err != nil {
			return part, err
		}
		part.Records++
		if number >= 0 {
			versions.add(g.ID, nil)
		}
		decoded, err := q.decodeGroup(g)
		if err != nil {
			part.addFault(Fault{Key: slices.Clone(g.Key), ID: idText(g.ID), Reason: err.Error()})
			continue
		}
		var set index.Set
		if err := v.record.gatherEntries(&set, o, g.ID, decoded); err != nil {
			part.addFault(Fault{Key: slices.Clone(g.Key), ID: idText(g.ID), Reason: err.Error()})
			continue
		}
		if err := blobs.add(q, g); err != nil {
			part.addFault(Fault{Key: slices.Clone(g.Key), ID: idText(g.ID), Reason: err.Error()})
		}
		checks = v.appendChecks(checks, t.Reader, o.indexes, &set, g)
		part.bytes += g.Size()
		if read += g.Size() + 1; read+blobs.bytes > maxVerifyBytes {
			c.done = true // this batch
			break
		}
	}
	for _, check := range checks {
		value, err := check.value.Get(ctx)
		if err != nil {
			return part, err
		}
		if reason := check.faultReason(value); reason != "" {
			part.addRepair(Fault{Index: o.indexes[check.index].KeyName(), Key: check.key, ID: idText(check.record.ID), Reason: reason},
				repair{check.index, check.key, check.record.ID})
		}
	}
	if err := blobs.addFaults(ctx, &part); err != nil || number < 0 {
		return part, err
	}
	err := v.addVersionFaults(ctx, &part, o, number, &versions)
	return part, err
}

// maxVerifyBytes bounds the records that a batch holds in memory.
const maxVerifyBytes = 2_000_000

// entryCheck is the read of an entry that a record must have.
type entryCheck struct {
	index     int
	key, want []byte
	record    index.Record
	value     kv.Future[[]byte]
}

func (v *verifier) appendChecks(checks []entryCheck, reader kv.ReadTransaction, indexes []index.Index, set *index.Set, g scan.Group) []entryCheck {
	for i := range indexes {
		ix := &indexes[i]
		if ix.State != index.Readable || !ix.Kind.HasEntries() || !v.includes(ix.Definition) {
			continue // the entry of a group is not that of one record
		}
		for n := range set.Keys(i) {
			key := slices.Clone(set.Key(i, n))
			r := set.Record(i, ix, g.IndexRecord())
			checks = append(checks, entryCheck{i, key, ix.AppendValue(nil, r), r, reader.Get(key)})
		}
	}
	return checks
}

func (c *entryCheck) faultReason(value []byte) string {
	switch {
	case value == nil:
		return "the record has no entry"
	case !bytes.Equal(value, c.want):
		return "the entry does not belong to the record, or holds an old copy of it"
	}
	return ""
}

// verifyEntries checks that each entry has a record that has it.
func (v *verifier) verifyEntries(ctx context.Context, t *transaction, o *openStore, q *query, c *cursor) (verifyPart, error) {
	var part verifyPart
	ix := &o.indexes[v.index]
	r := q.keyRange(q.plan, scan.EntriesOf(ix), c)
	pairs, err := t.Reader.GetRange(r.Bounds.Range(r.Prefix).Selectors(), r.Options).Slice(ctx)
	if err != nil {
		return part, err
	}
	f := fetches{record: v.record, reader: t.Reader, records: o.records}
	at := make([]int, len(pairs))
	for i, pair := range pairs {
		c.movePast(r.Position(pair.Key))
		part.Entries++
		part.bytes += len(pair.Key) + len(pair.Value)
		e, err := splitEntry(ix, pair)
		if err != nil {
			key := slices.Clone(pair.Key)
			part.addRepair(Fault{Index: ix.KeyName(), Key: key, Reason: err.Error()}, repair{v.index, key, nil})
			at[i] = -1
			continue
		}
		at[i] = len(f.keys)
		f.add(e.id)
	}
	f.start()
	for i, pair := range pairs {
		if at[i] < 0 {
			continue
		}
		if err := v.verifyEntry(ctx, o, &part, &f, at[i], pair.Key); err != nil {
			return part, err
		}
	}
	return part, nil
}

// verifyEntry checks that the fetched record has the entry's key.
func (v *verifier) verifyEntry(ctx context.Context, o *openStore, part *verifyPart, f *fetches, i int, key []byte) error {
	id := f.id(i)
	fault := func(reason string) {
		own := slices.Clone(key)
		part.addRepair(Fault{Index: o.indexes[v.index].KeyName(), Key: own, ID: idText(id), Reason: reason}, repair{v.index, own, slices.Clone(id)})
	}
	decoded, err := f.awaitRecord(ctx, i)
	switch {
	case kv.CodeOf(err) != 0 || ctx.Err() != nil:
		return err
	case err != nil:
		return nil // verifyRecords reports it
	case decoded == nil:
		fault("the entry's record is not there")
		return nil
	}
	var set index.Set
	if err := v.record.gatherEntries(&set, o, id, decoded); err != nil {
		fault(err.Error())
	} else if !set.Has(v.index, key) {
		fault("the entry's record has other values")
	}
	return nil
}

const (
	verifyOperation = "verify"
	countsStep      = "#counts" // in place of an index's name: after all indexes
)

// token returns where the verifier is: (the name of the index, empty for the records,
// the key after which it goes on).
func (v *verifier) token() string {
	name := ""
	switch {
	case v.index == len(v.record.Indexes):
		name = countsStep
	case v.index != byID:
		name = v.record.Indexes[v.index].KeyName()
	}
	return maintenanceTokens{v.source, verifyOperation}.seal(tuple.AppendBytes(tuple.AppendString(nil, name), v.cursor.position))
}

// resume goes to where another verifier was.
func (v *verifier) resume(token string) error {
	at, err := maintenanceTokens{v.source, verifyOperation}.open(token)
	if err != nil || at == nil {
		return err
	}
	name, rest, err := tuple.ReadString(at)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	switch name {
	case "":
	case countsStep:
		v.index = len(v.record.Indexes)
	default:
		if v.index, err = v.findIndex(name); err != nil {
			return err
		}
	}
	if v.cursor.position, _, err = tuple.ReadBytes(rest); len(v.cursor.position) == 0 {
		v.cursor.position = nil
	}
	return err
}

// findIndex returns the number of the index with that name in keys, which a token says.
func (v *verifier) findIndex(name string) (int, error) {
	i := slices.IndexFunc(v.record.Indexes, func(d index.Definition) bool { return d.KeyName() == name })
	if i < 0 {
		return 0, fmt.Errorf("%w: it stopped at the index %s, which %s does not have any more: verify from the beginning", ErrBadToken, name, v.record.Type)
	}
	return i, nil
}

// verifyDerived compares the keys of index i that follow from its entries with these.
func (v *verifier) verifyDerived(ctx context.Context, i int) error {
	if !v.record.Indexes[i].Kind.HasDerived() {
		return nil
	}
	var at []byte
	for done := false; !done; {
		var part verifyPart
		next := at
		err := v.db.readOnly(ctx, func(t *transaction) error {
			o, err := t.openStore(ctx, v.place)
			if done = true; err != nil || o == nil {
				return err
			}
			part, next, err = v.verifyDerivedBatch(ctx, t, o, i, at)
			done = err == nil && next == nil
			return err
		})
		if err != nil {
			return err
		}
		for _, f := range part.Faults {
			v.report.addFault(f)
		}
		at = next
	}
	return nil
}

// verifyDerivedBatch does that from a position on, and returns the next one; nil at the end,
// and after the first fault.
func (v *verifier) verifyDerivedBatch(ctx context.Context, t *transaction, o *openStore, i int, at []byte) (part verifyPart, next []byte, err error) {
	if o.indexes[i].State != index.Readable {
		return part, nil, nil
	}
	next, err = o.indexes[i].VerifyDerived(ctx, t.Reader, at, v.place.db.options.BuildBatch)
	var fault *index.DerivedError
	if errors.As(err, &fault) {
		part.addFault(Fault{Index: v.record.Indexes[i].KeyName(), Key: slices.Clone(fault.Key), Reason: fault.Error()})
		return part, nil, nil
	}
	return part, next, err
}
