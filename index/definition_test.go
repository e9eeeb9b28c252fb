// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

func TestName(t *testing.T) {
	for want, parts := range map[string][]string{
		"Order_Number":           {"Order", "Number"},
		"Order_Status_CreatedAt": {"Order", "Status", "CreatedAt"},
		"A__B_C":                 {"A_B", "C"},
		"A_B__C":                 {"A", "B_C"},
		"A_B_C":                  {"A", "B", "C"},
		"T_Addr.City":            {"T", "Addr.City"},
	} {
		if got := index.Name(parts[0], parts[1:]...); got != want {
			t.Errorf("Name(%q) = %q, want %q", parts, got, want)
		}
	}
}

// Different lists of names never have one name. A name begins with a letter.
func TestNameIsInjective(t *testing.T) {
	part := rapid.StringMatching(`[A-B][A_]{0,3}`)
	list := rapid.SliceOfN(part, 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		if same := cmp.Equal(a, b); (index.Name(a[0], a[1:]...) == index.Name(b[0], b[1:]...)) != same {
			t.Fatalf("the names of %q and %q: %q and %q", a, b, index.Name(a[0], a[1:]...), index.Name(b[0], b[1:]...))
		}
	})
}

func TestDefinition(t *testing.T) {
	d := index.Definition{Name: "T_A_B", Fields: []string{"A", "B"}, Signature: "int,string"}
	unique := d
	unique.Unique, unique.Cover = true, true
	for got, want := range map[string]string{
		d.KeyName(): "T_A_B", unique.KeyName(): "T_A_B_unique",
		d.Layout(): "A,B:int,string", unique.Layout(): "A,B:int,string:cover",
		tuple.Describe(unique.AppendPrefix(nil)): `("I", "T_A_B_unique")`,
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if err := (&index.Definition{}).Validate(); err == nil || !strings.Contains(err.Error(), "no fields") || !strings.Contains(err.Error(), "without a name") {
		t.Errorf("Validate of nothing: %v", err)
	}
}

func TestSplit(t *testing.T) {
	plain := index.Definition{Name: "T_A_B", Fields: []string{"A", "B"}}
	unique := plain
	unique.Unique = true
	values := tuple.Tuple{1, "b\x00"}.MustPack()
	id := tuple.Tuple{"id"}.MustPack()
	v, i, err := plain.Split(append(values[:len(values):len(values)], id...))
	if err != nil || string(v) != string(values) || string(i) != string(id) {
		t.Errorf("Split = %q, %q, %v", v, i, err)
	}
	v, i, err = unique.Split(values)
	if err != nil || string(v) != string(values) || len(i) != 0 {
		t.Errorf("Split of a unique key = %q, %q, %v", v, i, err)
	}
	for name, bad := range map[string]error{
		"no id":         third(plain.Split(values)),
		"an id":         third(unique.Split(append(values[:len(values):len(values)], id...))),
		"too few":       third(plain.Split(id)),
		"no tuple":      third(plain.Split([]byte{0x77})),
		"empty, unique": third(unique.Split(nil)),
	} {
		if bad == nil || !strings.Contains(bad.Error(), "T_A_B") {
			t.Errorf("%s: %v", name, bad)
		}
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

func TestStates(t *testing.T) {
	for s, want := range map[index.State]string{index.Disabled: "disabled", index.Building: "building", index.Readable: "readable", 7: "State(7)"} {
		if s.String() != want {
			t.Errorf("%d is %q", int(s), s)
		}
	}
}
