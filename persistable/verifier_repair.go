// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// repair is an entry at fault that is to be mended.
type repair struct {
	index int
	key   []byte // nil: the version of the record
	id    []byte // packed, of the record that has the entry or should have it; nil if it cannot be read
}

// maxRepairs is how many entries a transaction mends at most.
const maxRepairs = 50

// repairPart mends the faults of a batch.
func (v *verifier) repairPart(ctx context.Context, part *verifyPart) error {
	if !v.options.Repair {
		return nil
	}
	for left := part.repairs; len(left) > 0; {
		batch := left[:min(len(left), maxRepairs)]
		left = left[len(batch):]
		mended := 0
		err := v.db.transact(ctx, func(t *transaction) error {
			mended = 0
			o, err := t.openStoreToWrite(ctx, v.place)
			if err != nil || o == nil {
				return err
			}
			for _, r := range batch {
				done, err := v.mend(ctx, t, o, r)
				switch {
				case kv.CodeOf(err) != 0 || ctx.Err() != nil:
					return err
				case err == nil && done: // else a record cannot be decoded
					mended++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		part.Repaired += mended
	}
	return nil
}

// mend makes one entry agree with its record, whatever both are by now. It reports
// whether they agree then. The transaction conflicts with every change of them.
func (v *verifier) mend(ctx context.Context, t *transaction, o *openStore, r repair) (done bool, err error) {
	ix := &o.indexes[r.index]
	if ix.State != index.Readable {
		return false, nil
	}
	if ix.Kind == index.Version {
		err := v.mendVersion(ctx, t, o, r)
		return err == nil, err
	}
	value, err := t.writer.Get(r.key).Get(ctx)
	if err != nil {
		return false, err
	}
	want, has, err := v.wantedEntry(ctx, t, o, r)
	switch {
	case err != nil || has && value != nil && bytes.Equal(value, want): // nil: no entry
		return err == nil, err
	case !has:
		return v.removeEntry(ctx, t, o, r, value)
	}
	if foreign, err := v.isOwnedByOther(ctx, t, o, r, value); foreign || err != nil {
		return false, err
	}
	return true, ix.SetEntry(ctx, t.writer, r.key, want)
}

// wantedEntry returns the value that an entry of the record must have, and whether the
// record has the entry.
func (v *verifier) wantedEntry(ctx context.Context, t *transaction, o *openStore, r repair) (want []byte, has bool, err error) {
	if r.id == nil {
		return nil, false, nil
	}
	ix := &o.indexes[r.index]
	set, record, err := v.readEntries(ctx, t, o, r.id)
	if err != nil || set == nil || !set.Has(r.index, r.key) {
		return nil, false, err
	}
	return ix.AppendValue(nil, set.Record(r.index, ix, record)), true, nil
}

// readEntries reads a record and returns its entries; nil if there is no such record.
func (v *verifier) readEntries(ctx context.Context, t *transaction, o *openStore, id []byte) (*index.Set, index.Record, error) {
	key := o.records.Append(nil, id)
	value, err := t.writer.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, index.Record{}, err
	}
	whole, err := v.record.readWhole(ctx, t.writer, id, key, value)
	if err != nil {
		return nil, index.Record{}, err
	}
	decoded, err := v.record.decodeRecord(whole, id, key)
	if err != nil {
		return nil, index.Record{}, err
	}
	r := index.Record{ID: id, Value: value}
	if whole.Chunks > 0 {
		r.Value = nil
	}
	set := new(index.Set)
	return set, r, v.record.gatherEntries(set, o, id, decoded)
}

// removeEntry removes an entry that the record does not have, unless it is by now the
// entry of another record.
func (v *verifier) removeEntry(ctx context.Context, t *transaction, o *openStore, r repair, value []byte) (done bool, err error) {
	if value == nil {
		return true, nil
	}
	foreign, err := v.isOwnedByOther(ctx, t, o, r, value)
	if err != nil {
		return false, err
	}
	if foreign {
		return true, nil
	}
	return true, o.indexes[r.index].ClearEntry(ctx, t.writer, r.key)
}

// isOwnedByOther reports whether the value of a unique entry names another record that
// has the entry.
func (v *verifier) isOwnedByOther(ctx context.Context, t *transaction, o *openStore, r repair, value []byte) (bool, error) {
	ix := &o.indexes[r.index]
	if !ix.Unique || value == nil {
		return false, nil
	}
	owner, _, err := index.SplitUnique(ix.Definition, r.key, value)
	if err != nil || bytes.Equal(owner, r.id) {
		return false, nil // a damaged value names no owner
	}
	set, _, err := v.readEntries(ctx, t, o, owner)
	return set != nil && set.Has(r.index, r.key), err
}

// versionState is what is stored of the last change of a record.
type versionState struct {
	id      []byte
	present bool   // the record is there
	version []byte // nil: none
	entry   []byte // the key of the version's entry; nil: the version is none
	value   []byte // of the entry; nil: there is none
}

// faultReason returns what is wrong; "" if nothing is. A record that is gone may have lost its
// version: after [Feed.Prune].
func (s *versionState) faultReason(ix *index.Index) string {
	switch {
	case s.version == nil && !s.present:
		return ""
	case s.version == nil:
		return "the record has no version"
	case s.entry == nil:
		return fmt.Sprintf("its version has %d bytes instead of %d", len(s.version), index.VersionSize)
	case s.value == nil:
		return "the record's version has no entry"
	}
	e, err := ix.ReadVersionEntry(kv.KeyValue{Key: s.entry, Value: s.value})
	switch {
	case err != nil:
		return err.Error()
	case e.Deleted && s.present:
		return "the entry says that the record was deleted"
	case !e.Deleted && !s.present:
		return "the entry's record is not there"
	}
	return ""
}

// versionStates reads the states of records: all versions at once, then all entries.
type versionStates struct {
	index    *versionIndex
	reader   kv.ReadTransaction
	states   []versionState
	versions []kv.Future[[]byte]
	records  []kv.Future[[]byte] // unused for a record that is known to be there
}

// add starts the reads for a record. records is nil if the record is known to be there.
func (r *versionStates) add(id []byte, records *scan.Keyspace) {
	r.states = append(r.states, versionState{id: slices.Clone(id), present: records == nil})
	r.versions = append(r.versions, r.reader.Get(r.index.versionKey(id)))
	var record kv.Future[[]byte]
	if records != nil {
		record = r.reader.Get(records.Append(nil, id))
	}
	r.records = append(r.records, record)
}

// await reads what is left, and returns the states in the order in which they were added.
func (r *versionStates) await(ctx context.Context) ([]versionState, error) {
	values := make([]kv.Future[[]byte], len(r.states))
	for i := range r.states {
		s := &r.states[i]
		var err error
		if s.version, err = r.versions[i].Get(ctx); err != nil {
			return nil, err
		}
		if !s.present {
			value, err := r.records[i].Get(ctx)
			if err != nil {
				return nil, err
			}
			s.present = value != nil
		}
		if len(s.version) == index.VersionSize {
			s.entry = r.index.AppendVersionEntry(nil, s.version, s.id)
			values[i] = r.reader.Get(s.entry)
		}
	}
	for i := range r.states {
		s := &r.states[i]
		if s.entry == nil {
			continue
		}
		var err error
		if s.value, err = values[i].Get(ctx); err != nil {
			return nil, err
		}
	}
	return r.states, nil
}

// addVersionFaults adds the faults of the records' versions.
func (v *verifier) addVersionFaults(ctx context.Context, p *verifyPart, o *openStore, number int, r *versionStates) error {
	states, err := r.await(ctx)
	if err != nil {
		return err
	}
	ix := &o.indexes[number]
	for i := range states {
		if reason := states[i].faultReason(ix); reason != "" {
			key := r.index.versionKey(states[i].id)
			p.addRepair(Fault{Index: ix.KeyName(), Key: key, ID: idText(states[i].id), Reason: reason}, repair{number, nil, states[i].id})
		}
	}
	return nil
}

// verifyVersions checks that each entry of the index of versions is the last change of its
// record, or of one that is gone.
func (v *verifier) verifyVersions(ctx context.Context, t *transaction, o *openStore, q *query, c *cursor) (verifyPart, error) {
	var part verifyPart
	ix := &o.indexes[v.index]
	r := q.keyRange(q.plan, scan.Keyspace{Prefix: ix.Prefix}, c)
	pairs, err := t.Reader.GetRange(r.Bounds.Range(r.Prefix).Selectors(), r.Options).Slice(ctx)
	if err != nil {
		return part, err
	}
	reads := versionStates{index: o.versions, reader: t.Reader}
	var read []kv.KeyValue
	for _, pair := range pairs {
		c.movePast(r.Position(pair.Key))
		part.Entries++
		part.bytes += len(pair.Key) + len(pair.Value)
		e, err := ix.ReadVersionEntry(pair)
		if err != nil {
			key := slices.Clone(pair.Key)
			part.addRepair(Fault{Index: ix.KeyName(), Key: key, Reason: err.Error()}, repair{v.index, key, nil})
			continue
		}
		reads.add(e.ID, &o.records)
		read = append(read, pair)
	}
	states, err := reads.await(ctx)
	if err != nil {
		return part, err
	}
	for i, s := range states {
		key, reason := slices.Clone(read[i].Key), "the entry is not that of the record's version"
		if bytes.Equal(key, s.entry) {
			if reason = s.faultReason(ix); reason == "" || s.present {
				continue // verifyRecords reports it
			}
		}
		part.addRepair(Fault{Index: ix.KeyName(), Key: key, ID: idText(s.id), Reason: reason}, repair{v.index, key, s.id})
	}
	return part, nil
}

// mendVersion makes the version of a record and its entry agree with the record, whatever they are by
// now. If they do not, the record changes now, for readers of changes.
func (v *verifier) mendVersion(ctx context.Context, t *transaction, o *openStore, r repair) error {
	if r.id == nil {
		t.writer.Clear(r.key)
		return nil
	}
	x := o.versions
	reads := versionStates{index: x, reader: t.writer}
	reads.add(r.id, &o.records)
	states, err := reads.await(ctx)
	if err != nil {
		return err
	}
	s := &states[0]
	if r.key != nil && !bytes.Equal(r.key, s.entry) {
		t.writer.Clear(r.key)
	}
	if s.faultReason(x.Index) == "" {
		return nil
	}
	was := s.version
	if s.entry == nil {
		was = nil
	}
	if err := x.check(t, r.id, was); err != nil {
		return err
	}
	x.set(t, r.id, was, !s.present)
	return nil
}
