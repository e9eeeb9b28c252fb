// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/dynamictest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/kinds"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestParseRecordRefuses: what a record cannot have is an error that names the member, its
// line and what is wanted.
func TestParseRecordRefuses(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	for _, c := range []struct{ text, member, reason string }{
		{`{"Number":`, "Number", "the text ends"},
		{`{"Number":"A"} {}`, "", "something follows"},
		{`[]`, "", "it is a list; wanted is an object"},
		{`{"Number":"A",}`, "", "not JSON"},
		{`{"Numbr":"A"}`, "Numbr", "did you mean Number?"},
		{`{"Number":"A","Number":"B"}`, "Number", "there twice"},
		{`{"Number":7}`, "Number", "it is the number 7; wanted is a text"},
		{`{"Number":null}`, "Number", "cannot be null"},
		{`{"Number":"\ud800"}`, "Number", "half of a character"},
		{"{\"Number\":\"\xff\"}", "", "not valid UTF-8"},
		{`{"Units":-1}`, "Units", "from 0 to 4294967295"},
		{`{"Units":4294967296}`, "Units", "from 0 to 4294967295"},
		{`{"Amount":1.5}`, "Amount", "an integer from -9223372036854775808 to 9223372036854775807"},
		{`{"Done":"true"}`, "Done", "true or false"},
		{`{"CreatedAt":"yesterday"}`, "CreatedAt", "2026-01-31T12:00:00.5Z"},
		{`{"Took":"5"}`, "Took", "1h30m"},
		{`{"Hash":"AAAA"}`, "Hash", "4 bytes in base64"},
		{`{"Key":"123"}`, "Key", "a UUID or a ULID"},
		{`{"Key":"--345678-1234-1234-1234-1234567890--"}`, "Key", "a UUID or a ULID"},
		{`{"Key":"------------------------------------"}`, "Key", "a UUID or a ULID"},
		{`{"ID":"x"}`, "ID", "decimal digits"},
		{`{"Tags":"a"}`, "Tags", "wanted is a list"},
		{`{"Tags":["a",null]}`, "Tags[1]", "it is null"},
		{`{"Address":{"Zip":5}}`, "Address.Zip", "it is the number 5"},
		{`{"Lines":[{},{"Price":"x"}]}`, "Lines[1].Price", "an integer"},
		{`{"Notes":{"a":"1","a":"2"}}`, "Notes", "the key a is there twice"},
		{`{"Notes":{"a":{}}}`, "Notes[a]", "it is an object; wanted is a text"},
	} {
		_, err := s.ParseRecord([]byte("\n\n" + c.text))
		var fault *dynamic.ValueError
		if !errors.As(err, &fault) || fault.Member != c.member || !strings.Contains(fault.Reason, c.reason) || fault.Line != 3 {
			t.Errorf("%s: %v; want %s: %s", c.text, err, c.member, c.reason)
		}
	}
}

