// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// The ids of the order without chunks that is damaged, and of one with two chunks.
const (
	anOrder   = int64(72623859790382856 + 1)
	longOrder = int64(42)
)

// damage is a damage that a test makes by hand.
type damage struct {
	name  string
	codes string
	make  func(w world) []byte
}

// damages are made one at a time. Each returns the key at fault, nil where the finding has
// another one; the codes are those of the fault and of what it causes.
var damages = []damage{
	{"orphan entry", "index/orphan-entry", func(w world) []byte {
		key := w.order("I", "Order_Editor", "eve", 7)
		w.tx.Set(key, nil)
		return key
	}},
	{"entry of another value", "index/orphan-entry", func(w world) []byte {
		key := w.order("I", "Order_Editor", "eve", anOrder)
		w.tx.Set(key, nil)
		return key
	}},
	{"missing entry", "index/missing-entry", func(w world) []byte {
		p := w.first(w.order("I", "Order_CreatedAt"))
		w.tx.Clear(p.Key)
		return p.Key
	}},
	{"bad entry", "index/bad-entry", func(w world) []byte {
		key := append(w.order("I", "Order_Editor"), 0x40)
		w.tx.Set(key, nil)
		return key
	}},
	{"wrong cover", "index/wrong-value", func(w world) []byte {
		p := w.first(w.order("I", "Order_Country_Amount"))
		w.tx.Set(p.Key, append(p.Value, 0))
		return p.Key
	}},
	{"wrong owner", "index/wrong-owner", func(w world) []byte {
		p := w.first(w.order("I", "Order_Number_unique"))
		w.tx.Set(p.Key, tuple.AppendInt(nil, longOrder))
		return p.Key
	}},
	{"wrong count", "index/wrong-count", func(w world) []byte {
		key := w.order("I", "Order_count")
		w.tx.Set(key, kv.Int64(7))
		return key
	}},
	{"missing count", "index/wrong-count", func(w world) []byte {
		p := w.first(w.order("I", "Order_count_Status"))
		w.tx.Clear(p.Key)
		return p.Key
	}},
	{"wrong sum", "index/wrong-sum", func(w world) []byte {
		p := w.first(w.order("I", "Order_sum_Amount_Country"))
		p.Value[0]++
		w.tx.Set(p.Key, p.Value)
		return p.Key
	}},
	{"wrong rank", "index/wrong-rank", func(w world) []byte {
		key := w.order("L", "Order_rank_Status_Amount", 5)
		w.tx.Set(key, kv.Int64(9))
		return key
	}},
	{"missing version", "index/wrong-version", func(w world) []byte {
		key := w.order("V", "Order_version", anOrder)
		w.tx.Clear(key)
		return key
	}},
	{"entries of no index", "index/unknown-entries", func(w world) []byte {
		w.tx.Set(w.order("I", "Order_Color", "red", anOrder), nil)
		w.tx.Set(w.order("I", "Order_Color", "red", longOrder), nil)
		return w.order("I", "Order_Color")
	}},
	{"layout without its field", "index/bad-layout", func(w world) []byte {
		w.header(func(t tuple.Tuple) {
			t[1] = append(t[1].(tuple.Tuple), tuple.Tuple{"Order_Weight", "Weight:int", int64(2)})
		})
		return nil
	}},
	{"stale recount", "index/leftover-recount", func(w world) []byte {
		w.header(func(t tuple.Tuple) {
			t[1] = append(t[1].(tuple.Tuple), tuple.Tuple{"Order_count~recount", "::kind=count", int64(0)})
		})
		return nil
	}},
	{"violation", "index/building index/violation", func(w world) []byte {
		w.state("Order_Number_unique", 1)
		value, _ := tuple.Tuple{[]byte("\x02A-1\x00"), tuple.AppendInt(nil, anOrder), tuple.AppendInt(nil, longOrder)}.Pack()
		return w.violation(value)
	}},
	{"damaged violation", "index/bad-violation", func(w world) []byte { return w.violation([]byte{1, 0}) }},
	{"stale build", "index/stale-build", func(w world) []byte {
		key := w.order("S", "Order", "build")
		value, _ := tuple.Tuple{1, tuple.Tuple{"Order_Editor", "Editor:*string"}}.Pack()
		w.tx.Set(key, value)
		return key
	}},
	{"torn chunk", "record/torn-chunk", func(w world) []byte {
		key := w.order("R", "Order", longOrder, 1)
		w.tx.Set(key, w.get(key)[:500])
		return key
	}},
	{"torn last chunk", "record/undecodable", func(w world) []byte {
		key := w.order("R", "Order", longOrder, 2)
		w.tx.Set(key, w.get(key)[:500])
		return w.order("R", "Order", longOrder)
	}},
	{"missing chunk", "record/missing-chunk", func(w world) []byte {
		w.tx.Clear(w.order("R", "Order", longOrder, 1))
		return w.order("R", "Order", longOrder)
	}},
	{"surplus chunk", "record/surplus-chunk", func(w world) []byte {
		key := w.order("R", "Order", anOrder, 1)
		w.tx.Set(key, []byte("x"))
		return key
	}},
	{"lost first value", "index/orphan-entry index/wrong-version record/missing-head", func(w world) []byte {
		key := w.order("R", "Order", longOrder)
		w.tx.Clear(key)
		return key
	}},
	{"wrong header of a record", "record/bad-header", func(w world) []byte {
		key := w.order("R", "Order", anOrder)
		w.tx.Set(key, append([]byte{0}, w.get(key)[1:]...))
		return key
	}},
	{"record of a newer version", "data/newer", func(w world) []byte {
		key := w.order("R", "Order", anOrder)
		w.tx.Set(key, append([]byte{9}, w.get(key)[1:]...))
		return key
	}},
	{"undecodable", "record/undecodable", func(w world) []byte {
		key := w.order("R", "Order", anOrder)
		w.tx.Set(key, append(w.get(key), 0xff))
		return key
	}},
	{"another id", "record/wrong-id", func(w world) []byte {
		key := w.order("R", "Order", anOrder)
		w.tx.Set(key, w.get(w.order("R", "Order", anOrder+1)))
		return key
	}},
	{"another tenant's field", "index/wrong-value record/other-directory", func(w world) []byte {
		key := w.order("R", "Order", anOrder)
		w.tx.Set(key, bytes.Replace(w.get(key), []byte("tenant-1"), []byte("tenant-2"), 1))
		return key
	}},
	{"another shard", "record/wrong-shard", func(w world) []byte {
		at := w.key("tenants/tenant-1/accounts", "R", "Account")
		p := w.first(at)
		rest, err := tuple.Unpack(p.Key[len(at):])
		if err != nil {
			w.t.Fatal(err)
		}
		key := w.key("tenants/tenant-1/accounts", "R", "Account", rest[0].(int64)^1, rest[1])
		w.tx.Set(key, p.Value)
		return key
	}},
	{"key among records", "record/bad-key", func(w world) []byte {
		key := append(w.order("R", "Order"), 0x40)
		w.tx.Set(key, nil)
		return key
	}},
	{"key after the chunks of a record", "record/bad-key", func(w world) []byte {
		key := append(w.order("R", "Order", anOrder), 0xff)
		w.tx.Set(key, nil)
		return key
	}},
	{"header of a newer version", "data/newer", func(w world) []byte {
		return w.header(func(t tuple.Tuple) { t[0], t[1] = int64(9), "v9.0.0" })
	}},
	{"unreadable schema", "store/bad-header", func(w world) []byte {
		return w.header(func(t tuple.Tuple) { t[2] = "type Order\nfield x y\n" })
	}},
	{"missing header", "store/missing-header", func(w world) []byte {
		key := w.order("S", "Order")
		w.tx.Clear(key)
		return key
	}},
	{"stray key of a store", "store/stray-key", func(w world) []byte {
		key := w.order("Q", 1)
		w.tx.Set(key, nil)
		return key
	}},
	{"short feed position", "store/bad-value", func(w world) []byte {
		key := w.order("S", "Order", "feed", "mail")
		w.tx.Set(key, []byte("x"))
		return key
	}},
	{"stray directory", "directory/missing-node", func(w world) []byte {
		key := w.link("stray")
		w.tx.Set(key, []byte{0x16, 0x7f, 0x00})
		return key
	}},
	{"lost layer", "directory/missing-layer", func(w world) []byte {
		m, prefix := w.metadata("events")
		w.tx.Clear(m.LayerKey(prefix))
		return w.link("events")
	}},
	{"lost layer of an empty directory with a subdirectory", "directory/missing-layer", func(w world) []byte {
		m, prefix := w.metadata("kazahana")
		w.tx.Clear(m.LayerKey(prefix))
		return w.link("kazahana")
	}},
	{"lost value of a link", "directory/bad-link", func(w world) []byte {
		key := w.link("stray")
		w.tx.Set(key, nil)
		return key
	}},
	{"value of an allocation", "directory/bad-allocation", func(w world) []byte {
		key := directory.Root().Metadata().AllocationKey(3)
		w.tx.Set(key, []byte("x"))
		return key
	}},
	{"count of the allocator", "directory/bad-allocation", func(w world) []byte {
		begin := directory.Root().Metadata().Windows().Begin
		p := w.first(begin[:len(begin)-1])
		w.tx.Set(p.Key, []byte("x"))
		return p.Key
	}},
	{"duplicate prefix", "directory/shared-prefix", func(w world) []byte {
		_, prefix := w.metadata("events")
		key := w.link("twin")
		w.tx.Set(key, prefix)
		return key
	}},
	{"prefix inside another", "directory/nested-prefix", func(w world) []byte {
		m, prefix := w.metadata("events")
		inner := append(prefix, 0x30)
		w.tx.Set(w.link("inner"), inner)
		w.tx.Set(m.LayerKey(inner), nil)
		return m.LayerKey(inner)
	}},
	{"lost parent", "directory/unlinked-node", func(w world) []byte {
		m, prefix := w.metadata("events")
		w.tx.Clear(w.link("events"))
		return m.LayerKey(prefix)
	}},
	{"bad metadata", "directory/bad-metadata", func(w world) []byte {
		m, prefix := w.metadata("events")
		key := append(m.LayerKey(prefix), 1)
		w.tx.Set(key, nil)
		return key
	}},
	{"directory version", "directory/version", func(w world) []byte {
		key := directory.Root().Metadata().VersionKey()
		w.tx.Set(key, []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		return key
	}},
	{"allocator", "directory/allocator", func(w world) []byte {
		m, prefix := w.metadata("events")
		n, _ := m.Allocated(prefix)
		w.tx.Clear(m.AllocationKey(n))
		return m.AllocationKey(n)
	}},
	{"keys outside of the root's directories", "directory/keys-outside", func(w world) []byte {
		w.tx.Set([]byte("somewhere"), []byte("x"))
		return []byte("somewhere")
	}},
	{"orphan keys of a tenant", "directory/orphan-keys", func(w world) []byte {
		key := append(w.dir("tenants/tenant-1").Reserve().Begin, 0x40)
		w.tx.Set(key, nil)
		return key
	}},
	{"page token key", "system/bad-page-token-key", func(w world) []byte {
		key := w.key("kazahana/persistable", "page token key")
		w.tx.Set(key, []byte("short"))
		return key
	}},
	{"lease beyond its space", "lease/bad-place", func(w world) []byte {
		p := w.first(append(w.key("kazahana/leases", "default"), 'b'))
		key := slices.Concat(p.Key[:len(p.Key)-4], []byte{0xff, 0, 0, 0})
		w.tx.Set(key, seal(key[len(w.key("kazahana/leases", "default")):], `{"bitSeq":5}`))
		return key
	}},
	{"lease checksum", "lease/bad-record", func(w world) []byte {
		p := w.first(append(w.key("kazahana/leases", "default"), 'b'))
		w.tx.Set(p.Key, append(p.Value, ' '))
		return p.Key
	}},
	{"lease without queue", "lease/queue", func(w world) []byte {
		w.tx.Clear(w.first(append(w.key("kazahana/leases", "default"), 'q')).Key)
		return nil
	}},
	{"key among leases", "system/stray-key", func(w world) []byte {
		key := w.key("kazahana/leases", 7)
		w.tx.Set(key, nil)
		return key
	}},
	{"name without fence", "name/missing-fence", func(w world) []byte {
		w.tx.Clear(w.key("kazahana/names", "F", "job"))
		return w.key("kazahana/names", "N", "job")
	}},
	{"name without renewal", "name/missing-renewal", func(w world) []byte {
		w.tx.Clear(w.key("kazahana/names", "N", "job"))
		return w.key("kazahana/names", "F", "job")
	}},
	{"state of a name", "name/bad-state", func(w world) []byte {
		key := w.key("kazahana/names", "F", "job")
		w.tx.Set(key, []byte{1})
		return key
	}},
	{"settings of a tenant", "tenant/bad-settings", func(w world) []byte {
		key := w.dir("tenants/tenant-1").Annotation("kazahana").Sub("settings").Bytes()
		w.tx.Set(key, []byte{1})
		return key
	}},
	{"usage of a tenant", "tenant/wrong-usage", func(w world) []byte {
		note := w.dir("tenants/tenant-3").Annotation("kazahana")
		settings, _ := tuple.Tuple{1, "", "", 1000, 0, 2}.Pack()
		w.tx.Set(note.Sub("settings").Bytes(), settings)
		w.tx.Set(note.Sub("records").Bytes(), kv.Int64(3))
		return note.Sub("records").Bytes()
	}},
}

// seal returns the value of a record of the leases.
func seal(key []byte, text string) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	return fmt.Appendf(nil, "1%08x %s", crc32.Update(crc32.Checksum(key, table), table, []byte(text)), text)
}
