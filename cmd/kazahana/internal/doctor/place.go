// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	idstore "github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// place is a directory to be examined.
type place struct {
	metadata directory.Metadata
	path     []string
	prefix   []byte
	layer    string
	layers   []string // of the path's elements
}

// exists reports whether the directory is still there. Transactions that examine its
// contents ask: another program may remove it at any time.
func (p *place) exists(ctx context.Context, b *batch) (bool, error) {
	value, err := b.value(ctx, p.metadata.LayerKey(p.prefix))
	return value != nil, err
}

// keys returns the range of the directory's keys.
func (p *place) keys() kv.KeyRange { return kv.PrefixRange(bytes.Clone(p.prefix)) }

// below returns the range of the keys that begin with a letter and names.
func (p *place) below(letter string, names ...string) kv.KeyRange {
	return kv.PrefixRange(p.pack(letter, names...))
}

// pack returns the key of a letter and names.
func (p *place) pack(letter string, names ...string) []byte {
	b := tuple.AppendString(bytes.Clone(p.prefix), letter)
	for _, name := range names {
		b = tuple.AppendString(b, name)
	}
	return b
}

// finding returns a finding about a key of the directory.
func (p *place) finding(code string, key []byte, format string, args ...any) Finding {
	return newFinding(code, p.path, p.prefix, key, format, args...)
}

// usage is how many records a tenant has, and how many bytes their values have.
type usage struct{ records, bytes int64 }

// checkTenant checks settings, usage, and what is unfinished. It returns the usage if all
// records are counted.
func (p *place) checkTenant(b *batch, values map[string][]byte, key func(string) []byte) *usage {
	add := func(code, name, format string, args ...any) {
		b.report(newFinding(code, p.path, p.metadata.Root(), key(name), format, args...))
	}
	t, err := tenancy.Decode(values["settings"])
	switch {
	case err != nil:
		add("tenant/bad-settings", "settings", "%v", err)
	case t.Lock.ID != "":
		add("tenant/locked", "settings", "it is locked: %s", t.Lock.Reason)
	}
	counting := t.Quota.State == tenancy.Counting
	if counting {
		add("tenant/counting", "settings", "its quota does not hold yet")
	}
	for _, name := range []string{"records", "bytes"} {
		if n := len(values[name]); values[name] != nil && n != 8 {
			add("tenant/bad-settings", name, "its usage has %d bytes instead of 8", n)
		}
	}
	switch stage, tenant := p.stage(); stage {
	case "arriving":
		add("tenant/interrupted", "arrival", "the copy or import of %s has not ended", tenant)
	case "removed":
		add("tenant/removed", "arrival", "the removal of %s has not ended", tenant)
	}
	if err != nil || t.Quota.State == tenancy.Off || counting || p.layer != directory.Partition {
		return nil
	}
	return &usage{numberOf(values["records"]), numberOf(values["bytes"])}
}

// stage returns which change of a tenant has left the directory, "" for none, and the path
// of the tenant: the path of the directory ends with kazahana/tenants/SET/arriving/NAME, or
// removed/NAME/ID.
func (p *place) stage() (stage, tenant string) {
	n := len(p.path)
	own := func(i int, word string) bool {
		return i >= 3 && p.path[i] == word && slices.Equal(p.path[i-3:i-1], []string{ownDirectory, "tenants"})
	}
	switch {
	case n >= 5 && own(n-2, "arriving"):
		return "arriving", p.tenantAt(n - 3)
	case n >= 6 && own(n-3, "removed"):
		return "removed", p.tenantAt(n - 4)
	}
	return "", ""
}

// isStaged reports whether a change of a tenant has left the directory, or one around it.
func (p *place) isStaged() bool {
	for n := range p.path {
		around := place{path: p.path[:n+1]}
		if stage, _ := around.stage(); stage != "" {
			return true
		}
	}
	return false
}

// tenantAt returns the path of the tenant, if the path of the directory has that of its set
// at i, escaped, or a hash of it.
func (p *place) tenantAt(i int) string {
	names := append(slices.Clone(p.path[:i-2]), strings.Split(strings.Trim(p.path[i], "/"), "/")...)
	for n, name := range names[i-2:] {
		if plain, err := url.PathUnescape(name); err == nil {
			names[i-2+n] = plain
		}
	}
	names = slices.DeleteFunc(append(names, p.path[i+2]), func(name string) bool { return name == "" })
	return strings.Join(names, "/")
}

