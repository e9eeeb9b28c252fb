// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// typeOf parses the text of a type T.
func typeOf(t testing.TB, lines ...string) *Schema {
	t.Helper()
	s, err := ParseType("type T\norigin a/b\nid int\ndirectory \"t/{A}/{B}\"\n" + strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// texts are the differences in words, those that are allowed in parentheses.
func texts(list []Difference) (all []string) {
	for _, d := range list {
		text := d.Text("there", "here")
		if d.Allowed {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return all
}

// TestCoexistence: what a store's header says, what a program says, and why the
// program must not open the store. Each row without a reason must hold both ways.
func TestCoexistence(t *testing.T) {
	for name, c := range map[string]struct {
		store, program []string
		want           []string
	}{
		"the same":         {[]string{"field 1 ID id"}, []string{"field 1 ID id"}, nil},
		"a newer program":  {[]string{"field 1 ID id"}, []string{"field 1 ID id", "field 2 A string"}, nil},
		"a removed field":  {[]string{"field 1 ID id", "field 2 A string"}, []string{"field 1 ID id", "field 3 B string"}, nil},
		"exchanged fields": {[]string{"field 2 From string", "field 3 To string"}, []string{"field 2 To string", "field 3 From string"}, []string{"the number 2 is the field From in there, and To in here", "the number 3 is the field To in there, and From in here"}},
		"another name":     {[]string{"field 2 A string"}, []string{"field 2 B string"}, []string{"the number 2 is the field A in there, and B in here"}},
		"another number":   {[]string{"field 1 ID id", "field 2 A string"}, []string{"field 1 ID id", "field 4 A string"}, []string{"the field A has the number 2 in there, and 4 in here"}},
		"another kind":     {[]string{"field 2 A string"}, []string{"field 2 A bytes"}, []string{"the field A (2) is string in there, and bytes in here"}},
		"a newer kind":     {[]string{"field 2 A int32"}, []string{"field 2 A int64 was int32"}, nil},
		"kinds of long ago": {
			[]string{"field 2 A int8"}, []string{"field 2 A *int64 was int64 int32 int8"}, nil,
		},
		"a kind not said":  {[]string{"field 2 A int32"}, []string{"field 2 A int64"}, []string{"the field A (2) is int32 in there, and int64 in here"}},
		"a kind that lies": {[]string{"field 2 A string"}, []string{"field 2 A int64 was string"}, []string{"the field A (2) is string in there, and int64 in here"}},
		"a default":        {[]string{"field 1 ID id"}, []string{"field 1 ID id", "field 2 A int8 default 3"}, nil},
		"another default":  {[]string{"field 2 A int8 default 3"}, []string{"field 2 A int8 default 4"}, []string{"the default of the field A (2) is 3 in there, and 4 in here"}},
		"no default":       {[]string{"field 2 A int8 default 3"}, []string{"field 2 A int8"}, []string{"the default of the field A (2) is 3 in there, and zero in here"}},
		"wider, default":   {[]string{"field 2 A int8 default 3"}, []string{"field 2 A int64 default 3 was int8"}, nil},
		"null not said":    {[]string{"field 2 A string"}, []string{"field 2 A *string"}, []string{"the field A (2) is string in there, and *string in here"}},
		"other marshaler":  {[]string{"field 2 A binary(Cents)"}, []string{"field 2 A binary(Money)"}, []string{"the field A (2) is binary(Cents) in there, and binary(Money) in here"}},
		"marshaler said":   {[]string{"field 2 A binary(Cents)"}, []string{"field 2 A binary(Money) was binary(Cents)"}, nil},
		"a struct's name": {
			[]string{"field 2 A message(M)", "message M", "field 1 X string"}, []string{"field 2 A message(a/b.N)", "message a/b.N", "field 1 X string"}, nil,
		},
		"a struct's fields": {
			[]string{"field 2 A []message(M)", "message M", "field 1 X string", "field 2 Y string"},
			[]string{"field 2 A []message(M)", "message M", "field 1 Y string", "field 2 X string"},
			[]string{"the number 1 of A is the field X in there, and Y in here", "the number 2 of A is the field Y in there, and X in here"},
		},
		"a struct of a struct": {
			[]string{"field 2 A *message(M)", "message M", "field 3 N map[string]message(N)", "message N", "field 1 X int8"},
			[]string{"field 2 A *message(M)", "message M", "field 3 N map[string]message(N)", "message N", "field 1 X int16"},
			[]string{"the field A.N.X (1) is int8 in there, and int16 in here"},
		},
		"a struct of itself": {
			[]string{"field 2 A []message(T)", "field 3 X int8"},
			[]string{"field 2 A []message(M)", "field 3 X int8", "message M", "field 2 A []message(T)", "field 3 X bool"},
			[]string{"the field A.X (3) is int8 in there, and bool in here"},
		},
		"embedded": {
			[]string{"field 2 A message(M)", "message M", "field 1 X string"},
			[]string{"field 2 X string"},
			[]string{"the number 2 is the field A in there, and X in here"},
		},
	} {
		store, program := typeOf(t, c.store...), typeOf(t, c.program...)
		if diff := cmp.Diff(c.want, texts(Coexistence(store, program))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if back := Coexistence(program, store); (len(back) == 0) != (c.want == nil) {
			t.Errorf("%s, the other way round: %v", name, texts(back))
		}
	}
}

func TestTypesDiffer(t *testing.T) {
	one := typeOf(t, "field 1 ID id")
	for want, text := range map[string]string{
		"it belongs to the package a/b in there, and to a/c in here":            "type T\norigin a/c\nid int\ndirectory \"t/{A}/{B}\"\nfield 1 ID id",
		"its directory is t/{A}/{B} in there, and t/{B}/{A} in here":            "type T\norigin a/b\nid int\ndirectory \"t/{B}/{A}\"\nfield 1 ID id",
		"the kind of its id is int in there, and string in here":                "type T\norigin a/b\nid string\ndirectory \"t/{A}/{B}\"\nfield 1 ID string",
		"the field ID (1) is id in there, and int64 in here":                    "type T\norigin a/b\nid int\ndirectory \"t/{A}/{B}\"\nfield 1 ID int64",
		"its directory is t/{A}/{B} in there, and t/{A}(partition)/{B} in here": "type T\norigin a/b\nid int\ndirectory \"t/{A}(partition)/{B}\"\nfield 1 ID id",
	} {
		other, err := ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(Coexistence(one, other)); !slices.Equal(got, []string{want}) {
			t.Errorf("got %v, want %s", got, want)
		}
		if got := texts(Succession(one, other, "T")); !slices.Equal(got, []string{want}) {
			t.Errorf("succession: got %v, want %s", got, want)
		}
	}
	scattered := one.Scattered(16)
	if got := Coexistence(one, scattered); len(got) > 0 || one.Type().Scatter != 0 || scattered.Type().Scatter != 16 {
		t.Errorf("scattering is a difference: %v", texts(got))
	}
}

// TestEnums: constants of a field's type keep their values, and values their constants.
func TestEnums(t *testing.T) {
	was := []string{"enum Status", "constant Pending 0", "constant Paid 1", "constant Settled 1", "constant last 1", "constant Open 2"}
	for name, c := range map[string]struct {
		now, want []string
	}{
		"appended": {[]string{"constant Pending 0", "constant Paid 1", "constant Settled 1", "constant last 1", "constant Open 2", "constant Closed 3"}, nil},
		"inserted": {
			[]string{"constant Pending 0", "constant Cancelled 1", "constant Paid 2", "constant Settled 2", "constant last 2", "constant Open 3"},
			[]string{
				"the field A has the constant Paid = 1 in there, and Paid = 2 in here", "the field A has the constant Settled = 1 in there, and Settled = 2 in here",
				"the field A has the constant last = 1 in there, and last = 2 in here", "the field A has the constant Open = 2 in there, and Open = 3 in here",
			},
		},
		"renamed": {
			[]string{"constant Pending 0", "constant Paid 1", "constant Settled 1", "constant last 1", "constant Begun 2"},
			[]string{"the field A has the constant Open = 2 in there, and Begun = 2 in here"},
		},
		"renamed, said":       {[]string{"constant Pending 0", "constant Paid 1", "constant Settled 1", "constant last 1", "constant Begun 2 was Open"}, nil},
		"removed":             {[]string{"constant Pending 0", "constant Paid 1", "constant Settled 1", "constant last 1"}, nil},
		"an alias is left":    {[]string{"constant Pending 0", "constant Settled 1", "constant last 1", "constant Open 2", "constant Extra 1"}, nil},
		"a count, never kept": {[]string{"constant Pending 0", "constant Paid 1", "constant Settled 1", "constant last any", "constant Open 2"}, nil},
	} {
		was, now := typeOf(t, append([]string{"field 2 A int64 enum Status"}, was...)...), typeOf(t, append([]string{"field 2 A int64 enum State", "enum State"}, c.now...)...)
		if diff := cmp.Diff(c.want, texts(Succession(was, now, "T"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.want, texts(Coexistence(was, now))); diff != "" {
			t.Errorf("%s: a store and a program (-want +got):\n%s", name, diff)
		}
		if diff := texts(Coexistence(now, was)); (len(diff) > 0) != (len(c.want) > 0) {
			t.Errorf("%s: a store and a program from before differ so: %v", name, diff)
		}
	}
}

// TestSuccession: what a new lock must not do to an old one, though a store and
// a program could live with it.
func TestSuccession(t *testing.T) {
	address := []string{"message Address", "field 1 City string", "field 2 Street string"}
	for name, c := range map[string]struct {
		was, now []string
		want     []string
	}{
		"removed": {
			[]string{"field 2 A string"}, []string{"reserved 2 A string", "field 3 B int8"}, []string{"the field A is in use in there, and not in here"},
		},
		"removed, confirmed": {[]string{"field 2 A string"}, []string{"reserved 2 A string confirmed", "field 3 B int8"}, nil},
		"removed before":     {[]string{"reserved 2 A string"}, []string{"reserved 2 A string"}, nil},
		"removed from a struct": {
			slices.Concat([]string{"field 2 Home message(Address)"}, address),
			[]string{"field 2 Home message(Address)", "message Address", "reserved 1 City string", "field 2 Street string"},
			[]string{"the field Home.City is in use in there, and not in here"},
		},
		"back": {[]string{"reserved 2 A string"}, []string{"field 2 A string"}, nil},
		"back without its default": {
			[]string{"reserved 2 A int8 default 3"},
			[]string{"field 2 A int8"},
			[]string{"the default of the field A (2) is 3 in there, and zero in here"},
		},
		"forgotten": {[]string{"field 2 A string", "field 3 B string"}, []string{"field 3 B string"}, []string{"the number 2 (A) is in there, and neither in use nor reserved in here"}},
		"reserved and forgotten": {
			[]string{"reserved 2 A string", "field 3 B string"},
			[]string{"field 3 B string", "field 4 C string"},
			[]string{"the number 2 (A) is in there, and neither in use nor reserved in here"},
		},
		"said":     {[]string{"field 2 A int32"}, []string{"field 2 A int64 was int32"}, []string{"(the field A (2) is int32 in there, and int64 in here)"}},
		"not said": {[]string{"field 2 A int32"}, []string{"field 2 A int64 was int16"}, []string{"the field A (2) is int32 in there, and int64 in here"}},
		"narrower, of old": {
			[]string{"field 2 A int64 was int32"}, []string{"field 2 A int32"}, []string{"the field A (2) is int64 in there, and int32 in here"},
		},
		"named to embedded": {
			slices.Concat([]string{"field 2 Home message(Address)"}, address),
			slices.Concat([]string{"reserved 2 Home message(Address)", "field 3 City string", "field 4 Street string"}, address),
			[]string{"the field Home.City of there is City in here"},
		},
		"embedded to named": {
			[]string{"field 2 City string", "field 3 Street string"},
			slices.Concat([]string{"reserved 2 City string", "reserved 3 Street string", "field 4 Home *message(Address)"}, address),
			[]string{"the field City of there is Home.City in here"},
		},
		"one next to the other": {
			slices.Concat([]string{"field 2 Home message(Address)"}, address),
			slices.Concat([]string{"field 2 Home message(Address)", "field 3 City string", "field 4 Street string"}, address), nil,
		},
		"… and then alone": {
			slices.Concat([]string{"field 2 Home message(Address)", "field 3 City string", "field 4 Street string"}, address),
			slices.Concat([]string{"reserved 2 Home message(Address)", "field 3 City string", "field 4 Street string"}, address),
			[]string{"the field Home is in use in there, and not in here"},
		},
		"nothing in common": {
			slices.Concat([]string{"field 2 Home message(Address)"}, address), slices.Concat([]string{"reserved 2 Home message(Address)", "field 3 Town string"}, address),
			[]string{"the field Home is in use in there, and not in here"},
		},
		"a renamed struct": {
			slices.Concat([]string{"field 2 Home message(Address)"}, address),
			[]string{"field 2 Home message(x/v2.Place)", "message x/v2.Place", "field 1 City string", "field 2 Street string", "field 3 More string"},
			nil,
		},
		"another struct": {
			slices.Concat([]string{"field 2 Home message(Address)"}, address),
			[]string{"field 2 Home message(Money)", "message Money", "reserved 1 City string", "reserved 2 Street string", "field 3 Cents int64"},
			[]string{"the field Home holds the struct Address in there, and Money in here"},
		},
		"another struct, said": {
			slices.Concat([]string{"field 2 Home message(Address)"}, address),
			[]string{"field 2 Home message(Money) was message(Address)", "message Money", "reserved 1 City string", "reserved 2 Street string", "field 3 Cents int64"},
			[]string{"(the field Home holds the struct Address in there, and Money in here)"},
		},
	} {
		if diff := cmp.Diff(c.want, texts(Succession(typeOf(t, c.was...), typeOf(t, c.now...), "T"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := texts(Succession(typeOf(t, "field 1 ID id"), &Schema{}, "T")); !slices.Equal(got, []string{"the type T is in there, and neither in use nor reserved in here"}) {
		t.Errorf("a lock without the type: %v", got)
	}
}

// TestChange goes through the table of kinds: every row, around every base.
func TestChange(t *testing.T) {
	const never, said, always = 0, 1, 2
	for _, c := range []struct {
		was, now string
		want     int
	}{
		{"string", "string", always},
		{"message(A)", "message(B)", always},
		{"[]message(A)", "[]message(b/c.A)", always},
		{"int32", "int64", said},
		{"int8", "int16", said},
		{"uint8", "uint64", said},
		{"[]int8", "[]int64", said},
		{"map[string]uint16", "map[string]uint32", said},
		{"string", "*string", said},
		{"*string", "string", said},
		{"*int8", "int16", said},
		{"message(A)", "*message(A)", said},
		{"string", "text(X)", said},
		{"text(X)", "string", said},
		{"text(X)", "*text(Y)", said},
		{"[]string", "[]text(X)", said},
		{"bytes", "binary(X)", said},
		{"binary(X)", "bytes", said},
		{"binary(X)", "binary(Y)", said},
		{"int64", "int32", never},
		{"uint8", "int16", never},
		{"int8", "uint16", never},
		{"int64", "id", never},
		{"int64", "duration", never},
		{"int8", "[]int8", never},
		{"[]int8", "*int8", never},
		{"[]*string", "[]string", never},
		{"string", "bytes", never},
		{"text(X)", "binary(X)", never},
		{"string", "binary(X)", never},
		{"bytes[16]", "bytes", never},
		{"bytes[16]", "bytes[8]", never},
		{"float", "double", never},
		{"time", "int64", never},
		{"map[int8]string", "map[int16]string", never},
		{"map[string]message(A)", "[]message(A)", never},
		{"message(A)", "string", never},
	} {
		consequences, allowed := changeOf(c.was, c.now)
		got := never
		if allowed {
			got = said
			if len(consequences) == 0 {
				got = always
			}
		}
		if got != c.want {
			t.Errorf("from %s to %s: %d (%q), want %d", c.was, c.now, got, consequences, c.want)
		}
		if sameKind(c.was, c.now) != (c.want == always) {
			t.Errorf("%s and %s are stored in one way: %v", c.was, c.now, c.want != always)
		}
	}
}
