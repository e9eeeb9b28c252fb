// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"time"
)

// leaseDamages are damages of the leases of machine ids. The seeded database has 64 blocks
// of 256 positions from a random one on, the first of which is leased.
var leaseDamages = []damage{
	{"larger block", "lease/overlap", func(w world) []byte {
		at := w.start()&^511 + 512
		w.dropBlock(at)
		return w.setBlock(at, 9)
	}},
	{"lost block", "lease/gap", func(w world) []byte {
		w.dropBlock(w.start() + 512)
		return w.block(w.start() + 256)
	}},
	{"frontier set back", "lease/frontier", func(w world) []byte {
		last := w.start() + 63*256
		w.lease([]byte("f"), func(r map[string]any) { r["next"] = last })
		return w.block(last)
	}},
	{"entry in the queue without its block", "lease/stray-entry", func(w world) []byte {
		after := w.start() + 64*256
		w.tx.Set(w.queueKey(after, 8), []byte("1"))
		return w.queueKey(after, 8)
	}},
	{"request without end", "lease/request", func(w world) []byte {
		w.tx.Clear(w.first(w.inLeases([]byte("x"))).Key)
		return w.first(w.inLeases([]byte("r"))).Key
	}},
	{"lease that is not charged", "lease/charge", func(w world) []byte {
		return w.holder(w.start(), func(h map[string]any) {
			h["charge"] = map[string]any{"account": "4509beb0ab401d71fa4a5cd94a55c9a7", "until": h["expired"]}
		})
	}},
	{"lease that ends", "lease/ending", func(w world) []byte {
		w.holder(w.start(), func(h map[string]any) { h["expired"] = time.Now().Add(endsSoon / 2).UnixMilli() })
		return nil
	}},
	{"service in removal", "lease/unsettled", func(w world) []byte {
		return w.lease([]byte("s"), func(r map[string]any) { r["unsettled"] = true })
	}},
	{"grants from tomorrow", "clock/ahead", func(w world) []byte {
		return w.lease([]byte("s"), func(r map[string]any) { r["latest"] = time.Now().Add(24 * time.Hour).UnixMilli() })
	}},
}

// endsSoon is within what the doctor takes for soon.
const endsSoon = time.Minute

// inLeases packs a key of the default service.
func (w world) inLeases(key []byte) []byte {
	return append(w.key("kazahana/leases", "default"), key...)
}

// lease changes a record of the default service.
func (w world) lease(key []byte, change func(map[string]any)) []byte {
	w.t.Helper()
	at := w.inLeases(key)
	d := json.NewDecoder(bytes.NewReader(w.get(at)[10:]))
	d.UseNumber()
	record := map[string]any{}
	check(w.t, d.Decode(&record))
	change(record)
	text, err := json.Marshal(record)
	check(w.t, err)
	w.tx.Set(at, seal(key, string(text)))
	return at
}

// start returns the position of the first block.
func (w world) start() (base uint32) {
	w.t.Helper()
	w.lease([]byte("f"), func(r map[string]any) {
		if start, ok := r["start"].(json.Number); ok { // 0 is left out
			n, err := start.Int64()
			check(w.t, err)
			base = uint32(n)
		}
	})
	return base
}

// holder changes the holder of a block.
func (w world) holder(base uint32, change func(map[string]any)) []byte {
	return w.lease(blockKey(base), func(r map[string]any) { change(r["holder"].(map[string]any)) })
}

func blockKey(base uint32) []byte { return binary.BigEndian.AppendUint32([]byte("b"), base) }

func (w world) block(base uint32) []byte { return w.inLeases(blockKey(base)) }

// queueKey is the key of the entry in the queue of a block that was never leased.
func (w world) queueKey(base uint32, bitSeq int) []byte {
	q := append([]byte{'q', byte(bitSeq)}, make([]byte, 8)...)
	return w.inLeases(binary.BigEndian.AppendUint32(q, bits.Reverse32(base>>bitSeq)))
}

// dropBlock removes a block of 256 positions that was never leased.
func (w world) dropBlock(base uint32) {
	w.get(w.queueKey(base, 8))
	w.tx.Clear(w.block(base))
	w.tx.Clear(w.queueKey(base, 8))
}

// setBlock writes a block that was never leased.
func (w world) setBlock(base uint32, bitSeq int) []byte {
	text, err := json.Marshal(map[string]int{"bitSeq": bitSeq})
	check(w.t, err)
	w.tx.Set(w.block(base), seal(blockKey(base), string(text)))
	w.tx.Set(w.queueKey(base, bitSeq), []byte("1"))
	return w.block(base)
}
