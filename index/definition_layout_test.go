// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/index"
)

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
	kind := rapid.SampledFrom([]index.Kind{index.Value, index.Count, index.Sum, index.Rank, index.Version})
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
