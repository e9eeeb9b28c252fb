// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/kinds"
)

// bounded returns a store of bounded records, with one that has the id 1, as a program and as tools have it.
func bounded(t *testing.T) (*persistable.DB, *kinds.GaugeStore, *dynamic.Store) {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}}))
	t.Cleanup(func() { db.Close() })
	s := kinds.GaugeStoreOf(db)
	check(t, s.CreateWithID(ctx, 1, &kinds.Gauge{Float: 0.5}))
	return db, s, open(t, db, "bounded")
}

// TestBounds: a value that breaks a bound is refused, by the code of persistgen and by a dynamic
// store, with an error that names the field, the value and the bound. One at the bound is not.
func TestBounds(t *testing.T) {
	_, s, tool := bounded(t)
	for want, set := range map[string]func(*kinds.Gauge){
		"Int: it is -3, which min=-2 refuses":                 func(v *kinds.Gauge) { v.Int = -3 },
		"Int: it is 4, which max=3 refuses":                   func(v *kinds.Gauge) { v.Int = 4 },
		"Uint: it is 10, which max=9 refuses":                 func(v *kinds.Gauge) { v.Uint = 10 },
		"Float: it is 0.09, which min=0.1 refuses":            func(v *kinds.Gauge) { v.Float = 0.09 },
		"Float: it is NaN, which min=0.1 refuses":             func(v *kinds.Gauge) { v.Float = float32(math.NaN()) },
		"Double: it is -2, which min=-1.5 refuses":            func(v *kinds.Gauge) { v.Double = new(-2.0) },
		"Took: it is 1m1s, which max=1m0s refuses":            func(v *kinds.Gauge) { v.Took = 61 * time.Second },
		"Text: it has 5 characters, which maxlen=4 refuses":   func(v *kinds.Gauge) { v.Text = "äöüäö" },
		`Text: it is "A", which match=^[a-zäöü,]*$ refuses`:   func(v *kinds.Gauge) { v.Text = "A" },
		"Bytes: it has 3 bytes, which maxlen=2 refuses":       func(v *kinds.Gauge) { v.Bytes = []byte("abc") },
		"Texts: it has 3 elements, which maxlen=2 refuses":    func(v *kinds.Gauge) { v.Texts = []string{"", "", ""} },
		`Texts[1]: it is "abc", which match=^.{0,2}$ refuses`: func(v *kinds.Gauge) { v.Texts = []string{"ab", "abc"} },
		"ByName: it has 3 elements, which maxlen=2 refuses":   func(v *kinds.Gauge) { v.ByName = map[string]kinds.Grade{"a": 1, "b": 1, "c": 1} },
		"ByName[a]: it is -3, which min=-2 refuses":           func(v *kinds.Gauge) { v.ByName = map[string]kinds.Grade{"a": -3} },
		"Part.Number: it is -2, which min=-1 refuses":         func(v *kinds.Gauge) { v.Part.Number = -2 },
		"Part.Next.Number: it is -2, which min=-1 refuses":    func(v *kinds.Gauge) { v.Part.Next = &kinds.Part{Number: -2} },
		"Parts[1].Number: it is -2, which min=-1 refuses":     func(v *kinds.Gauge) { v.Parts = []kinds.Part{{}, {Number: -2}} },
		"Maybe.Number: it is -2, which min=-1 refuses":        func(v *kinds.Gauge) { v.Maybe = &kinds.Part{Number: -2} },
		"ByInt[7].Number: it is -2, which min=-1 refuses":     func(v *kinds.Gauge) { v.ByInt = map[int64]kinds.Part{7: {Number: -2}} },
	} {
		v := &kinds.Gauge{ID: 2, Float: 0.5}
		set(v)
		r := recordLike(t, tool, v)
		for by, err := range map[string]error{"a program": s.Create(ctx, v), "a tool": tool.Create(ctx, r)} {
			var fault *persistable.FieldError
			if !errors.Is(err, persistable.ErrRefused) || !errors.As(err, &fault) || fault.Type != "Gauge" || !strings.HasSuffix(fault.Error(), "Gauge."+want) {
				t.Errorf("%s gets %v, want %s", by, err, want)
			}
		}
	}
	atBounds := &kinds.Gauge{ID: 2, Int: 3, Uint: 9, Float: 0.7, Double: new(-1.5), Took: time.Minute, Text: "ä,ö,", Bytes: []byte("ab"), Texts: []string{"ab", "äö"}, Part: kinds.Part{Number: -1}}
	check(t, s.Create(ctx, atBounds))
	check(t, tool.Save(ctx, recordLike(t, tool, atBounds)))
	check(t, s.CreateWithID(ctx, 3, &kinds.Gauge{Int: -2, Float: 0.1}))
}

