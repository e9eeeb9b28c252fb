// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/index"
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

// layouts are definitions with their key names and layouts, which stored data depends
// on: these texts never change.
var layouts = []struct {
	key, layout string
	d           index.Definition
}{
	{"T_A_B", "A,B:int,string", index.Definition{Name: "T_A_B", Fields: []string{"A", "B"}, Signature: "int,string"}},
	{"T_A_unique", "A:*string", index.Definition{Name: "T_A", Fields: []string{"A"}, Unique: true, Sparse: []string{"A"}, Signature: "*string"}},
	{"T_A", "A:[]string:cover:scatter=16", index.Definition{Name: "T_A", Fields: []string{"A"}, Cover: true, Scatter: 16, Sparse: []string{"A"}, Signature: "[]string"}},
	{"T_A_B", "A,B:int,time,int,string:desc=B:cover=C,D:where=A=1 and B>0", index.Definition{
		Name: "T_A_B", Fields: []string{"A", "B"}, Signature: "int,time,int,string", Descending: []string{"B"}, CoverFields: []string{"C", "D"}, Where: "A=1 and B>0",
	}},
	{"T_A_B", "A,B:[]string,*string:desc=B:fold15.0.0=A,B:cover", index.Definition{
		Name: "T_A_B", Fields: []string{"A", "B"}, Signature: "[]string,*string", Descending: []string{"B"}, Folded: []string{"A", "B"}, Cover: true, Sparse: []string{"A"},
	}},
	{"T_count", "::kind=count", index.Definition{Name: "T_count", Kind: index.Count}},
	{"T_count_A", `A:text(Pair[A,B]):kind=count:where=S="a:b"`, index.Definition{
		Name: "T_count_A", Kind: index.Count, Fields: []string{"A"}, Signature: "text(Pair[A,B])", Where: `S="a:b"`,
	}},
	{"T_sum_C_A", "A:string,int:kind=sum:of=C", index.Definition{Name: "T_sum_C_A", Kind: index.Sum, Fields: []string{"A"}, Of: "C", Signature: "string,int"}},
}

func TestLayout(t *testing.T) {
	for _, c := range layouts {
		if c.d.KeyName() != c.key || c.d.Layout() != c.layout {
			t.Errorf("the layout of %s is %q, want %q of %s", c.d.KeyName(), c.d.Layout(), c.layout, c.key)
		}
		if err := c.d.Validate(); err != nil {
			t.Error(err)
		}
		parsed, err := index.ParseLayout(c.key, c.layout)
		if diff := cmp.Diff(c.d, parsed); diff != "" || err != nil {
			t.Errorf("ParseLayout(%q): %v (-want +got):\n%s", c.layout, err, diff)
		}
	}
}

func TestParseLayoutRefuses(t *testing.T) {
	for layout, want := range map[string]string{
		"":                             "signature is missing",
		"A":                            "signature is missing",
		"A:int,int":                    "2 kinds are named, of 1 fields",
		"A:int:kind=median":            `"median"`,
		"A:int:kind=sum":               "must name the field that it adds",
		"A:int:of=B":                   "2 fields",
		"A:int:scatter=3":              "3 shards",
		"A:int:scatter=x":              "invalid syntax",
		"A:int:scatter=016":            "should be written",
		"A:int:cover:cover":            "should be written",
		"A:int:desc=B":                 "none of its fields",
		"A:string:fold15.0.0=B":        "none of its fields",
		"A:string:fold15.0.0=A,A":      "named twice",
		"A:int:fold15.0.0=A":           "no text",
		"A:string:fold16.0.0=A":        `the option "fold16.0.0=A" is not known`,
		"A:int:ttl=5":                  `the option "ttl=5" is not known`,
		"A:int:scatter=16:cover":       "should be written",
		"A:int:":                       "not known",
		"A:int,int:cover=B:kind=count": "cannot cover",
		":":                            "has no fields",
	} {
		_, err := index.ParseLayout("T_A", layout)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "T_A") {
			t.Errorf("%q: %v, want %s", layout, err, want)
		}
	}
	if _, err := index.ParseLayout("T_A_unique", "A:int:scatter=16"); err == nil || !strings.Contains(err.Error(), "unique and cannot be scattered") {
		t.Errorf("a unique index that is scattered: %v", err)
	}
}

// FuzzParseLayout: what is parsed has the text that was parsed.
func FuzzParseLayout(f *testing.F) {
	for _, c := range layouts {
		f.Add(c.key, c.layout)
	}
	f.Fuzz(func(t *testing.T, key, layout string) {
		d, err := index.ParseLayout(key, layout)
		if err == nil && (d.KeyName() != key || d.Layout() != layout || d.Validate() != nil) {
			t.Errorf("%q of %q is parsed as %+v", layout, key, d)
		}
	})
}

// Names of indexes of all kinds differ if kind, type or fields do.
func TestKindNameIsInjective(t *testing.T) {
	kind := rapid.SampledFrom(index.Kinds())
	list := rapid.SliceOfN(rapid.StringMatching(`[A-B][A_]{0,3}|Count|Sum`), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		k, l := kind.Draw(t, "kind of a"), kind.Draw(t, "kind of b")
		x, y := k.Name(a[0], a[1:]...), l.Name(b[0], b[1:]...)
		if (x == y) != (k == l && cmp.Equal(a, b)) {
			t.Fatalf("%q of %q and %q of %q are named %q and %q", a, k, b, l, x, y)
		}
	})
}
