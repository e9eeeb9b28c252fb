// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// examineAll examines a service in batches of so many keys.
func examineAll(store lease.Store, service string, now time.Time, limit int) (faults []lease.Fault, last lease.Examination, err error) {
	ctx := context.Background()
	for after, more := []byte(nil), true; more; {
		err := store.Update(ctx, service, func(tx lease.Tx) (err error) {
			last, err = lease.Examine(ctx, tx, lease.ExamineOptions{Service: service, After: after, Limit: limit, Now: now, Soon: time.Minute})
			return err
		})
		if err != nil {
			return faults, last, err
		}
		faults = append(faults, last.Faults...)
		after, more = last.Next, last.Next != nil
	}
	return faults, last, nil
}

// TestExamineFinds makes each fault by hand, and finds it, and no other.
func TestExamineFinds(t *testing.T) {
	now := time.UnixMilli(idgen.DefaultCustomEpoch + 1_000_000)
	for name, c := range map[string]struct {
		damage func(tx lease.Tx, all map[string]string)
		want   string // the faults
	}{
		"nothing": {func(lease.Tx, map[string]string) {}, ""},
		"checksum": {func(tx lease.Tx, all map[string]string) {
			tx.Set(key("b00000008"), []byte(all[string(key("b00000008"))]+" "))
		}, "record"},
		"format":         {func(tx lease.Tx, _ map[string]string) { tx.Set(key("b00000008"), []byte("2")) }, "record"},
		"beyond space":   {func(tx lease.Tx, _ map[string]string) { setBlock(tx, 64, 3) }, "place"},
		"not aligned":    {func(tx lease.Tx, _ map[string]string) { setBlock(tx, 8, 5) }, "place queue"},
		"overlap":        {func(tx lease.Tx, _ map[string]string) { setBlock(tx, 0, 4) }, "overlap"},
		"gap":            {func(tx lease.Tx, _ map[string]string) { drop(tx, 8) }, "gap"},
		"first gap":      {func(tx lease.Tx, _ map[string]string) { drop(tx, 0) }, "gap"},
		"frontier":       {func(tx lease.Tx, _ map[string]string) { set(tx, key("f"), `{"next":8,"sizes":8}`) }, "frontier"},
		"far frontier":   {func(tx lease.Tx, _ map[string]string) { set(tx, key("f"), `{"next":32,"sizes":8}`) }, "gap"},
		"no queue":       {func(tx lease.Tx, all map[string]string) { tx.Delete(first(all, 'q')) }, "queue"},
		"no block":       {func(tx lease.Tx, _ map[string]string) { tx.Set(key("q03000000000000000000000020"), []byte("1")) }, "queue"},
		"request":        {func(tx lease.Tx, all map[string]string) { tx.Delete(first(all, 'x')) }, "request"},
		"forgotten":      {func(tx lease.Tx, all map[string]string) { tx.Delete(first(all, 'r')) }, ""},
		"charge":         {func(tx lease.Tx, all map[string]string) { tx.Delete(first(all, 'a')) }, "charge"},
		"no such key":    {func(tx lease.Tx, _ map[string]string) { tx.Set([]byte("z"), []byte("1")) }, "record"},
		"service":        {func(tx lease.Tx, _ map[string]string) { tx.Set(key("s"), []byte("1")) }, "record"},
		"no service":     {func(tx lease.Tx, _ map[string]string) { tx.Delete(key("s")) }, "record"},
		"longer key":     {func(tx lease.Tx, _ map[string]string) { tx.Set(key("r00"), []byte("1")) }, "record"},
		"value of queue": {func(tx lease.Tx, all map[string]string) { tx.Set(first(all, 'q'), []byte("2")) }, "record"},
	} {
		store := newExamined(t, now)
		var kinds []string
		all := map[string]string{}
		err := store.Update(t.Context(), lease.DefaultService, func(tx lease.Tx) error {
			pairs, err := tx.Scan(t.Context(), []byte{0}, []byte{0xff}, 1000)
			for _, p := range pairs {
				all[string(p.Key)] = string(p.Value)
			}
			c.damage(tx, all)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for limit := 2; limit < 20; limit += 5 {
			faults, _, err := examineAll(store, lease.DefaultService, now, limit)
			if err != nil {
				t.Fatal(err)
			}
			kinds = nil
			for _, f := range faults {
				kinds = append(kinds, string(f.Kind))
			}
			if got := strings.Join(kinds, " "); got != c.want {
				t.Errorf("%s, %d at a time: %v, want %s", name, limit, faults, c.want)
			}
		}
	}
}

// newExamined returns a store with two blocks of 8 positions; one is leased under a request
// key and a budget.
func newExamined(t *testing.T, now time.Time) lease.Store {
	t.Helper()
	for {
		if store, machine := tryExamined(t, now); machine == 0 {
			return store
		}
	}
}

// tryExamined is newExamined for blocks that begin at a random one, which it returns.
func tryExamined(t *testing.T, now time.Time) (store lease.Store, machine int64) {
	t.Helper()
	store = memory.NewStore(func() time.Time { return now })
	server, err := lease.NewServer(store, lease.Options{Fresh: true, Default: lease.ServiceConfig{Layout: smallLayout(3)}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := refusal.WithBudget(t.Context(), &refusal.Budget{Account: "a", PerMs: 100})
	leases, err := server.Acquire(ctx, idgen.AcquireRequest{RequestKey: "boot", Throughput: 8})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Acquire(t.Context(), idgen.AcquireRequest{Throughput: 8}); err != nil {
		t.Fatal(err)
	}
	return store, leases[0].ID
}

// key makes a key of a letter and hexadecimal digits.
func key(text string) []byte {
	var rest []byte
	if _, err := fmt.Sscanf(text[1:], "%x", &rest); err != nil && len(text) > 1 {
		panic(err)
	}
	return append([]byte{text[0]}, rest...)
}

// first returns the first key of a letter.
func first(all map[string]string, letter byte) (found []byte) {
	for k := range all {
		if k[0] == letter && (found == nil || bytes.Compare([]byte(k), found) < 0) {
			found = []byte(k)
		}
	}
	return found
}

// set writes a record with its checksum.
func set(tx lease.Tx, key []byte, text string) {
	sum := crc32.Update(crc32.Checksum(key, crc32.MakeTable(crc32.Castagnoli)), crc32.MakeTable(crc32.Castagnoli), []byte(text))
	tx.Set(key, fmt.Appendf(nil, "1%08x %s", sum, text))
}

// setBlock writes a block that was never granted, and its entry in the queue.
func setBlock(tx lease.Tx, base uint32, bitSeq int) {
	drop(tx, base)
	text, _ := json.Marshal(map[string]int{"bitSeq": bitSeq})
	set(tx, binary.BigEndian.AppendUint32([]byte{'b'}, base), string(text))
	q := append([]byte{'q', byte(bitSeq)}, make([]byte, 8)...)
	tx.Set(binary.BigEndian.AppendUint32(q, bits.Reverse32(base>>bitSeq)), []byte("1"))
}

// drop removes a block with its entry in the queue.
func drop(tx lease.Tx, base uint32) {
	pairs, _ := tx.Scan(context.Background(), []byte{'q'}, []byte{'r'}, 100)
	tx.Delete(binary.BigEndian.AppendUint32([]byte{'b'}, base))
	for _, p := range pairs {
		at := binary.BigEndian.Uint32(p.Key[10:])
		if binary.BigEndian.Uint64(p.Key[2:10]) == 0 {
			at = bits.Reverse32(at) << p.Key[1]
		}
		if at == base {
			tx.Delete(p.Key)
		}
	}
}
