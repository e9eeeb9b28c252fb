// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// examineStore examines a store: what it keeps about itself, then records and indexes.
func (x *examination) examineStore(ctx context.Context, s *store) error {
	defer x.passHeldOn()
	steps := []func(context.Context, *store) error{x.examineSystemKeys}
	if !x.options.SkipRecords {
		steps = append(steps, x.examineRecords, x.examineEntries, x.examineVersions, x.examineRanks, x.examineTotals)
	}
	for _, step := range steps {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// examineStores examines the stores of a directory.
func (x *examination) examineStores(ctx context.Context, p *place) error {
	var stores []*store
	var there bool
	err := x.read(ctx, func(b *batch) (err error) {
		stores = nil
		if there, err = p.exists(ctx, b); err != nil || !there {
			return err
		}
		o, err := p.readOutline(ctx, b)
		if err != nil {
			return err
		}
		if !o.isOfStores() {
			if len(o.strays) > 0 || len(o.names) > 0 {
				b.report(p.finding("directory/unknown-contents", nil, "it has keys, and no store's header or record"))
			}
			return nil
		}
		stores = x.compareOutline(p, b, o)
		return nil
	})
	if isTooSlow(err) {
		x.addNotExamined(p.finding(NotExamined, nil, "its keys cannot be read: %v", err))
		return nil
	}
	if err != nil || !there {
		return err
	}
	for _, s := range stores {
		x.report.Stores++
		if err := x.examineStore(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// compareOutline compares headers, records and indexes with each other, and returns the
// stores whose headers can be read.
func (x *examination) compareOutline(p *place, b *batch, o *outline) (stores []*store) {
	for _, key := range o.strays {
		b.report(p.finding("store/stray-key", key, "no store writes it"))
	}
	known, broken := map[string]bool{}, []string(nil)
	for _, typ := range slices.Sorted(slices.Values(append(slices.Clone(o.names[letterSystem]), o.names[letterRecord]...))) {
		if known["type "+typ] {
			continue
		}
		known["type "+typ] = true
		s := p.newStore(typ, o, b.report)
		if s == nil {
			b.then(func() { x.leftOut++ })
			broken = append(broken, strings.ReplaceAll(typ, "_", "__")+"_")
			continue
		}
		for _, ix := range s.header.Indexes {
			known[ix.KeyName] = true
		}
		stores = append(stores, s)
	}
	for _, letter := range []string{letterEntry, letterRank, letterVersion} {
		for _, name := range o.names[letter] {
			ofBroken := slices.ContainsFunc(broken, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
			if !known[name] && !ofBroken {
				f := p.finding("index/unknown-entries", p.pack(letter, name), "no header of the directory has the index")
				f.Index = name
				b.report(f)
			}
		}
	}
	return stores
}

// examineSystemKeys checks what a store keeps about itself besides its header.
func (x *examination) examineSystemKeys(ctx context.Context, s *store) error {
	return x.eachPair(ctx, s.place, s.below(letterSystem, s.typ), func(_ context.Context, b *batch, pair kv.KeyValue) error {
		rest := pair.Key[len(s.pack(letterSystem, s.typ)):]
		if len(rest) == 0 {
			return nil // the header
		}
		word, rest, err := tuple.ReadString(rest)
		if err != nil {
			word = ""
		}
		if f := s.checkSystemKey(x, pair, word, rest); f != nil {
			b.report(*f)
		}
		return nil
	})
}
