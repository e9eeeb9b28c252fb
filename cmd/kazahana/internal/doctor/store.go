// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/stored"
	"github.com/kazahana-db/kazahana/tuple"
)

// store is a type's records in a directory, as its header describes them.
type store struct {
	*place
	typ      string
	value    []byte // of the header
	header   stored.Header
	decoder  *dynamic.Decoder
	indexes  []index.Index // that have a program and are readable; recounts are not among them
	programs []*reindex.Program
	refused  map[string]error // why an index has no program
	set      index.Set        // of one record at a time
	damaged  bool             // a record is, or could not be read: counts cannot be compared
}

// load reads a header.
func (s *store) load(value []byte) (err error) {
	if s.header, err = stored.DecodeHeader(value); err != nil {
		return err
	}
	if s.decoder, err = dynamic.NewDecoder(value, s.path, s.layers); err != nil {
		return err
	}
	s.value, s.indexes, s.programs, s.refused = bytes.Clone(value), nil, nil, map[string]error{}
	for _, ix := range s.header.Indexes {
		s.addIndex(ix)
	}
	return nil
}

func (s *store) addIndex(ix stored.Index) {
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
	return append(s.decoder.Shards().Append(s.pack(letterRecord, s.typ), id), id...)
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
