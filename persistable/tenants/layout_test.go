// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	layers "github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// TestLayoutOfTenants makes what docs/layout.md shows and compares every key and value that
// the library keeps about the tenant, next to its directory's metadata.
func TestLayoutOfTenants(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	someOrders(t, db, "a", 3)
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
	lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "export"))
	d := must[*directory.Directory](t)(directory.Root().Open(ctx, db.Engine(), all.Path("a")))
	owned := d.Annotation("kazahana").Bytes()
	node := owned[:len(owned)-len("\x02annotation\x00\x02kazahana\x00")]
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db.Engine(), func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(owned).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	var got []string
	for _, pair := range pairs {
		got = append(got, "<node>"+hex.EncodeToString(pair.Key[len(node):])+"="+hex.EncodeToString(pair.Value))
	}
	used := binary.LittleEndian.AppendUint64(nil, uint64(recount(t, db, "tenants", "a").Bytes))
	known := strings.NewReplacer("<lock>", hex.EncodeToString([]byte(lock.ID)), "<bytes>", hex.EncodeToString(used))
	if diff := cmp.Diff(strings.Split(known.Replace(documented(t)), ";"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// documented returns the pairs of the document's block, without spaces and comments.
func documented(t *testing.T) string {
	t.Helper()
	_, block, found := strings.Cut(string(must[[]byte](t)(os.ReadFile("../../docs/layout.md"))), "```tenant\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block of tenants")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	return strings.TrimSuffix(regexp.MustCompile(`\s+`).ReplaceAllString(block, ""), ";")
}

// random matches random numbers in hexadecimal digits, and in those of such digits.
var random = regexp.MustCompile(`(3[0-9]|6[1-6]){32,}|gone/[0-9a-f]{32}`)

// TestFormats reads what earlier versions stored about tenants: locks, a quota and its usage, a
// copy and a deletion that were not finished. It stores the same.
func TestFormats(t *testing.T) {
	layer := layers.Layer{
		Name: "tenants/annotations",
		Open: enginetest.InProcess,
		Write: func(t *testing.T, engine kv.Database) {
			c := &crasher{Database: engine, left: -1}
			db := open(t, c)
			rooms := tenants.Of(db, "rooms")
			for name, n := range map[string]int{"a": 3, "c": 6, "gone": 1} {
				someNotes(t, NoteStoreOf(db, name), name, n)
			}
			check(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100, Bytes: 1 << 20}))
			must[tenants.Lock](t)(rooms.Lock(ctx, "a", "export"))
			beginCopy(t, rooms, "c", "b", tenants.CopyOptions{Lock: must[tenants.Lock](t)(rooms.Lock(ctx, "c", ""))})
			c.left = 1
			wantError(t, rooms.Delete(ctx, "gone"), errCrash)
			c.left = -1
		},
		Mask: func(line string) string { // package persistable has examples of records
			// and a range of a copy tells the time and the worker
			if key, _, pair := strings.Cut(line, " = "); pair && (!strings.Contains(key, ": node ") || strings.Contains(key, "0272616e676500")) {
				line = key
			}
			return random.ReplaceAllString(line, "<id>")
		},
		Read: func(t *testing.T, engine kv.Database) {
			db := open(t, engine)
			rooms := tenants.Of(db, "rooms")
			if l, locked, err := rooms.LockOf(ctx, "a"); !locked || err != nil || l.Reason != "export" {
				t.Errorf("the tenant has the lock %+v, %v", l, err)
			}
			u := must[tenants.Usage](t)(rooms.Usage(ctx, "a"))
			if u.Quota != (tenants.Quota{Records: 100, Bytes: 1 << 20}) || u.Records != 3 || u.Bytes != recount(t, db, "rooms", "a").Bytes {
				t.Errorf("the usage is %+v", u)
			}
			l, _, err := rooms.LockOf(ctx, "c")
			check(t, err)
			blocks := int64(0)
			o := tenants.CopyOptions{Lock: l, Lease: time.Millisecond, Progress: func(tenants.Progress) { blocks++ }}
			p, err := rooms.Copy(ctx, "c", "b", o)
			if errors.Is(err, tenants.ErrUnfinished) { // of a version in which processes could not share it
				check(t, rooms.Abandon(ctx, "b"))
				must[tenants.Progress](t)(rooms.Copy(ctx, "c", "b", o))
			} else if err != nil || blocks != p.Blocks-1 {
				t.Errorf("the copy wrote %d of its %d blocks again, want all but the first: %v", blocks, p.Blocks, err)
			}
			equal(t, contents(t, db, "rooms", "c"), contents(t, db, "rooms", "b"))
			if n := must[int](t)(rooms.Sweep(ctx)); n != 1 {
				t.Errorf("%d deletions were finished, want 1", n)
			}
		},
	}
	formats.Check(t, layer.Format(), formats.Format{Name: "tenants/stream", Write: writeStream, Mask: maskStream, Read: readStream})
}

// writeStream returns an exported tenant in hexadecimal.
func writeStream(t *testing.T) (example string) {
	db := open(t, enginetest.InProcess(t))
	someNotes(t, NoteStoreOf(db, "a"), "a", 4)
	for line := range slices.Chunk(export(t, tenants.Of(db, "rooms"), "a"), 80) {
		example += hex.EncodeToString(line) + "\n"
	}
	return example
}

func bytesOf(t *testing.T, example string) []byte {
	t.Helper()
	return must[[]byte](t)(hex.DecodeString(strings.ReplaceAll(example, "\n", "")))
}

// maskStream returns the magic of a stream, and its blocks without what is random: the id, versions
// and the tokens of records, and the checksums, which depend on them.
func maskStream(t *testing.T, example string) string {
	all := bytesOf(t, example)
	magic, blocks := all[:16], all[16:]
	masked := string(magic)
	for len(blocks) >= 9 {
		head, size := blocks[:5], binary.BigEndian.Uint32(blocks[1:])
		payload := hex.EncodeToString(blocks[5 : 5+size])
		if head[0] == 1 {
			payload = regexp.MustCompile(`02(3\d|6[1-6]){32}00|1b06[0-9a-f]{14}`).ReplaceAllString(payload, "<random>")
		} else {
			payload = fmt.Sprint(size, " bytes")
		}
		masked += fmt.Sprintf("%x %s\n", head, payload)
		blocks = blocks[5+size+4:]
	}
	return fmt.Sprintf("%s%x", masked, blocks)
}

// readStream imports an exported tenant.
func readStream(t *testing.T, example string) {
	db := open(t, enginetest.InProcess(t))
	p := must[tenants.Progress](t)(tenants.Of(db, "rooms").Import(ctx, "b", bytes.NewReader(bytesOf(t, example)), tenants.ImportOptions{}))
	s := NoteStoreOf(db, "b")
	for id := range int64(4) {
		n := must[*Note](t)(s.Get(ctx, id+1))
		if n.Room != "b" || n.Title != fmt.Sprint("title ", id) || !bytes.Equal(n.Body, bytes.Repeat([]byte{byte(id)}, 100)) {
			t.Errorf("note %d is %+v", id+1, n)
		}
	}
	sound(t, s.Indexes().Verify)
	if p.Pairs != 9 { // four records, four entries, a header
		t.Errorf("%+v", p)
	}
}
