// SPDX-License-Identifier: Apache-2.0

package deployed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/deployed"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

// now is in a period of every kind: the end of a year in UTC.
func now() time.Time { return time.Date(2026, 12, 31, 23, 59, 0, 0, time.FixedZone("", -3600)).UTC() }

// write returns a folder with files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "configs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(dir, name+".json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// plan plans a folder.
func plan(t *testing.T, files map[string]string, o deployed.Options) (*deployed.Plan, error) {
	t.Helper()
	folder, err := deployed.Read(write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	o.Now = now
	return folder.Plan(o)
}

// increment is the configuration of an increment key.
func increment(name string, start, step, low, high int64) string {
	return fmt.Sprintf(`{"name": %q, "start": %d, "step": %d, "min": %d, "max": %d}`, name, start, step, low, high)
}

// at is a sequence that gives a number next.
func at(next int64) string { return fmt.Sprintf(`{"current_value": %d}`, next) }

// TestPlan has the values of sequences.
func TestPlan(t *testing.T) {
	const top = math.MaxInt64
	for _, test := range []struct {
		name   string
		files  map[string]string
		o      deployed.Options
		values map[string]int64
	}{
		{"margin", map[string]string{"configs/increment/a": increment("a", 1, 3, 1, top), "sequences/a": at(301)}, deployed.Options{Margin: 10}, map[string]int64{"a": 298 + 30}},
		{"standard margin", map[string]string{"configs/increment/a": increment("a", 1, 1, 1, top), "sequences/a": at(1)}, deployed.Options{}, map[string]int64{"a": 1000}},
		{"descending", map[string]string{"configs/increment/a": increment("a", 0, -2, -50, 0), "sequences/a": at(-20)}, deployed.Options{Margin: 10}, map[string]int64{"a": -18 - 20}},
		{"near its end", map[string]string{"configs/increment/a": increment("a", 0, -2, -31, 0), "sequences/a": at(-20)}, deployed.Options{Margin: 10}, map[string]int64{"a": -30}},
		{"at its end", map[string]string{"configs/increment/a": increment("a", 1, 1, 1, 5), "sequences/a": at(6)}, deployed.Options{}, map[string]int64{"a": 5}},
		{"at the end of all numbers", map[string]string{"configs/increment/a": increment("a", 1, 1, 1, top), "sequences/a": at(top)}, deployed.Options{}, map[string]int64{"a": top}},
		{"name of a file", map[string]string{"configs/increment/a_b_c": increment("a.b c", 1, 1, 1, top), "sequences/a_b_c": at(11)}, deployed.Options{Margin: 1}, map[string]int64{"a.b c": 11}},
		{"name that is told", map[string]string{"configs/increment/a": increment("a", 1, 1, 1, top)}, deployed.Options{Next: map[string]int64{"a": 77}}, map[string]int64{"a": 76}},
		{"formatted", map[string]string{"configs/formatted/f": `{"name": "f", "pattern": "{SEQ:4}", "sequence_reset": "never"}`, "sequences/f": at(21)}, deployed.Options{Margin: 5}, map[string]int64{"f#0": 25}},
		{
			"periods",
			map[string]string{
				"configs/formatted/d":  `{"name": "d", "pattern": "{YYYY}{MM}{DD}-{SEQ:4}", "sequence_reset": "daily"}`,
				"configs/formatted/m":  `{"name": "m", "pattern": "{YYYY}{MM}-{SEQ:4}", "sequence_reset": "monthly"}`,
				"configs/formatted/y":  `{"name": "y", "pattern": "{YYYY}-{SEQ:4}", "sequence_reset": "yearly"}`,
				"sequences/d_20261231": at(5), "sequences/d_20270101": at(2), "sequences/m_202701": at(9), "sequences/y_2027": at(3),
				"sequences/d_2026": at(1), "sequences/m_202713": at(1), "sequences/y": at(1),
			},
			deployed.Options{Margin: 1, Next: map[string]int64{"m": 100}},
			map[string]int64{"d#0:2026-12-31": 5, "d#0:2027-01-01": 2, "m#0:2027-01": 99, "y#0:2027": 3},
		},
		{"without numbers", map[string]string{"configs/formatted/u": `{"name": "u", "pattern": "{UUID}", "sequence_reset": "never"}`}, deployed.Options{}, map[string]int64{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := plan(t, test.files, test.o)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for _, k := range p.Keys {
				for _, q := range k.Sequences {
					got[q.Name] = q.Value
				}
			}
			if !reflect.DeepEqual(got, test.values) {
				t.Errorf("%v, want %v", got, test.values)
			}
		})
	}
}

// TestFaults wants all faults, each with its file.
func TestFaults(t *testing.T) {
	files := map[string]string{
		"configs/increment/torn": `{"name": "to`, "configs/increment/zero": increment("zero", 1, 0, 1, 5),
		"configs/increment/key": increment("what?", 1, 1, 1, 5), "sequences/what_": at(1),
		"configs/increment/both": increment("both", 1, 1, 1, 5), "sequences/both": at(1),
		"configs/formatted/both":    `{"name": "both", "pattern": "{SEQ:4}"}`,
		"configs/increment/missing": increment("missing", 1, 1, 1, 5),
		"configs/increment/empty":   increment("empty", 1, 1, 1, 5), "sequences/empty": "",
		"configs/increment/null": increment("null", 1, 1, 1, 5), "sequences/null": "{}",
		"configs/increment/low": increment("low", math.MinInt64+10, 10, math.MinInt64, 5), "sequences/low": at(math.MinInt64),
	}
	_, err := plan(t, files, deployed.Options{})
	for _, want := range []string{
		"increment/torn.json: ", "increment/zero.json: step", "increment/key.json: name", "formatted/both.json has the key \"both\"|increment/both.json has the key \"both\"",
		"missing.json: its sequence is missing", "sequences/empty.json: it is torn", "sequences/null.json: it has no current_value", "sequences/low.json: ",
	} {
		found := false
		for _, w := range strings.Split(want, "|") {
			found = found || strings.Contains(fmt.Sprint(err), filepath.FromSlash(w))
		}
		if !found {
			t.Errorf("no fault %q in:\n%v", want, err)
		}
	}
	p, err := plan(t, files, deployed.Options{Skip: []string{"torn", "zero", "what?", "both", "missing", "empty", "null", "low"}})
	if err != nil || len(p.Keys) > 0 {
		t.Errorf("all are left out: %v, %v", p.Keys, err)
	}
}

// TestApplyAgain interrupts the plan at each call of the store, before and after
// it is made, and repeats it: all keys are there, as planned.
func TestApplyAgain(t *testing.T) {
	files := map[string]string{
		"configs/increment/a": increment("a", 1, 1, 1, math.MaxInt64), "sequences/a": at(5),
		"configs/increment/b": increment("b", 0, -1, math.MinInt64, 0), "sequences/b": at(-5),
		"configs/formatted/f": `{"name": "f", "pattern": "{SEQ:4}", "sequence_reset": "never"}`, "sequences/f": at(5),
	}
	for _, lose := range []bool{false, true} {
		for at := 0; ; at++ {
			p, err := plan(t, files, deployed.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s, calls := storetest.Memory(t), 0
			faulty := storetest.Faulty(s, func(storetest.Call) storetest.Fault {
				calls++
				return storetest.Fault{Fail: calls-1 == at && !lose, Lose: calls-1 == at && lose}
			})
			if _, err := p.Apply(t.Context(), faulty); err == nil {
				if at < 12 {
					t.Fatalf("only %d calls", at)
				}
				break
			} else if !errors.Is(err, storetest.ErrFault) {
				t.Fatalf("call %d: %v", at, err)
			}
			if _, err := p.Apply(t.Context(), s); err != nil {
				t.Errorf("call %d, lost %v: again: %v", at, lose, err)
			}
			checkApplied(t, s, p)
		}
	}
}

func checkApplied(t *testing.T, s store.Store, p *deployed.Plan) {
	t.Helper()
	done, err := p.Check(context.Background(), s)
	for _, k := range p.Keys {
		if !done[k.Config.Key] {
			t.Errorf("%s is not there", k.Config.Key)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestApplyAfterPeriodEnds repeats a plan after a worker has removed the sequence of a period that is over. One of a period
// that is not over is missing.
func TestApplyAfterPeriodEnds(t *testing.T) {
	p, err := plan(t, map[string]string{
		"configs/formatted/f": `{"name": "f", "pattern": "{YYYY}{MM}{DD}-{SEQ:4}", "sequence_reset": "daily"}`, "sequences/f_20261130": at(5), "sequences/f_20261231": at(7),
	}, deployed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := storetest.Memory(t)
	if _, err := p.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if found, err := s.DeleteSequence(t.Context(), "f#0:2026-11-30"); !found || err != nil {
		t.Fatalf("the plan has made %v: %v, %v", p.Keys[0].Sequences, found, err)
	}
	periods := store.Document{Key: "f#0:date", Value: []byte(`{"open":["2026-12-31"],"floor":"2026-11-30"}`)}
	if _, err := s.Put(t.Context(), store.Periods, periods); err != nil {
		t.Fatal(err)
	}
	checkApplied(t, s, p)
	if found, err := s.DeleteSequence(t.Context(), "f#0:2026-12-31"); !found || err != nil {
		t.Fatal(found, err)
	}
	if _, err := p.Check(t.Context(), s); err == nil || !strings.Contains(err.Error(), "lacks its sequence f#0:2026-12-31") {
		t.Errorf("a sequence of the present period is missing: %v", err)
	}
}

// TestNothingOfTheStoreIsTouched has stores with keys of their own.
func TestNothingOfTheStoreIsTouched(t *testing.T) {
	files := map[string]string{
		"configs/increment/a": increment("a", 1, 1, 1, math.MaxInt64), "sequences/a": at(5),
		"configs/increment/b": increment("b", 1, 1, 1, math.MaxInt64), "sequences/b": at(5),
	}
	for name, prepare := range map[string]func(s store.Store) error{
		"sequence": func(s store.Store) error { return s.SetSequence(t.Context(), "b", 1, 0) },
		"type": func(s store.Store) error {
			_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "b", Type: "formatted", Value: []byte(`{"parts": [{"type": "auto-increment", "length": 1}]}`)})
			return err
		},
		"deleted": func(s store.Store) error {
			_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "b", Type: "increment", Value: []byte(`{"base":0,"delta":1,"max_request_delta":100,"rand_delta":false,"min":1,"max":9223372036854775807,"deleted":true}`)})
			return err
		},
		"behind": func(s store.Store) error {
			_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "b", Type: "increment", Value: []byte(`{"base":0,"delta":1,"max_request_delta":100,"rand_delta":false,"min":1,"max":9223372036854775807}`)})
			return errors.Join(err, s.SetSequence(t.Context(), "b", 10, 0))
		},
	} {
		s := storetest.Memory(t)
		if err := prepare(s); err != nil {
			t.Fatal(err)
		}
		p, err := plan(t, files, deployed.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Apply(t.Context(), s); err == nil || !strings.HasPrefix(err.Error(), "b: the store has") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Get(t.Context(), store.Configs, "a"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: a is stored, though b is refused: %v", name, err)
		}
	}
}

// TestAnotherWriter has a program that makes a sequence after the plan was checked.
func TestAnotherWriter(t *testing.T) {
	p, err := plan(t, map[string]string{"configs/increment/b": increment("b", 1, 1, 1, math.MaxInt64), "sequences/b": at(5)}, deployed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := storetest.Memory(t)
	late := storetest.Faulty(s, func(c storetest.Call) (f storetest.Fault) {
		if c.Method == "SetSequence" {
			f.Before = func(ctx context.Context) { err = s.SetSequence(ctx, c.Name, 3, 0) }
		}
		return f
	})
	if _, failed := p.Apply(t.Context(), late); err != nil || failed == nil || !strings.Contains(failed.Error(), "the store has the sequence b at 3") {
		t.Errorf("%v, %v", failed, err)
	}
	if _, err := s.Get(t.Context(), store.Configs, "b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the key is in use, before its numbers: %v", err)
	}
}