// numberOf reads a counter; 0 for none.
func numberOf(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(value))
}

// checkDocument checks a document with its chunks and its entry in the index of expiry,
// when its head is read, and that a chunk has a head.
func (p *place) checkDocument(ctx context.Context, b *batch, pair kv.KeyValue, kind string, rest []byte) (*fault, error) {
	name, chunk, err := tuple.ReadString(rest)
	if err != nil {
		return newFault("system/stray-key", pair.Key, "it is not the key of a document"), nil
	}
	head := p.pack("D", kind, name)
	if len(chunk) > 0 {
		value, err := b.value(ctx, head)
		if err == nil && value == nil {
			return newFault("idservice/missing-chunk", pair.Key, "a chunk of a document that is not there"), nil
		}
		return nil, err
	}
	d, size, err := idstore.DecodeHead(pair.Value)
	if err != nil {
		return newFault("idservice/bad-document", pair.Key, "%v", err), nil
	}
	if f, err := checkParts(ctx, b, head, size); f != nil || err != nil {
		return f, err
	}
	at := idstore.ExpiryTime(d)
	if at == 0 {
		return nil, nil
	}
	key := tuple.AppendString(tuple.AppendString(tuple.AppendInt(p.pack("Z"), at), kind), name)
	entry, err := b.value(ctx, key)
	if err == nil && entry == nil {
		return newFault("idservice/missing-expiry", pair.Key, "%s/%s expires, and is not in the index of expiry", kind, name), nil
	}
	return nil, err
}

// checkExpiry checks that an entry of the index of expiry has its document.
func (p *place) checkExpiry(ctx context.Context, b *batch, pair kv.KeyValue, _ string, rest []byte) (*fault, error) {
	at, rest, err := tuple.ReadInt(rest)
	kind, name := "", ""
	if err == nil {
		kind, rest, err = tuple.ReadString(rest)
	}
	if err == nil {
		name, _, err = tuple.ReadString(rest)
	}
	if err != nil {
		return newFault("system/stray-key", pair.Key, "it is not an entry of the index of expiry"), nil
	}
	value, err := b.value(ctx, p.pack("D", kind, name))
	if err != nil {
		return nil, err
	}
	d, _, err := idstore.DecodeHead(value)
	if value == nil || err == nil && idstore.ExpiryTime(d) != at {
		return newFault("idservice/stray-expiry", pair.Key, "%s/%s is not there, or expires at another time", kind, name), nil
	}
	return nil, nil //nolint:nilerr // the document is reported
}

// checkActor checks an entry when its first chunk is read, and that each other chunk has
// the one before.
func (p *place) checkActor(ctx context.Context, b *batch, pair kv.KeyValue, kind, id string, after []byte) (*fault, error) {
	n, left, err := tuple.ReadInt(after)
	if err != nil || len(left) > 0 || n < 0 {
		return newFault("system/stray-key", pair.Key, "it is not the key of a chunk"), nil
	}
	entry := p.pack("R", kind, id)
	if n > 0 {
		before, err := b.value(ctx, tuple.AppendInt(entry, n-1))
		if err == nil && len(before) != kvstore.EntryChunk {
			return newFault("placement/bad-entry", entry, "chunk %d has %d bytes instead of %d, and another one follows it", n-1, len(before), kvstore.EntryChunk), nil
		}
		return nil, err
	}
	row, err := b.value(ctx, p.pack("F", kind, id))
	if err != nil {
		return nil, err
	}
	if row == nil {
		return newFault("placement/missing-row", pair.Key, "%s/%s has an entry, and no row", kind, id), nil
	}
	var whole []byte
	for chunk, err := range b.pairs(ctx, chunkRange(entry), kv.RangeOptions{Mode: kv.ModeWantAll}) {
		if err != nil {
			return nil, err
		}
		whole = append(whole, chunk.Value...)
	}
	if _, err := kvstore.DecodeEntry(whole); err != nil {
		return newFault("placement/bad-entry", entry, "%v", err), nil
	}
	return nil, nil
}

