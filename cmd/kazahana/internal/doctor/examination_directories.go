// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// within reports whether a path begins with the elements of another.
func within(path, of []string) bool {
	return len(path) >= len(of) && slices.Equal(path[:len(of)], of)
}

// ownDirectory is the directory of this library.
const ownDirectory = "kazahana"

// layouts has what examines the directories of this library, by their names.
var layouts = map[string]func(*examination, context.Context, *place) error{
	"persistable": (*examination).examineSystem,
	"leases":      (*examination).examineLeases,
	"names":       (*examination).examineNames,
	"elections":   (*examination).examineElections,
	"members":     (*examination).examineMembers,
	"placement":   (*examination).examinePlacement,
	"idbuilder":   (*examination).examineIDService,
}

// examineDirectories examines the contents of the directories of a tree, in the order of
// their paths, and the trees of its partitions.
func (x *examination) examineDirectories(ctx context.Context, t *tree) error {
	all := t.sorted()
	slices.SortFunc(all, func(a, b *node) int { return slices.Compare(a.path, b.path) })
	for _, n := range all {
		inside, around := within(n.path, x.options.Path), within(x.options.Path, n.path)
		if !n.exists || !n.reached || !inside && !around {
			continue
		}
		p := &place{metadata: t.Metadata, path: n.path, layers: n.layers, prefix: []byte(n.prefix), layer: n.layer}
		if err := x.examineDirectory(ctx, p, inside); err != nil {
			return err
		}
	}
	return nil
}

// examineDirectory examines a directory; one that is not inside the path of the options only
// leads there.
func (x *examination) examineDirectory(ctx context.Context, p *place, inside bool) (err error) {
	var quota *usage
	if inside {
		x.report.Directories++
		if quota, err = x.examineTenant(ctx, p); err != nil {
			return err
		}
	}
	before, leftOut := x.usage, x.leftOut
	switch {
	case p.isStaged():
		return nil // its keys are being written or cleared, in any number of transactions
	case p.layer == directory.Partition:
		err = x.examineTree(ctx, p.metadata.Partition(p.prefix, p.path), p.layers)
	case inside:
		err = x.examineContents(ctx, p)
	}
	if err == nil && quota != nil && leftOut == x.leftOut {
		x.compareUsage(p, *quota, usage{x.usage.records - before.records, x.usage.bytes - before.bytes})
	}
	return err
}

// examineContents examines the keys of a directory by the layout that its path says, or
// that its keys have.
func (x *examination) examineContents(ctx context.Context, p *place) error {
	if len(p.path) == 2 && p.path[0] == ownDirectory {
		if examine, known := layouts[p.path[1]]; known {
			return examine(x, ctx, p)
		}
	}
	return x.examineStores(ctx, p)
}

// findOrphans looks for keys in the content of a tree that lie in no directory: between the
// prefixes that are in use.
func (x *examination) findOrphans(ctx context.Context, t *tree) error {
	if !within(t.path, x.options.Path) {
		return nil
	}
	at := kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}
	if len(t.Content()) > 0 {
		at = kv.PrefixRange(t.Content())
	}
	owned := []kv.KeyRange{t.Keys()}
	for _, n := range t.sorted() {
		owned = append(owned, kv.PrefixRange([]byte(n.prefix)))
	}
	for _, gap := range gaps(at, owned) {
		if err := x.findInGap(ctx, t, gap); err != nil {
			return err
		}
	}
	return nil
}

// findInGap reports the keys of a gap, unless they are those of a directory that was created
// since.
func (x *examination) findInGap(ctx context.Context, t *tree, gap kv.KeyRange) error {
	for found := true; found; {
		err := x.read(ctx, func(b *batch) error {
			pair, err := b.first(ctx, gap)
			if found = pair.Key != nil; err != nil || !found {
				return err
			}
			owner, err := t.ownerOf(ctx, b, pair.Key)
			if err != nil {
				return err
			}
			if owner != nil {
				gap.Begin = kv.PrefixRange(owner).End
				return nil
			}
			found = false
			code := "directory/orphan-keys"
			if len(t.path) == 0 {
				code = "directory/keys-outside" // a database may be shared with programs that use no directories
			}
			b.report(newFinding(code, t.path, t.Content(), pair.Key,
				"it is the first key of those from %x to %x, which no directory owns", gap.Begin, gap.End))
			return nil
		})
		if isTooSlow(err) {
			x.addNotExamined(newFinding(NotExamined, t.path, t.Content(), gap.Begin, "the keys from this one on, up to %x, which no directory owns, cannot be read: %v", gap.End, err))
			return nil
		}
		if err != nil {
			return err
		}
		found = found && bytes.Compare(gap.Begin, gap.End) < 0
	}
	return nil
}

