// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fieldsOf is the text after the lines that all test types have.
func fieldsOf(s *Schema) []string {
	_, text, _ := strings.Cut(s.Text(), "{B}\"\n")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// TestUnion: what a header becomes when a program is about to write.
func TestUnion(t *testing.T) {
	for name, c := range map[string]struct{ store, program, want []string }{
		"fields of both": {
			[]string{"field 1 ID id", "field 3 B string"},
			[]string{"field 1 ID id", "field 2 A string"},
			[]string{"field 1 ID id", "field 2 A string", "field 3 B string"},
		},
		"a newer kind, and those between": {
			[]string{"field 2 A int32"}, []string{"field 2 A *int64 was int64 int32"}, []string{"field 2 A *int64 was int32 int64"},
		},
		"kinds that the header lacks": {
			[]string{"field 2 A int64 was int32"}, []string{"field 2 A int64 was int16"}, []string{"field 2 A int64 was int32 int16"},
		},
		"a struct that was renamed": {
			[]string{"field 2 A message(M)", "message M", "field 1 X id"},
			[]string{"field 2 A message(N)", "message N", "field 2 Y id"},
			[]string{"field 2 A message(M)", "message M", "field 1 X id", "field 2 Y id"},
		},
		"a new struct of a name that is taken": {
			[]string{"field 2 A message(M)", "message M", "field 1 X id"},
			[]string{"field 2 A message(N)", "field 3 B []message(M)", "message M", "field 1 Y bool", "message N", "field 1 X id"},
			[]string{"field 2 A message(M)", "field 3 B []message(M2)", "message M", "field 1 X id", "message M2", "field 1 Y bool"},
		},
		"one struct of the store that is two of the program": {
			[]string{"field 2 A message(M)", "field 3 B message(M)", "message M", "field 1 X id"},
			[]string{"field 2 A message(M)", "field 3 B message(N)", "message M", "field 1 X id", "field 2 Y id", "message N", "field 1 X id", "field 2 Z bool"},
			[]string{"field 2 A message(M)", "field 3 B message(M2)", "message M", "field 1 X id", "field 2 Y id", "message M2", "field 1 X id", "field 2 Z bool"},
		},
		"names that the header lacks": {
			[]string{"field 2 A int64"},
			[]string{"field 2 A int64 enum E", "field 3 B []int8 enum F", "enum E", "constant X 1", "enum F", "constant Z 3"},
			[]string{"field 2 A int64 enum E", "field 3 B []int8 enum F", "enum E", "constant X 1", "enum F", "constant Z 3"},
		},
		"constants of both, of a type with two names": {
			[]string{"field 2 A int64 enum E", "enum E", "constant X 1", "constant Y 2", "constant last 2"},
			[]string{"field 2 A int64 enum F", "enum F", "constant X 1", "constant Z 3", "constant last any"},
			[]string{"field 2 A int64 enum E", "enum E", "constant X 1", "constant Y 2", "constant last any", "constant Z 3"},
		},
		"a constant with a new name": {
			[]string{"field 2 A int64 enum E", "enum E", "constant X 1", "constant Y 2"},
			[]string{"field 2 A int64 enum E", "enum E", "constant Begun 1 was X"},
			[]string{"field 2 A int64 enum E", "enum E", "constant Begun 1 was X", "constant Y 2"},
		},
		"a constant that had another name": {
			[]string{"field 2 A int64 enum E", "enum E", "constant Begun 1 was X"},
			[]string{"field 2 A int64 enum E", "enum E", "constant X 1", "constant Y 2"},
			[]string{"field 2 A int64 enum E", "enum E", "constant Begun 1 was X", "constant Y 2"},
		},
		"a new type of a name that is taken": {
			[]string{"field 2 A int64 enum E", "enum E", "constant X 1"},
			[]string{"field 2 A int64 enum F", "field 3 B int64 enum E", "enum E", "constant Y 1", "enum F", "constant X 1"},
			[]string{"field 2 A int64 enum E", "field 3 B int64 enum E2", "enum E", "constant X 1", "enum E2", "constant Y 1"},
		},
		"a struct of itself": {
			[]string{"field 2 A []message(T)"}, []string{"field 2 A []message(T)", "field 3 X id"}, []string{"field 2 A []message(T)", "field 3 X id"},
		},
	} {
		store, program := typeOf(t, c.store...), typeOf(t, c.program...)
		before := store.Text() + program.Text()
		union, more := Union(store, program)
		if diff := cmp.Diff(c.want, fieldsOf(union)); diff != "" || !more {
			t.Errorf("%s: %v (-want +got):\n%s", name, more, diff)
		}
		if store.Text()+program.Text() != before {
			t.Errorf("%s: the two changed", name)
		}
		for side, s := range map[string]*Schema{"the store": store, "the program": program, "the union": union} {
			if again, more := Union(union, s); more || again != union || len(Coexistence(union, s)) > 0 {
				t.Errorf("%s: %s adds to the union: %v, or differs: %v", name, side, more, texts(Coexistence(union, s)))
			}
		}
		if _, err := ParseType(union.Text()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnionKeepsWhatIsTheStores(t *testing.T) {
	store, program := typeOf(t, "field 1 ID id").Scattered(8), typeOf(t, "field 1 ID id", "field 2 A id").Scattered(16)
	union, _ := Union(store, program)
	root := union.Type()
	if root.Scatter != 8 || root.Origin != "a/b" || root.Directory != "t/{A}/{B}" || root.ID != "int" || len(root.Fields) != 2 {
		t.Errorf("the union is\n%s", union.Text())
	}
	if _, more := Union(typeOf(t, "field 1 ID id").Scattered(4), typeOf(t, "field 1 ID id")); more {
		t.Error("another number of shards changes a header")
	}
}

// TestUnionOfBounds: those of the newer program count, in whatever order programs write.
func TestUnionOfBounds(t *testing.T) {
	lines := []string{"field 2 A int64", "field 2 A int64 rules 1 min=1 max=9", "field 2 A int64 rules 2", "field 2 A int64 rules 3 min=2"}
	for i, one := range lines {
		for j, other := range lines {
			union, more := Union(typeOf(t, one), typeOf(t, other))
			if got := fieldsOf(union)[0]; got != lines[max(i, j)] || more != (j > i) {
				t.Errorf("%s, then %s: %s, %v", one, other, got, more)
			}
		}
	}
}