// TestParseRecordFills: missing members have the values that records without them have.
func TestParseRecordFills(t *testing.T) {
	db := seeded(t)
	r := must[*dynamic.Record](t)(open(t, db, "tenants", "tenant-2", "accounts").ParseRecord([]byte(`{"Email":"a@b"}`)))
	const want = `{"ID":"","TenantID":"tenant-2","Email":"a@b","Level":0,"Name":null,"Plan":"free"}`
	if got := must[[]byte](t)(json.Marshal(r)); string(got) != want || !r.ID().IsZero() {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestIDs: ids of all kinds as text, and back.
func TestIDs(t *testing.T) {
	db := seeded(t)
	for _, path := range [][]string{{"counters"}, {"events"}, {"settings"}, {"tenants", "tenant-1", "accounts"}} {
		s := open(t, db, path...)
		for r, err := range s.Scan().All(ctx) {
			check(t, err)
			if id, err := s.ParseID(r.ID().String()); id != r.ID() || err != nil {
				t.Errorf("%v: %s becomes %s, %v", path, r.ID(), id, err)
			}
		}
	}
	events := open(t, db, "events")
	if a, b := must[dynamic.ID](t)(events.ParseID("019ca8a0-3ee7-0000-0000-000000000067")), must[dynamic.ID](t)(events.ParseID("01KJMA0FQ70000000000000037")); a != b {
		t.Errorf("%v, %v", a, b)
	}
	if _, err := open(t, db, "counters").ParseID("x"); err == nil || !strings.Contains(err.Error(), "an integer from") {
		t.Error(err)
	}
}

// TestMadeIDs: Create makes ids where the code of persistgen does.
func TestMadeIDs(t *testing.T) {
	db := seeded(t)
	for _, c := range []struct {
		path []string
		text string
		made bool
	}{
		{[]string{"tenants", "tenant-1", "orders"}, `{"Number":"x"}`, true},
		{[]string{"tenants", "tenant-1", "accounts"}, `{"Email":"x"}`, true},
		{[]string{"events"}, `{}`, true},
		{[]string{"counters"}, `{}`, false},
	} {
		s := open(t, db, c.path...)
		r := must[*dynamic.Record](t)(s.ParseRecord([]byte(c.text)))
		err := s.Create(ctx, r)
		if s.Schema().MadeIDs != c.made || (err == nil) != c.made || !c.made && !errors.Is(err, persistable.ErrNoID) {
			t.Errorf("%v: %v", c.path, err)
		}
		if c.made {
			must[*dynamic.Record](t)(s.Get(ctx, r.ID()))
		}
	}
}

// TestSameBytes: random records that a dynamic store writes, of JSON, have the keys and
// values that generated code writes for the structs: records and entries of all indexes.
func TestSameBytes(t *testing.T) {
	random, engine := seed.Rand(t), enginetest.Open(t)
	db := must[*persistable.DB](t)(persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}))
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
	if r.IntN(2) == 0 {
		v.Grade, v.Grades, v.PtrGrade = kinds.Good, []kinds.Grade{kinds.Poor, 0, kinds.Good}, new(kinds.Poor)
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

// TestNaN: a query finds every NaN, whatever processor made it. An entry that an earlier
// version wrote for a NaN with its sign set is a fault, which Verify finds and Repair mends.
func TestNaN(t *testing.T) {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}}))
	defer db.Close()
	s := kinds.EveryStoreOf(db, "g", 5)
	quiet := math.Float64frombits(0x7ff8 << 48)
	for i, v := range []float64{math.Inf(1), math.NaN(), quiet, -quiet} {
		check(t, s.CreateWithID(ctx, idgen.ID(i+1), &kinds.Every{Group: "g", Number: 5, Double: v}))
	}
	finds := func(want int) {
		t.Helper()
		if n := must[int](t)(s.ByMaybeTextDouble(nil).Equal(math.NaN()).Count(ctx)); n != want {
			t.Errorf("there are %d entries of NaN, want %d", n, want)
		}
	}
	finds(3)
	if first := must[*kinds.Every](t)(s.ByMaybeTextDouble(nil).First(ctx)); !math.IsNaN(first.Double) {
		t.Errorf("the highest value is %v, want NaN", first.Double)
	}
	sound(t, s.Indexes())
	check(t, moveEntry(db, index.Descend(index.AppendFloat64(nil, quiet), 0), index.Descend(tuple.AppendFloat64(nil, -quiet), 0)))
	finds(2)
	report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{Repair: true}))
	if report.Repaired != 2 || len(report.Faults) != 2 {
		t.Errorf("%+v", report)
	}
	finds(3)
	sound(t, s.Indexes())
}

// moveEntry replaces part of the last key that contains it.
func moveEntry(db *persistable.DB, part, with []byte) error {
	return db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		pairs, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(ctx)
		if err != nil {
			return err
		}
		for _, pair := range slices.Backward(pairs) {
			if bytes.Contains(pair.Key, part) {
				tx.Clear(pair.Key)
				tx.Set(bytes.Replace(pair.Key, part, with, 1), pair.Value)
				return nil
			}
		}
		return fmt.Errorf("no key contains %x", part)
	})
}
