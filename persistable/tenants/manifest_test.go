// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// forge returns a stream with right checksums.
func forge(t *testing.T, m manifest, blocks ...block) []byte {
	t.Helper()
	var b bytes.Buffer
	w := streamWriter{w: &b}
	var p Progress
	err := w.start(&m)
	for _, block := range blocks {
		_, failed := w.write(kindPairs, block.encode())
		err = errors.Join(err, failed)
		p = Progress{Blocks: p.Blocks + 1, Pairs: p.Pairs + int64(len(block.pairs)), Bytes: p.Bytes + block.size()}
	}
	end, failed := endPayload(p)
	if _, last := w.write(kindEnd, end); errors.Join(err, failed, last) != nil {
		t.Fatal(err, failed, last)
	}
	return b.Bytes()
}

func pair(key, value string) kv.KeyValue { return kv.KeyValue{Key: []byte(key), Value: []byte(value)} }

func plain(dirs ...branch) manifest {
	return manifest{id: "forged", path: []string{"tenants", "a"}, layers: []string{""}, version: 1, dirs: append(tree{{path: []string{}}}, dirs...)}
}

// Streams with right checksums that Export never writes are refused, whole.
func TestForgedStreams(t *testing.T) {
	ctx := context.Background()
	engine := enginetest.Open(t)
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	part := branch{path: []string{"p"}, layer: directory.Partition}
	sub := branch{path: []string{"s"}}
	head := string(headers.Key("Order"))
	all := Of(db, "tenants")
	for name, stream := range map[string][]byte{
		"no directories":               forge(t, manifest{id: "x", path: []string{"a"}}),
		"no path":                      forge(t, manifest{id: "x", dirs: tree{{path: []string{}}}}),
		"no id":                        forge(t, manifest{path: []string{"a"}, dirs: tree{{path: []string{}}}}),
		"two roots":                    forge(t, plain(branch{path: []string{}})),
		"an empty name":                forge(t, plain(branch{path: []string{""}})),
		"a name that is too long":      forge(t, plain(branch{path: []string{strings.Repeat("x", 4097)}})),
		"a directory twice":            forge(t, plain(sub, sub)),
		"a directory before its own":   forge(t, plain(branch{path: []string{"s", "t"}}, sub)),
		"a store that cannot be read":  forge(t, manifest{id: "x", path: []string{"a"}, dirs: plain().dirs, stores: []header{{0, "Order", []byte("?")}}}),
		"a store in no directory":      forge(t, manifest{id: "x", path: []string{"a"}, dirs: plain().dirs, stores: []header{{7, "Order", []byte("?")}}}),
		"pairs in no directory":        forge(t, plain(), block{dir: 1, version: 1, pairs: []kv.KeyValue{pair("k", "v")}}),
		"pairs in a partition":         forge(t, plain(part), block{dir: 1, version: 1, pairs: []kv.KeyValue{pair("k", "v")}}),
		"an empty block":               forge(t, plain(), block{version: 1}),
		"keys that descend":            forge(t, plain(), block{version: 1, pairs: []kv.KeyValue{pair("b", ""), pair("a", "")}}),
		"a key twice":                  forge(t, plain(), block{version: 1, pairs: []kv.KeyValue{pair("b", ""), pair("b", "")}}),
		"a key twice in two blocks":    forge(t, plain(), block{version: 1, pairs: []kv.KeyValue{pair("b", "")}}, block{version: 1, pairs: []kv.KeyValue{pair("b", "")}}),
		"directories that descend":     forge(t, plain(sub), block{dir: 1, version: 1, pairs: []kv.KeyValue{pair("b", "")}}, block{version: 1, pairs: []kv.KeyValue{pair("b", "")}}),
		"a key that is too long":       forge(t, plain(), block{version: 1, pairs: []kv.KeyValue{pair(strings.Repeat("k", kv.MaxKeySize+1), "")}}),
		"a value that is too long":     forge(t, plain(), block{version: 1, pairs: []kv.KeyValue{pair("k", strings.Repeat("v", kv.MaxValueSize+1))}}),
		"a store that was not listed":  forge(t, plain(), block{version: 1, pairs: []kv.KeyValue{pair(head, "?")}}),
		"something behind the magic":   append([]byte(magic), "and then nothing that one could read"...),
		"another file":                 []byte("PK\x03\x04 a zip file, for example, that is long enough"),
		"nothing":                      nil,
		"a format that is newer":       newerStream(t),
		"a store that is newer":        forge(t, manifest{id: "x", path: []string{"a"}, dirs: plain().dirs, stores: []header{{0, "Order", []byte{0x15, 9}}}}),
		"a size beyond all bounds":     append([]byte(magic), kindManifest, 0xff, 0xff, 0xff, 0xff),
		"no manifest at the beginning": noManifest(t),
	} {
		_, err := all.Import(ctx, "b", bytes.NewReader(stream), ImportOptions{})
		if !errors.Is(err, ErrStream) {
			t.Errorf("%s: %v, want an ErrStream", name, err)
		}
		isNewer := strings.Contains(name, "newer")
		if errors.Is(err, persistable.ErrNewer) != isNewer || isNewer && (strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "or a later one")) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if there, err := all.Exists(ctx, "b"); there || err != nil {
			t.Errorf("%s: a part is visible: %v", name, err)
		}
		if err := all.Abandon(ctx, "b"); err != nil {
			t.Errorf("%s: Abandon: %v", name, err)
		}
	}
}

