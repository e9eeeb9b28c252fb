// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/index/dynamic/dynamictest"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/kinds"
)

// TestSameBytes: random records that a dynamic store writes, of JSON, have the keys and
// values that generated code writes for the structs: records and entries of all indexes.
func TestSameBytes(t *testing.T) {
	random, engine := seed.Rand(t), enginetest.Open(t)
	db := must[*persistable.DB](t)(persistable.OpenWith(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}))
	defer db.Close()
	generated := kinds.EveryStoreOf(db, "g", 5)
	check(t, generated.CreateWithID(ctx, 1, &kinds.Every{Group: "g", Number: 5, PtrText: new("first")}))
	s := open(t, db, "groups", "g", "5", "every")
	for i := range 150 {
		v := randomEvery(random, i)
		check(t, generated.CreateWithID(ctx, idgen.ID(i+2), v))
		want := stored(t, db)
		seen := must[*dynamic.Record](t)(s.Get(ctx, must[dynamic.ID](t)(s.ParseID(fmt.Sprint(i+2)))))
		text := must[[]byte](t)(json.Marshal(seen))
		check(t, s.Delete(ctx, seen.ID()))
		again, err := s.ParseRecord(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		check(t, s.Create(ctx, again))
		if diff := cmp.Diff(want, stored(t, db)); diff != "" {
			t.Fatalf("%s\nis stored so (-generated code +dynamic store):\n%s", text, diff)
		}
		check(t, generated.Delete(ctx, idgen.ID(i+2)))
	}
}

// stored returns all keys and values of the type, but for tokens and versions, which differ
// from commit to commit.
func stored(t *testing.T, db *persistable.DB) []string {
	all := must[[]string](t)(contents.Of(ctx, db.Engine(), func(_ string, pair kv.KeyValue) kv.KeyValue {
		key := string(pair.Key)
		if strings.Contains(key, "Every_version") || strings.Contains(key, "changed") {
			return kv.KeyValue{}
		}
		if _, isRecord := strings.CutPrefix(key, "\x02R\x00"); isRecord {
			pair.Value = slices.Concat(pair.Value[:2], pair.Value[10:])
		} else if strings.Contains(key, "Every_Texts") {
			pair.Value = slices.Concat(pair.Value[:2], pair.Value[10:])
		}
		return pair
	}))
	return all
}

// randomEvery returns a random record. The package of random structs leaves maps and
// types that marshal themselves alone.
func randomEvery(r *rand.Rand, i int) *kinds.Every {
	v := dynamictest.NewRandom(r, new(kinds.Every)).(*kinds.Every)
	v.Group, v.Number = "g", 5
	if r.IntN(2) == 0 {
		v.Address, v.Packed = netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), netip.IPv6Loopback()
		v.PtrAddr = &v.Address
	}
	if r.IntN(3) == 0 {
		v.PtrAddr = new(netip.Addr)
	}
	v.Names, v.Numbers2 = map[string]string{}, map[string]int64{}
	v.ByInt, v.ByUint, v.ByBool, v.ByID = randomMap(r, v.Int32, v.Time), randomMap(r, v.Uint64, v.Bytes), randomMap(r, v.Bool, v.Double), randomMap(r, v.Ref, v.Inner)
	for range r.IntN(4) {
		v.Names[string(rune('a'+r.IntN(3)))+v.Text] = v.Text
		v.Numbers2[fmt.Sprint(r.IntN(100))] = v.Int64
		v.ByInt[int32(r.IntN(200)-100)] = v.Time
		v.ByUint[r.Uint64()] = nil
		v.ByID[idgen.ID(r.Uint64())] = kinds.Inner{}
	}
	return v
}

func randomMap[K comparable, V any](r *rand.Rand, k K, v V) map[K]V {
	if r.IntN(2) == 0 {
		return map[K]V{k: v}
	}
	return map[K]V{}
}
