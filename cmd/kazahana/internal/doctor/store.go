// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

// store is a type's records in a directory, as its header describes them.
type store struct {
	*place
	typ      string
	value    []byte // of the header
	catalog  *format.Catalog
	decoder  *dynamic.Decoder
	indexes  []index.Index // that have a program and are readable; recounts are not among them
	programs []*reindex.Program
	refused  map[string]error // why an index has no program
	set      index.Set        // of one record at a time
	damaged  bool             // a record is, or could not be read: counts cannot be compared
}

// load reads a header.
func (s *store) load(value []byte) (err error) {
	if s.catalog, err = format.DecodeCatalog(value); err != nil {
		return err
	}
	if s.decoder, err = dynamic.NewDecoder(value, s.path, s.layers); err != nil {
		return err
	}
	s.value, s.indexes, s.programs, s.refused = bytes.Clone(value), nil, nil, map[string]error{}
	for _, ix := range s.catalog.All() {
		s.addIndex(ix)
	}
	return nil
}

func (s *store) addIndex(ix format.IndexEntry) {
	if _, recount := index.CutRecount(ix.KeyName); recount {
		return
	}
	p, err := s.decoder.Compile(ix.KeyName, ix.Layout)
	if err != nil {
		s.refused[ix.KeyName] = err
		return
	}
	if ix.State != index.Readable {
		return
	}
	s.programs = append(s.programs, p)
	s.indexes = append(s.indexes, index.Index{
		Definition: p.Definition(), State: ix.State,
		Prefix:          p.Definition().AppendPrefix(bytes.Clone(s.prefix)),
		ViolationPrefix: s.pack(letterSystem, s.typ, "violation", ix.KeyName),
	})
}

// finding returns a finding about a key of the store.
func (s *store) finding(code string, key []byte, format string, args ...any) Finding {
	f := s.place.finding(code, key, format, args...)
	f.Type = s.typ
	return f
}

// entryFinding returns a finding about a key of an index.
func (s *store) entryFinding(code string, ix *index.Index, key, id []byte, format string, args ...any) Finding {
	f := s.finding(code, key, format, args...)
	f.Index = ix.KeyName()
	if id != nil {
		f.ID = tuple.Describe(id)
	}
	return f
}

// recordKey returns the key of the record with that packed id.
func (s *store) recordKey(id []byte) []byte {
	return append(index.Shards(s.decoder.Shards()).Append(s.pack(letterRecord, s.typ), id), id...)
}

// refresh reads the header anew. It reports whether the header can be used.
func (s *store) refresh(ctx context.Context, b *batch) (usable bool, err error) {
	value, err := b.value(ctx, s.pack(letterSystem, s.typ))
	if err != nil || value == nil {
		return false, err
	}
	if !bytes.Equal(value, s.value) && s.load(value) != nil {
		return false, nil
	}
	return true, nil
}

// gather collects the entries of a record.
func (s *store) gather(set *index.Set, id, payload []byte) error {
	set.Reset()
	for i := range s.indexes {
		ix := &s.indexes[i]
		if e := set.Open(ix, id); e != nil && ix.Kind != index.Version {
			if err := s.programs[i].Entries(payload, e); err != nil {
				return err
			}
		}
		if err := set.Close(ix); err != nil {
			return err
		}
		if len(ix.CoverFields) > 0 && set.Keys(i) > 0 {
			copied, err := s.programs[i].AppendCover(set.BeginCover(), payload)
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

// checkIndexes reports the states of indexes, and those that cannot be compared.
func (s *store) checkIndexes(add func(Finding)) {
	key := s.place.pack(letterSystem, s.typ)
	for _, ix := range s.catalog.All() {
		report := func(code, format string, args ...any) {
			f := s.finding(code, key, format, args...)
			f.Key, f.Place, f.Index = nil, "", ix.KeyName
			add(f)
		}
		_, recount := index.CutRecount(ix.KeyName)
		switch {
		case recount:
			report("index/leftover-recount", "it is %v", ix.State)
		case ix.State == index.Disabled:
			report("index/disabled", "no query uses it")
		case ix.State == index.Building:
			report("index/building", "queries do not use it yet")
		}
		if err := s.refused[ix.KeyName]; err != nil {
			report(s.codeOf(ix), "%s", err.Error()) // of a newer version, too: programs read such a store
		}
	}
}

// codeOf returns the code of an index without a program: what is wrong with it may be that
// its fields are not there.
func (s *store) codeOf(ix format.IndexEntry) string {
	d, err := index.ParseLayout(ix.KeyName, ix.Layout)
	if err == nil && slices.ContainsFunc(d.Fields, func(field string) bool { return !s.decoder.HasField(field) }) {
		return "index/bad-layout"
	}
	return "index/needs-code"
}

// checkSystemKey checks the key (…, word, rest).
func (s *store) checkSystemKey(x *examination, pair kv.KeyValue, word string, rest []byte) *Finding {
	report := func(code, format string, args ...any) *Finding {
		f := s.finding(code, pair.Key, format, args...)
		return &f
	}
	switch word {
	case "changed", "pruned", "feed":
		if len(pair.Value) != sizes[word] {
			return report("store/bad-value", "it has %d bytes instead of %d", len(pair.Value), sizes[word])
		}
	case "history":
		if _, err := format.DecodeFormer(pair.Value); err != nil {
			return report("store/bad-history", "%v", reasonOf(err))
		}
	case "build":
		return s.checkWork(x, pair, rest)
	case "upload":
		f := s.checkUpload(pair)
		return &f
	case "violation":
		f := s.violation(pair)
		f.Index, _, _ = tuple.ReadString(rest)
		return &f
	default:
		return report("store/stray-key", "no store writes it")
	}
	return nil
}

// violation returns the finding of a violation: three byte strings are its value.
func (s *store) violation(pair kv.KeyValue) Finding {
	rest := pair.Value
	for range 3 {
		var err error
		if _, rest, err = tuple.ReadBytes(rest); err != nil {
			return s.finding("index/bad-violation", pair.Key, "%v", err)
		}
	}
	return s.finding("index/violation", pair.Key, "a record has values of the unique index that another one owns")
}

// checkWork checks a key of the work list of a build.
func (s *store) checkWork(x *examination, pair kv.KeyValue, rest []byte) *Finding {
	var err error
	code, text := "store/bad-value", ""
	if len(rest) == 0 {
		if _, err = build.DecodeMembers(pair.Value); err == nil && x.options.Exclusive {
			code, text = "index/stale-build", "no program has the database open"
		}
	} else {
		_, begin, wrong := tuple.ReadString(rest)
		if err = wrong; err == nil {
			_, err = worklist.DecodeRange(begin, pair.Value)
		}
	}
	if err == nil && text == "" {
		return nil
	}
	f := s.finding(code, pair.Key, "%s", text)
	if err != nil {
		f = s.finding(code, pair.Key, "%v", err)
	}
	return &f
}

// sizes are the lengths of the values that are versions.
var sizes = map[string]int{"changed": 10, "feed": index.VersionSize, "pruned": index.VersionSize}
