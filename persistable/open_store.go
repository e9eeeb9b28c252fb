// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// openStore is the store at a place: its directory is open and its header was
// read. It is immutable.
type openStore struct {
	directory *directory.Directory
	prefix    []byte        // of the directory
	records   scan.Keyspace // of the records: ("R", type)
	header    []byte        // the key of the header: ("S", type)
	catalog   *format.Catalog
	indexes   []index.Index // in the order of the schema
	versions  *versionIndex // nil: the records have no versions, or not yet
	undone    []index.Index // those that writes maintain of a record to which a build has not come; nil: maintained
	metadata  string        // the metadata version at which it was read
	upToDate  bool          // a write need not change the header first

	// All that writes maintain: indexes, and after them the foreign ones.
	maintained []index.Index
	foreign    foreignIndexes
	tenants    []tenant // the directories on the path that have a lock or a quota
	blobs      blobPlace
}

func newOpenStore(p *place, d *directory.Directory, prefix []byte, c *format.Catalog) *openStore {
	s := &openStore{directory: d, prefix: prefix, catalog: c}
	s.records = scan.Keyspace{Prefix: tuple.AppendString(tuple.AppendString(slices.Clone(prefix), "R"), p.typ), Shards: c.Scatter()}
	s.header = s.systemKey(p)
	s.blobs = blobPlace{format.NewBlobKeys(prefix, p.typ), format.BlobFields(c.Schema())}
	for _, d := range p.definitions {
		s.indexes = append(s.indexes, s.newIndex(p, d, c.State(d)))
	}
	s.maintained = s.indexes
	s.addForeign(p)
	s.versions = newVersionIndex(s, p)
	s.undone = withoutCounted(s.maintained)
	s.upToDate = !c.Clone().AddSchema(p.lock)
	return s
}

// keysOf returns where the keys of a plan of one range are.
func (s *openStore) keysOf(p *plan) scan.Keyspace {
	if p.Index == byID {
		return s.records
	}
	return scan.EntriesOf(&s.indexes[p.Index])
}

// verifiedVersions returns the number of the index of versions, if the store has one that is
// readable; -1 otherwise.
func (s *openStore) verifiedVersions() int {
	return slices.IndexFunc(s.indexes, func(ix index.Index) bool { return ix.Kind == index.Version && ix.State == index.Readable })
}

// readableVersions returns the index of versions, which must be readable.
func (o *openStore) readableVersions(r *record) (*versionIndex, error) {
	if o.versions == nil || o.versions.State != index.Readable {
		return nil, r.noVersions()
	}
	return o.versions, nil
}

// systemKey returns a key of what the store keeps besides records and entries:
// ("S", type, names…).
func (s *openStore) systemKey(p *place, names ...string) []byte {
	return systemKey(s.prefix, p, names...)
}

func systemKey(prefix []byte, p *place, names ...string) []byte {
	key := tuple.AppendString(tuple.AppendString(slices.Clone(prefix), "S"), p.typ)
	for _, name := range names {
		key = tuple.AppendString(key, name)
	}
	return key
}

// firstIn returns the first index in a state.
func (s *openStore) firstIn(state index.State) (i int, found bool) {
	i = slices.IndexFunc(s.indexes, func(ix index.Index) bool { return ix.State == state })
	return i, i >= 0
}

// anyViolation returns an [ErrNotBuilt] if an index that is not among the
// broken ones has got a violation since its violations were settled.
func (o *openStore) anyViolation(ctx context.Context, t *transaction, typ string, broken map[int]bool) error {
	for i := range o.indexes {
		if ix := &o.indexes[i]; ix.Unique && ix.State == index.Building && !broken[i] {
			found, _, err := ix.Violations(ctx, t.Reader, nil, 1)
			if err != nil {
				return err
			}
			if len(found) > 0 {
				return notBuilt(typ, ix)
			}
		}
	}
	return nil
}

// checkWritable returns an [ErrLocked] if the store may not be written to, and what its
// schema has against writes; an [ErrNewer] if it needs a newer version of this library.
func (s *openStore) checkWritable(p *place) error {
	if u := p.record.Dynamic; u != nil && u.Refusal != nil {
		return u.Refusal
	}
	if err := s.catalog.CheckWritable(); err != nil {
		return recordError(p.typ, "", s.header, err)
	}
	return checkLocks(p, s.tenants)
}

// historyKey is what the keys of former headers begin with: ("S", type, "history").
func (s *openStore) historyKey(p *place) []byte { return slices.Clip(s.systemKey(p, "history")) }

// buildPlace returns where a build finds the store's keys.
func (s *openStore) buildPlace(p *place) build.Place {
	at := build.Place{List: s.buildList(p), Records: s.records.Prefix, Indexes: s.maintained}
	for _, ix := range s.foreign.refused {
		at.Foreign = append(at.Foreign, build.Member{KeyName: ix.KeyName, Layout: ix.Layout})
	}
	return at
}

// buildList returns the work list of the store's builds.
func (s *openStore) buildList(p *place) build.List {
	return build.List{Prefix: s.systemKey(p, "build")}
}

// prunedKey is the key of the version up to which deletions were forgotten.
func (s *openStore) prunedKey(p *place) []byte { return s.systemKey(p, "pruned") }

// feedKey is the key of the position of a consumer.
func (s *openStore) feedKey(p *place, group string) []byte { return s.systemKey(p, "feed", group) }

// feedRange returns the keys of the positions of all consumers.
func (s *openStore) feedRange(p *place) kv.KeyRange {
	return kv.PrefixRange(slices.Clip(s.systemKey(p, "feed")))
}