// examineTenant checks what is known of a directory as a tenant. It returns the usage that
// is stored, if all records are counted and nothing writes: then it can be compared.
func (x *examination) examineTenant(ctx context.Context, p *place) (quota *usage, err error) {
	note := p.metadata.Annotation(p.prefix, tenancy.Owner)
	err = x.read(ctx, func(b *batch) error {
		key := func(name string) []byte { return note.Sub(name).Bytes() }
		names := []string{"settings", "records", "bytes", "arrival"}
		var reads []kv.Future[[]byte]
		for _, name := range names {
			reads = append(reads, b.get(key(name)))
		}
		values := map[string][]byte{}
		for i, read := range reads {
			value, err := b.await(ctx, read)
			if err != nil {
				return err
			}
			values[names[i]] = value
		}
		quota = p.checkTenant(b, values, key)
		return nil
	})
	if isTooSlow(err) {
		x.addNotExamined(newFinding(NotExamined, p.path, nil, nil, "what is known of it as a tenant cannot be read: %v", err))
		return nil, nil
	}
	if !x.options.Exclusive || x.options.SkipRecords {
		quota = nil
	}
	return quota, err
}

// compareUsage compares the usage that is stored with that of the records.
func (x *examination) compareUsage(p *place, stored, is usage) {
	if stored != is {
		key := p.metadata.Annotation(p.prefix, tenancy.Owner).Sub("records").Bytes()
		x.add(newFinding("tenant/wrong-usage", p.path, p.metadata.Root(), key, "it says %d records of %d bytes, and there are %d of %d", stored.records, stored.bytes, is.records, is.bytes))
	}
}

// examineTree examines the directories of the root, or of a partition, then their contents.
func (x *examination) examineTree(ctx context.Context, m directory.Metadata, layers []string) error {
	var t *tree
	err := x.read(ctx, func(b *batch) (err error) {
		t = &tree{Metadata: m, path: m.Path(), layers: layers, nodes: map[string]*node{}, taken: map[int64]bool{}, batch: b}
		if err = t.readAll(ctx); err == nil {
			t.check()
			err = t.checkMissing(ctx)
		}
		return err
	})
	if isTooSlow(err) {
		x.addNotExamined(newFinding(NotExamined, m.Path(), nil, nil, "its directories cannot be read: %v", err))
		return nil
	}
	if err != nil {
		return err
	}
	if err := x.findOrphans(ctx, t); err != nil {
		return err
	}
	return x.examineDirectories(ctx, t)
}

// examineStore examines a store: what it keeps about itself, then records and indexes.
func (x *examination) examineStore(ctx context.Context, s *store) error {
	defer x.passHeldOn()
	steps := []func(context.Context, *store) error{x.examineSystemKeys}
	if !x.options.SkipRecords {
		steps = append(steps, x.examineRecords, x.examineEntries, x.examineVersions, x.examineDerived, x.examineTotals)
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
// stores with readable headers.
func (x *examination) compareOutline(p *place, b *batch, o *outline) (stores []*store) {
	for _, key := range o.strays {
		b.report(p.finding("store/stray-key", key, "no store writes it"))
	}
	known, broken := map[string]bool{}, []string(nil)
	for _, typ := range slices.Sorted(slices.Values(slices.Concat(o.names[letterSystem], o.names[letterRecord], o.names[format.BlobLetter]))) {
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
		for _, ix := range s.catalog.All() {
			known[ix.KeyName] = true
		}
		stores = append(stores, s)
	}
	for _, letter := range append([]string{letterEntry}, index.Letters()...) {
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