// readOutline finds the letters and names of the directory's keys: one read for each.
func (p *place) readOutline(ctx context.Context, b *batch) (*outline, error) {
	o := &outline{headers: map[string][]byte{}, names: map[string][]string{}, first: map[string][]byte{}}
	for r := p.keys(); ; {
		pair, err := b.first(ctx, r)
		if err != nil || pair.Key == nil {
			return o, err
		}
		r.Begin = o.add(p, pair)
	}
}

// newStore returns the store of a type; nil if its header cannot be used.
func (p *place) newStore(typ string, o *outline, add func(Finding)) *store {
	key := p.pack(letterSystem, typ)
	value, has := o.headers[typ]
	if !has {
		if slices.Contains(o.names[letterRecord], typ) {
			f := p.finding("store/missing-header", key, "there are records of the type %s, and no header", typ)
			f.Type = typ
			add(f)
		} else {
			first := o.first[letterSystem+typ]
			if first == nil {
				first = o.first[format.BlobLetter+typ]
			}
			add(p.finding("store/stray-key", first, "there is no header and no record of the type %s", typ))
		}
		return nil
	}
	s := &store{place: p, typ: typ}
	if err := s.load(value); err != nil {
		add(s.finding("store/bad-header", key, "%v", reasonOf(err)))
		return nil
	}
	if !slices.Contains(o.names[letterRecord], typ) {
		add(s.finding("store/empty", nil, "there are no records of the type %s", typ))
	}
	if s.decoder.Moved() != nil {
		add(s.finding("store/wrong-directory", nil, "%v", s.decoder.Moved()))
	}
	s.checkIndexes(add)
	return s
}

// outline is what the first two elements of a directory's keys say.
type outline struct {
	headers map[string][]byte   // of the types that have a header
	names   map[string][]string // by letter
	first   map[string][]byte   // a key of a letter and name
	strays  [][]byte            // the first keys that no store writes
}

// add adds a key, and returns where the next letter or name begins.
func (o *outline) add(p *place, pair kv.KeyValue) (next []byte) {
	rest := pair.Key[len(p.prefix):]
	letter, rest, err := tuple.ReadString(rest)
	name := ""
	if err == nil {
		name, rest, err = tuple.ReadString(rest)
	}
	if err != nil || !slices.Contains(letters, letter) {
		return o.addStray(p, pair.Key)
	}
	if letter == letterSystem && len(rest) == 0 {
		o.headers[name] = bytes.Clone(pair.Value)
	}
	o.names[letter] = append(o.names[letter], name)
	o.first[letter+name] = bytes.Clone(pair.Key)
	return p.below(letter, name).End
}

// addStray adds a key that no store writes, and returns where to go on: after it, or, when
// enough of them are known, where keys of stores may be.
func (o *outline) addStray(p *place, key []byte) (next []byte) {
	if len(o.strays) < mostStrays {
		o.strays = append(o.strays, bytes.Clone(key))
		return kv.Successor(key)
	}
	for _, letter := range letters {
		names := kv.PrefixRange(append(p.pack(letter), stringCode))
		switch {
		case bytes.Compare(key, names.Begin) < 0:
			return names.Begin
		case bytes.Compare(key, names.End) < 0:
			return kv.Successor(key)
		}
	}
	return p.keys().End
}

// isOfStores reports whether the directory has a store.
func (o *outline) isOfStores() bool {
	return len(o.headers) > 0 || len(o.names[letterRecord]) > 0
}

// The letters of the keys in a directory of stores.
const (
	letterEntry   = "I"
	letterRecord  = "R"
	letterSystem  = "S"
	letterVersion = "V"
)

// letters has those of the keys in the order of the keys. A name follows, a packed string,
// which begins with stringCode.
var letters = slices.Sorted(slices.Values(append(index.Letters(), format.BlobLetter, letterEntry, letterRecord, letterSystem)))

const stringCode = 0x02

// mostStrays is how many keys that no store writes are reported in a directory.
const mostStrays = 20

// reasonOf returns an error with what that of stored bytes says, without a remedy for damage.
func reasonOf(err error) error {
	var wrong *format.Error
	if errors.As(err, &wrong) && wrong.Err != nil {
		return wrong.Err
	}
	return err
}