// foreignIndexes are the indexes in a store's header that this program's code does
// not have, by name and layout: a newer program has added them, or this one's has
// dropped them, or the two have different layouts under one name. This program
// maintains them from the stored bytes of records. Among them are recounts, also those
// of the program's own indexes.
type foreignIndexes struct {
	sources   []foreignSource // of the indexes after the program's own in openStore.maintained
	hasUnique bool
	refused   []format.ForeignIndex
	err       error // an [ErrForeignIndex] for each of refused
}

// addForeign compiles the indexes of the header that are not the program's own. A
// disabled one is not maintained: it is built again before it is read.
func (s *openStore) addForeign(p *place) {
	for _, ix := range s.catalog.Foreign(p.definitions) {
		_, recounts := index.CutRecount(ix.KeyName)
		if ix.State == index.Disabled && !recounts { // any program may build a recount
			continue
		}
		if own := p.recountedBy(ix); own >= 0 {
			s.addSource(p, foreignSource{own: own}, p.definitions[own].Recount(), ix.State)
			continue
		}
		program, err := reindex.Compile(ix.KeyName, ix.Layout, s.catalog.Schema())
		if err != nil {
			s.foreign.refuse(p.typ, ix, err)
			continue
		}
		s.addSource(p, foreignSource{program: program}, program.Definition(), ix.State)
	}
}

// addSource adds a foreign index to those that the store maintains.
func (s *openStore) addSource(p *place, f foreignSource, d *index.Definition, state index.State) {
	s.maintained = append(slices.Clip(s.maintained), s.newIndex(p, d, state))
	s.foreign.sources = append(s.foreign.sources, f)
	s.foreign.hasUnique = s.foreign.hasUnique || d.Unique
}

// refuse notes that an index cannot be maintained.
func (f *foreignIndexes) refuse(typ string, ix format.ForeignIndex, err error) {
	reason := err.Error()
	var refused *reindex.Error
	if errors.As(err, &refused) {
		reason = refused.Reason
	}
	f.refused = append(f.refused, ix)
	refusal := sentinel.Mark(ErrForeignIndex, fmt.Errorf("persistable: %s: nothing was written: the store has the index %s (%s), which this program cannot maintain: %s: "+
		"update this program to a version that has the index; or, if no program queries it any more, run Indexes().RemoveUnused",
		typ, ix.KeyName, ix.Layout, reason))
	if errors.Is(err, ErrNewer) {
		refusal = sentinel.Mark(ErrNewer, refusal)
	}
	f.err = errors.Join(f.err, refusal)
}

// newIndex returns an index with its place in the store.
func (s *openStore) newIndex(p *place, d *index.Definition, state index.State) index.Index {
	return index.Index{
		Definition:      d,
		Prefix:          d.AppendPrefix(slices.Clone(s.prefix)),
		ViolationPrefix: s.systemKey(p, "violation", d.KeyName()),
		State:           state,
	}
}

// hasForeign reports whether writes maintain indexes that are not the program's own.
func (s *openStore) hasForeign() bool { return len(s.foreign.sources) > 0 }

// gatherForeign adds to a set, after the entries in the program's own indexes, those
// in the foreign ones of the record v with that payload.
func (s *openStore) gatherForeign(r *record, set *index.Set, id []byte, v any, payload []byte) error {
	for i, source := range s.foreign.sources {
		ix := &s.maintained[len(s.indexes)+i]
		if e := set.Open(ix, id); e != nil {
			if err := source.appendEntries(r, e, v, payload); err != nil {
				return err
			}
		}
		if err := set.Close(ix); err != nil {
			return err
		}
		if len(ix.CoverFields) > 0 && set.Keys(len(s.indexes)+i) > 0 {
			copied, err := source.program.AppendCover(set.BeginCover(), payload)
			if err != nil {
				return err
			}
			if err := set.EndCover(ix, copied); err != nil {
				return err
			}
		}
	}
	return nil
}

// foreignSource is what makes a record's entries in a foreign index.
type foreignSource struct {
	program *reindex.Program // nil: the entries are those in the program's index own, which is recounted
	own     int
}

// appendEntries adds the entries of the record v with that payload.
func (f foreignSource) appendEntries(r *record, e *index.Entries, v any, payload []byte) error {
	if f.program != nil {
		return f.program.Entries(payload, e)
	}
	return r.AppendEntries(f.own, e, v)
}

// withoutCounted returns the indexes with those disabled that are being built and count
// each record once; nil if there are none.
func withoutCounted(indexes []index.Index) (undone []index.Index) {
	for i := range indexes {
		if ix := &indexes[i]; ix.State == index.Building && !ix.Kind.Idempotent() {
			if undone == nil {
				undone = append(undone, indexes...)
			}
			undone[i].State = index.Disabled
		}
	}
	return undone
}

// recountOf returns the recount of an index, nil if there is none that is complete.
func (s *openStore) recountOf(ix *index.Index) *index.Index {
	name := ix.Recount().KeyName()
	for i := len(s.indexes); i < len(s.maintained); i++ {
		if r := &s.maintained[i]; r.KeyName() == name && r.State == index.Readable {
			return r
		}
	}
	return nil
}

// excludeRepairs makes the transaction conflict with all others that repair counts and
// sums of the store, by a key without a value: of two that found the same fault one
// commits, and the other one looks again. An attempt with a commit of unknown outcome
// is such another one.
func (s *openStore) excludeRepairs(t *transaction, p *place) error {
	key := s.systemKey(p, "repair")
	return cmp.Or(t.writer.AddReadConflictKey(key), t.writer.AddWriteConflictKey(key))
}
