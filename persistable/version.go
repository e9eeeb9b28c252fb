// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// Version identifies one state of a record: it is the versionstamp of the commit
// that wrote the state (ten bytes) and the number of the record's write within that
// transaction (two bytes), both big-endian, so that later versions are greater by their
// bytes. The zero Version is that of no record.
//
// A field of this type in a persistable struct makes the records ordered by their
// last change, which is what the change feed reads:
//
//	_ persistable.Version       // the feed alone
//	Version persistable.Version // the feed, and the field is filled when a record is read
//
// The field is not stored with the record. The version of a record that a
// transaction writes is not known before it commits. Then the field of each record that it has written
// is set, such as the one that was given to Create or to a Save, or that the function of Update got:
// no second read is needed for an ETag. It is zero if the acknowledgement of the commit was lost,
// so that the version is not known, and if the transaction has written the record once more, in another
// struct. If the transaction fails, or the caller commits it himself (see [DB.In]), the field stays as
// it is. A record that is stored already has the version of what is stored.
type Version [12]byte

// IsZero reports whether v is the version of no record.
func (v Version) IsZero() bool { return v == Version{} }

// String returns the version as 24 hexadecimal digits.
func (v Version) String() string { return hex.EncodeToString(v[:]) }

// MarshalText returns what String returns.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Version) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(v) || len(text)%2 != 0 {
		return fmt.Errorf("persistable: %d digits are no version, which has %d", len(text), hex.EncodedLen(len(v)))
	}
	read := Version{}
	if _, err := hex.Decode(read[:], text); err != nil {
		return fmt.Errorf("persistable: %q is not a version: %w", text, err)
	}
	*v = read
	return nil
}

// versionIndex is the index of the versions of a store's records.
type versionIndex struct {
	*index.Index
	versions []byte // the prefix of the keys of versions: ("V", key name)
	changed  []byte // the key that each change writes, which waiting readers watch: ("S", type, "changed")
}

// newVersionIndex returns the version index of a store, nil if the type has none or it
// is not maintained yet.
func newVersionIndex(s *openStore, p *place) *versionIndex {
	i := slices.IndexFunc(s.maintained, func(ix index.Index) bool { return ix.Kind == index.Version && ix.State != index.Disabled })
	if i < 0 {
		return nil
	}
	ix := &s.maintained[i]
	return &versionIndex{Index: ix, versions: ix.Versions(), changed: s.systemKey(p, "changed")}
}

// versionKey returns the key of the version of the record with that packed id.
func (x *versionIndex) versionKey(id []byte) []byte { return slices.Concat(x.versions, id) }

// entriesAfter returns the keys of the changes after a version.
func (x *versionIndex) entriesAfter(since Version) kv.KeyRange {
	r := index.Bounds{}.Range(x.Prefix)
	if !since.IsZero() {
		r.Begin = append(x.AppendVersionEntry(nil, since[:], nil), 0xff)
	}
	return r
}

// completeVersion adds the other changes of the last one's version.
func (x *versionIndex) completeVersion(ctx context.Context, t *transaction, pairs []kv.KeyValue) ([]kv.KeyValue, error) {
	last := pairs[len(pairs)-1].Key
	same := kv.PrefixRange(last[:len(x.Prefix)+1+len(Version{})])
	same.Begin = kv.Successor(last)
	more, err := t.Reader.GetRange(same.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
	return append(slices.Clip(pairs), more...), err
}

// check returns why the version of the record with that packed id cannot be set. was is
// the version that it had before the transaction; nil: none.
func (x *versionIndex) check(t *transaction, id, was []byte) error {
	if len(x.AppendVersionEntry(nil, zeroVersion[:], id)) > kv.MaxKeySize {
		return fmt.Errorf("persistable: the id %s is too long for the index %s: use a shorter id", idText(id), x.Name)
	}
	if was != nil && len(was) != len(zeroVersion) {
		return &RecordError{
			ID: idText(id), Key: x.versionKey(id), Reason: fmt.Sprintf("its version has %d bytes instead of %d", len(was), len(zeroVersion)),
			Remedy: "run Indexes().Rebuild of " + x.Name,
		}
	}
	return t.versions.check(x.versionKey(id))
}

// set writes the version of the record with that packed id, after check.
func (x *versionIndex) set(t *transaction, id, was []byte, deleted bool) {
	number, again := t.versions.number(x.versionKey(id))
	if again {
		was = nil
	}
	x.SetVersion(t.writer, id, was, number, deleted)
	t.writer.Atomic(kv.SetVersionstampedValue, x.changed, changedOperand)
}

var (
	zeroVersion Version
	// changedOperand puts the ten bytes of the versionstamp at the value's beginning.
	changedOperand = make([]byte, 10+4)
)

// ownVersions are the records that one attempt of a transaction has written, of types
// with versions. The commit gives them one versionstamp; their numbers tell them apart
// and order them. What is written here cannot be read before the commit.
type ownVersions struct {
	mu      sync.Mutex
	numbers map[string]uint16 // by the key of the version
}

// isOwn reports whether the transaction has written the record that has its version under that
// key.
func (o *ownVersions) isOwn(key []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, own := o.numbers[string(key)]
	return own
}

// isEmpty reports whether the transaction has written none.
func (o *ownVersions) isEmpty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.numbers) == 0
}

