// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/kinds"
)

// graded returns a store with three records that have grades: Good, Poor, and one without a name.
func graded(t *testing.T) (*kinds.EveryStore, *dynamic.Store) {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}}))
	t.Cleanup(func() { db.Close() })
	every := kinds.EveryStoreOf(db, "g", 5)
	for i, grade := range []kinds.Grade{kinds.Good, kinds.Poor, 7} {
		check(t, every.CreateWithID(ctx, idgen.ID(i+1), &kinds.Every{Group: "g", Number: 5, Grade: grade, PtrGrade: &grade, Grades: []kinds.Grade{grade, 0}}))
	}
	return every, open(t, db, "groups", "g", "5", "every")
}

// TestNames: a value of a field with the option enum is the name of its constant in JSON,
// and a number if no constant has it. Both are taken.
func TestNames(t *testing.T) {
	every, s := graded(t)
	for i, want := range []string{`{"Grade":"Good","PtrGrade":"Good","Grades":["Good",0]}`, `{"Grade":"Poor","PtrGrade":"Poor","Grades":["Poor",0]}`, `{"Grade":7,"PtrGrade":7,"Grades":[7,0]}`} {
		r := must[*dynamic.Record](t)(s.Get(ctx, must[dynamic.ID](t)(s.ParseID(string(rune('1'+i))))))
		if got := grades(t, r); got != want {
			t.Errorf("record %d is %s, want %s", i+1, got, want)
		}
		if got := grades(t, must[*dynamic.Record](t)(s.ParseRecord(must[[]byte](t)(r.MarshalJSON())))); got != want {
			t.Errorf("read again, record %d is %s, want %s", i+1, got, want)
		}
	}
	r := must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"ID":"9","Grade":"-2","PtrGrade":1,"Grades":["Poor","1",7]}`)))
	check(t, s.CreateWithID(ctx, r.ID(), r))
	got := must[*kinds.Every](t)(every.Get(ctx, 9))
	if diff := cmp.Diff([]kinds.Grade{kinds.Poor, kinds.Good, kinds.Poor, kinds.Good, 7}, append([]kinds.Grade{got.Grade, *got.PtrGrade}, got.Grades...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := s.ParseRecord([]byte(`{"Grade":"Bad"}`))
	var fault *dynamic.ValueError
	if !errors.As(err, &fault) || !strings.Contains(fault.Reason, "wanted is Good, Poor, or an integer from -128 to 127") {
		t.Error(err)
	}
}

// grades returns the members of a record that have names.
func grades(t *testing.T, r *dynamic.Record) string {
	var some struct{ Grade, PtrGrade, Grades json.RawMessage }
	check(t, json.Unmarshal(must[[]byte](t)(r.MarshalJSON()), &some))
	return string(must[[]byte](t)(json.Marshal(some)))
}

// TestFindNames: conditions and the values of indexes take names, too.
func TestFindNames(t *testing.T) {
	_, s := graded(t)
	count := func(q *persistable.Query[*dynamic.Record], err error) int {
		t.Helper()
		check(t, err)
		return must[int](t)(q.Count(ctx))
	}
	for text, want := range map[string]int{"Grade = Poor": 1, "Grade != 'Poor'": 2, "Grade in (Good, -2)": 2, "Grades = 7": 1, "PtrGrade = Good": 1} {
		c := must[persistable.Condition[*dynamic.Record]](t)(s.Where(text))
		if n := count(s.AllowScan().Find(c)); n != want {
			t.Errorf("%s: %d records, want %d", text, n, want)
		}
	}
	if n := count(s.ByIndex("Every_PtrGrade", "Good")); n != 1 {
		t.Errorf("the index has %d records with the name", n)
	}
	if _, err := s.Where("Grade = Bad"); !errors.Is(err, dynamic.ErrWhere) {
		t.Error(err)
	}
	for _, f := range s.Schema().Fields {
		if f.Name == "Grade" {
			if diff := cmp.Diff([]dynamic.Constant{{Name: "Good", Value: "1"}, {Name: "Poor", Value: "-2"}}, f.Constants); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
}
