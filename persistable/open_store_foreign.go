// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// foreignIndexes are the indexes in a store's header that this program's code does
// not have, by name and layout: a newer program has added them, or this one's has
// dropped them, or the two have different layouts under one name. This program
// maintains them from the stored bytes of records. Among them are recounts, also those
// of the program's own indexes.
type foreignIndexes struct {
	sources   []foreignSource // of the indexes behind the program's own in openStore.maintained
	hasUnique bool
	refused   []format.ForeignIndex
	err       error // a *[ForeignIndexError] for each of refused
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

// recountedBy returns which of the program's own indexes a foreign index recounts, -1 for
// none.
func (p *place) recountedBy(ix format.ForeignIndex) int {
	of, recounts := index.CutRecount(ix.KeyName)
	return slices.IndexFunc(p.definitions, func(d *index.Definition) bool {
		return recounts && d.KeyName() == of && d.Layout() == ix.Layout
	})
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
	f.err = errors.Join(f.err, &ForeignIndexError{Type: typ, Index: ix.KeyName, Layout: ix.Layout, Reason: reason, Err: err})
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

// gatherForeign adds to a set, behind the entries in the program's own indexes, those
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