// check returns an error if the transaction has no number left for a record.
func (o *ownVersions) check(key []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, own := o.numbers[string(key)]; own || len(o.numbers) <= math.MaxUint16 {
		return nil
	}
	return fmt.Errorf("persistable: a transaction can write at most %d records that have versions: write them in several", math.MaxUint16+1)
}

// number returns the number of a record, the next one at its first write, and whether it
// has been written before. The record has passed check.
func (o *ownVersions) number(key []byte) (n uint16, again bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n, again = o.numbers[string(key)]; again {
		return n, true
	}
	if o.numbers == nil {
		o.numbers = map[string]uint16{}
	}
	n = uint16(len(o.numbers))
	o.numbers[string(key)] = n
	return n, false
}

// versionScan reads the versions of records in the order of their ids, along with a scan of the
// records. The zero value reads nothing.
type versionScan struct {
	reads   versionReads
	pairs   func() (kv.KeyValue, error, bool) // nil: one read for each record
	end     func()
	pair    kv.KeyValue // the one read last
	ended   bool
	reverse bool
	batch   [][]byte // the stored versions of the next records; nil for one that is not known
}

// newVersionScan starts the reads for a scan, if the records have a field for the version.
func newVersionScan(ctx context.Context, q *query, t *transaction, o *openStore, p plan, c *cursor) *versionScan {
	s := &versionScan{reads: newVersionReads(q.record, t, o), reverse: q.reverse}
	x := s.reads.index
	if x == nil || s.hasOwn() {
		return s
	}
	r := q.keyRange(p, scan.Keyspace{Prefix: x.versions}, c)
	keys := r.Bounds.Range(x.versions)
	versions := t.Reader.GetRange(keys.Selectors(), kv.RangeOptions{Reverse: q.reverse})
	s.pairs, s.end = iter.Pull2(versions.All(ctx))
	return s
}

// hasOwn reports whether the transaction has written versions, perhaps in the loop over the
// scan. A range with these cannot be read.
func (s *versionScan) hasOwn() bool {
	return !s.reads.t.isReadOnly() && !s.reads.t.versions.isEmpty()
}

// stop ends the scan.
func (s *versionScan) stop() {
	if s.end != nil {
		s.end()
		s.pairs, s.end = nil, nil
	}
}

// readBatch reads the versions of the next records, before the caller sees the first of these
// and may change the others: a record that comes as it was has the version that it had.
func (s *versionScan) readBatch(ctx context.Context, records []scan.Group) error {
	if s.reads.index == nil {
		return nil
	}
	s.batch = s.batch[:0]
	if s.pairs != nil && s.hasOwn() {
		s.stop()
	}
	if s.pairs == nil {
		return s.readEach(ctx, records)
	}
	for i := range records {
		stored, err := s.find(records[i].ID)
		if kv.CodeOf(err) == kv.CodeAccessedUnreadable && s.hasOwn() { // written since, by another goroutine
			s.stop()
			return s.readBatch(ctx, records)
		}
		if err != nil {
			return pending(err)
		}
		s.batch = append(s.batch, stored)
	}
	return nil
}

// readEach reads the versions of records one by one, in one round.
func (s *versionScan) readEach(ctx context.Context, records []scan.Group) error {
	s.reads.reads = s.reads.reads[:0]
	for i := range records {
		s.reads.add(records[i].ID)
	}
	for _, read := range s.reads.reads {
		stored, err := read.Get(ctx)
		if err != nil {
			return pending(err)
		}
		s.batch = append(s.batch, stored)
	}
	return nil
}

// fill sets the version of the next record of the batch.
func (s *versionScan) fill(record any) error {
	if s.reads.index == nil {
		return nil
	}
	stored := s.batch[0]
	s.batch = s.batch[1:]
	return s.reads.record.setVersion(record, stored)
}

// find returns the stored version of the record with that packed id, which is after those
// before; nil if there is none.
func (s *versionScan) find(id []byte) ([]byte, error) {
	for !s.ended && (s.pair.Key == nil || s.isBefore(id)) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if s.ended || !bytes.Equal(s.pair.Key[len(s.reads.index.versions):], id) {
		return nil, nil
	}
	return s.pair.Value, nil
}

// isBefore reports whether the version read last is of a record before id.
func (s *versionScan) isBefore(id []byte) bool {
	order := bytes.Compare(s.pair.Key[len(s.reads.index.versions):], id)
	if s.reverse {
		order = -order
	}
	return order < 0
}

func (s *versionScan) next() error {
	pair, err, ok := s.pairs()
	s.pair, s.ended = pair, !ok
	return err
}
