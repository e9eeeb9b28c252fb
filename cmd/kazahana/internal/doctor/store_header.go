// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/stored"
	"github.com/kazahana-db/kazahana/tuple"
)

// checkIndexes reports the states of indexes, and those that cannot be compared.
func (s *store) checkIndexes(add func(Finding)) {
	key := s.place.pack(letterSystem, s.typ)
	for _, ix := range s.header.Indexes {
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
func (s *store) codeOf(ix stored.Index) string {
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
		if _, err := stored.DecodeFormer(pair.Value); err != nil {
			return report("store/bad-history", "%v", reasonOf(err))
		}
	case "build":
		return s.checkWork(x, pair, rest)
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
		if _, err = stored.DecodeWorkList(pair.Value); err == nil && x.options.Exclusive {
			code, text = "index/stale-build", "no program has the database open"
		}
	} else {
		_, begin, wrong := tuple.ReadString(rest)
		if err = wrong; err == nil {
			_, err = stored.DecodeWorkRange(begin, pair.Value)
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
