// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
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

	// All that writes maintain: indexes, and behind them the foreign ones.
	maintained []index.Index
	foreign    foreignIndexes
	tenants    []tenant // the directories on the path that have a lock or a quota
}

func newOpenStore(p *place, d *directory.Directory, prefix []byte, c *format.Catalog) *openStore {
	s := &openStore{directory: d, prefix: prefix, catalog: c}
	s.records = scan.Keyspace{Prefix: tuple.AppendString(tuple.AppendString(slices.Clone(prefix), "R"), p.typ), Shards: c.Scatter()}
	s.header = s.systemKey(p)
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

// anyViolation returns an *[IndexStateError] if an index that is not among the
// broken ones has got a violation since its violations were settled.
func (o *openStore) anyViolation(ctx context.Context, t *transaction, typ string, broken map[int]bool) error {
	for i := range o.indexes {
		if ix := &o.indexes[i]; ix.Unique && ix.State == index.Building && !broken[i] {
			found, _, err := ix.Violations(ctx, t.Reader, nil, 1)
			if err != nil {
				return err
			}
			if len(found) > 0 {
				return &IndexStateError{Type: typ, Index: ix.KeyName(), State: ix.State}
			}
		}
	}
	return nil
}

// checkWritable returns a *[LockedError] if the store may not be written to, and what its
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