// recordLike returns a record with the values of a struct.
func recordLike(t *testing.T, s *dynamic.Store, v *kinds.Gauge) *dynamic.Record {
	t.Helper()
	text := must[[]byte](t)(json.Marshal(map[string]any{
		"ID": v.ID, "Int": v.Int, "Uint": v.Uint, "Float": strconv.FormatFloat(float64(v.Float), 'g', -1, 32), "Double": v.Double, "Took": v.Took.String(), "Text": v.Text,
		"Bytes": append([]byte{}, v.Bytes...), "Texts": v.Texts, "ByName": v.ByName, "Part": v.Part, "Parts": v.Parts, "Maybe": v.Maybe, "ByInt": v.ByInt,
	}))
	return must[*dynamic.Record](t)(s.ParseRecord(text))
}

// TestBoundsOfVerbs: every verb that writes a record checks its bounds, and writes nothing of one that
// breaks them.
func TestBoundsOfVerbs(t *testing.T) {
	db, s, _ := bounded(t)
	bad := func(id int64) *kinds.Gauge { return &kinds.Gauge{ID: id, Float: 0.5, Int: 9} }
	for verb, write := range map[string]func() error{
		"Create":       func() error { return s.Create(ctx, bad(2)) },
		"CreateWithID": func() error { return s.CreateWithID(ctx, 2, bad(0)) },
		"CreateMany":   func() error { return s.CreateMany(ctx, []*kinds.Gauge{bad(2)}, persistable.BatchOptions{}) },
		"Save":         func() error { return s.Save(ctx, bad(1)) },
		"SaveExisting": func() error { return s.SaveExisting(ctx, bad(1)) },
		"Update":       func() error { return s.Update(ctx, 1, func(v *kinds.Gauge) error { v.Int = 9; return nil }) },
		"SaveIfUnchanged": func() error {
			return s.SaveIfUnchanged(ctx, must[*kinds.Gauge](t)(s.Get(ctx, 1)), bad(1))
		},
		"Transact": func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Save(ctx, bad(1)) })
		},
	} {
		if err := write(); !errors.Is(err, persistable.ErrRefused) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if n := must[int](t)(s.Scan().Count(ctx)); n != 1 || must[*kinds.Gauge](t)(s.Get(ctx, 1)).Int != 0 {
		t.Errorf("something was written: %d records", n)
	}
}

// TestRandomBounds: the code of persistgen and a dynamic store refuse the same random records.
func TestRandomBounds(t *testing.T) {
	_, s, tool := bounded(t)
	r := seed.Rand(t)
	refused := 0
	for range 300 {
		v := randomBounded(r)
		byCode, byTool := s.Save(ctx, v), tool.Save(ctx, recordLike(t, tool, v))
		if (byCode == nil) != (byTool == nil) {
			t.Fatalf("%+v: the program gets %v, the tool %v", v, byCode, byTool)
		}
		if byCode != nil {
			refused++
		}
	}
	if refused < 30 || refused > 270 {
		t.Errorf("%d of 300 records were refused", refused)
	}
}

func randomBounded(r *rand.Rand) *kinds.Gauge {
	v := &kinds.Gauge{ID: 1, Int: int8(r.IntN(7) - 2), Uint: uint16(r.IntN(10)), Float: float32(r.IntN(7)+1) / 10, Took: time.Duration(r.IntN(62)) * time.Second}
	for range r.IntN(6) {
		v.Text += []string{"a", "ö", ","}[r.IntN(3)]
	}
	for range r.IntN(4) {
		v.Texts = append(v.Texts, "abc"[:r.IntN(3)])
		v.Parts = append(v.Parts, kinds.Part{Number: int64(r.IntN(20) - 2)})
	}
	return v
}

// TestOldBounds: a stored value that breaks a bound can be read, and the next write must mend it.
func TestOldBounds(t *testing.T) {
	db, s, tool := bounded(t)
	check(t, s.Save(ctx, &kinds.Gauge{ID: 1, Int: 3, Float: 0.5}))
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		pairs, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(ctx)
		for _, pair := range pairs {
			if bytes.Contains(pair.Key, []byte("\x02R\x00\x02Gauge\x00")) {
				tx.Set(pair.Key, bytes.Replace(pair.Value, []byte{2 << 3, 3 << 1}, []byte{2 << 3, 9 << 1}, 1))
			}
		}
		return err
	}))
	if v := must[*kinds.Gauge](t)(s.Get(ctx, 1)); v.Int != 9 {
		t.Fatalf("%+v", v)
	}
	for by, err := range map[string]error{
		"a program": s.Update(ctx, 1, func(v *kinds.Gauge) error { v.Text = "a"; return nil }),
		"a tool":    tool.Save(ctx, must[*dynamic.Record](t)(tool.Get(ctx, must[dynamic.ID](t)(tool.ParseID("1"))))),
	} {
		if !errors.Is(err, persistable.ErrRefused) {
			t.Errorf("%s: %v", by, err)
		}
	}
	check(t, s.Update(ctx, 1, func(v *kinds.Gauge) error { v.Int = 3; return nil }))
}