// TestForgedBlocksTakeLittleMemory: what a stream cannot have is refused before it is decoded; two
// bytes of a pair, or one of an element, would take many times as much memory.
func TestForgedBlocksTakeLittleMemory(t *testing.T) {
	nothing := make([]byte, maxPayload-64)
	list := func(element ...byte) []byte {
		start, _ := tuple.Tuple{int64(streamFormat), "forged"}.Pack()
		return append(append(start, listCode), bytes.Repeat(element, (maxPayload-64)/len(element))...)
	}
	for name, payload := range map[string][]byte{
		"empty pairs": nothing,
		"numbers":     list(0x14),
		"lists":       list(listCode, endCode),
		"texts":       list(0x02, endCode),
	} {
		decode := func() error { _, err := decodeManifest(payload); return err }
		if name == "empty pairs" {
			decode = func() error { _, err := decodeBlock(payload); return err }
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 64<<20 {
			t.Errorf("%s: %v, with %d bytes of memory", name, err, took)
		}
	}
}

// TestLargestBlocks: what Export writes is accepted, however small the pairs are.
func TestLargestBlocks(t *testing.T) {
	b := block{version: 1}
	for i := 0; b.size() < blockBytes/2; i++ { // each key has also the prefix of its directory, two bytes at least
		b.pairs = append(b.pairs, kv.KeyValue{Key: tuple.AppendInt(nil, int64(i)), Value: nil})
	}
	got, err := decodeBlock(b.encode())
	if err != nil || len(got.pairs) != len(b.pairs) {
		t.Errorf("%d pairs: %v", len(b.pairs), err)
	}
}

func newerStream(t *testing.T) []byte {
	stream := forge(t, plain())
	at := bytes.Index(stream, []byte{0x15, streamFormat})
	stream[at+1]++
	payload := stream[at : len(stream)-9-len(endOf(stream))-4]
	sum := checksum{}.of(0, stream[at-5:at], payload)
	return append(slices.Clone(stream[:at+len(payload)]), byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
}

// endOf returns the payload of the last block.
func endOf([]byte) []byte {
	end, _ := endPayload(Progress{})
	return end
}

func noManifest(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(magic)
	w := streamWriter{w: &b}
	if _, err := w.write(kindEnd, endOf(nil)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Names that look like paths stay within the tenant.
func TestForgedNamesStayInTheTenant(t *testing.T) {
	ctx := context.Background()
	engine := enginetest.Open(t)
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := Of(db, "tenants")
	names := []string{"..", "../..", "/", "kazahana", "\x00", "."}
	m := plain()
	var blocks []block
	for i, name := range names {
		m.dirs = append(m.dirs, branch{path: []string{name}})
		blocks = append(blocks, block{dir: i + 1, version: 1, pairs: []kv.KeyValue{pair("k\xff", name)}})
	}
	before, err := directory.Root().List(ctx, engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Import(ctx, "b", bytes.NewReader(forge(t, m, blocks...)), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	after, err := directory.Root().List(ctx, engine, nil)
	if err != nil || !slices.Equal(append(before, "tenants"), after) {
		t.Errorf("the root has %q, before %q: %v", after, before, err)
	}
	slices.Sort(names)
	if in, err := directory.Root().List(ctx, engine, all.Path("b")); err != nil || !slices.Equal(in, names) {
		t.Errorf("the tenant has %q: %v", in, err)
	}
}

// A stream with versions that are ahead of the database is refused, whole, if it has an
// index by version.
func TestVersionsAhead(t *testing.T) {
	ctx := context.Background()
	db, err := persistable.Open(ctx, enginetest.Open(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := Of(db, "tenants")
	for name, c := range map[string]struct {
		kind    index.Kind
		state   index.State
		version int64
		refused bool
	}{
		"reached": {index.Version, index.Readable, 1, false}, "ahead": {index.Version, index.Readable, 1 << 60, true},
		"ahead, built": {index.Version, index.Building, 1 << 60, true}, "ahead, disabled": {index.Version, index.Disabled, 1 << 60, false},
		"ahead, no versions": {index.Count, index.Readable, 1 << 60, false},
	} {
		head := header{typ: "Bid", value: headerWith(t, index.Definition{Name: "Bid_version", Kind: c.kind}, c.state)}
		m := plain()
		m.stores = []header{head}
		stream := forge(t, m, block{version: c.version, pairs: []kv.KeyValue{{Key: headers.Key("Bid"), Value: head.value}}})
		_, err := all.Import(ctx, name, bytes.NewReader(stream), ImportOptions{})
		if errors.Is(err, ErrAhead) != c.refused || !c.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.refused && (!strings.Contains(err.Error(), "the index Bid_version has changes up to the version 1152921504606846976,") || strings.Contains(err.Error(), " only at 0:")) {
			t.Errorf("%s: %v", name, err)
		}
		if there, err := all.Exists(ctx, name); there == c.refused || err != nil {
			t.Errorf("%s: the tenant is there: %v, %v", name, there, err)
		}
	}
}

// headerWith returns the header of a store with one index.
func headerWith(t *testing.T, d index.Definition, state index.State) []byte {
	t.Helper()
	program, err := schema.ParseType("type Bid\n\torigin example.com/shop\n\tid int\n\tdirectory \"auctions/{House}/bids\"\n\tfield 1 ID int64\n")
	if err != nil {
		t.Fatal(err)
	}
	c := format.NewCatalog(program, 0, nil)
	c.SetState(&d, state)
	value, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return value
}
