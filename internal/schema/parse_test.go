// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLockRoundTrip(t *testing.T) {
	s := &Schema{Blocks: []*Block{
		{
			IsType: true, Name: "B", Origin: "example.com/b", ID: "int", Directory: "a  b /{T}", Scatter: 4,
			Fields: []*Field{
				{Number: 2, Name: "x", Kind: "map[string]int64", Was: []string{"map[string]int32", "map[string]int8"}},
				{Number: 3, Name: "y", Kind: "int64", Default: "-5", Was: []string{"int32"}},
				{Number: 4, Name: "z", Kind: "string", Default: `"a\x20b"`, Reserved: true},
				{Number: 1, Name: "ID", Kind: "id", Reserved: true},
			},
			Indexes: []*Index{{Name: "B_x", Signature: "x string cover"}, {Name: "B_a_unique", Signature: "a int", Removed: true}},
		},
		{Name: "example.com/a.A", Removed: true},
	}}
	text := s.Lock()
	parsed, faults := ParseLock(text)
	if len(faults) > 0 {
		t.Fatalf("faults in\n%s\n%v", text, faults)
	}
	if diff := cmp.Diff(string(text), string(parsed.Lock())); diff != "" {
		t.Errorf("lock changed (-want +got):\n%s", diff)
	}
	b := parsed.Block("B")
	if !parsed.Block("example.com/a.A").Removed || b.Directory != "a  b /{T}" || b.Origin != "example.com/b" || !b.Index("B_a_unique").Removed || len(b.Field("x").Was) != 2 || b.Field("y").Default != "-5" {
		t.Errorf("parsed %s", parsed.Lock())
	}
	if _, faults := ParseLock(nil); len(faults) > 0 {
		t.Errorf("no lock yet is a fault: %v", faults)
	}
}

func TestFaultsOfLocks(t *testing.T) {
	for text, want := range map[string]string{
		"format 2":              "1: format 2 was written by a newer persistgen",
		"type A\n\tfield 1 A b": "2: b of the field A is not a kind",
		"format 1\ntype A\nfield 1 A id\nfield 2 A id":                "4: the field A is there twice; the first is in line 3",
		"format 1\ntype A\nfield 1 A id\nreserved 1 B id":             "4: the number 1 of B is that of A in line 3 already",
		"format 1\ntype A\nfield 0 A id":                              "3: 0 is not a field number",
		"format 1\ntype A\nfield 1 A id was":                          "is not a line of a lock file",
		"format 1\ntype A\nfield 1 A int8 default":                    "is not a line of a lock file",
		"format 1\ntype A\nfield 1 A int8 default 200":                "the default of the field A: 200 is not a value of kind int8",
		"format 1\ntype A\nfield 1 A string default x":                "the default of the field A: x is not a value of kind string",
		"format 1\ntype A\nfield 1 A *int8 default 2":                 "the default of the field A: a field of kind *int8",
		"format 1\ntype A\nfield 1 A id is int64":                     "is not a line of a lock file",
		"format 1\ntype A\nfield 1 A int64 was x":                     "3: x of the field A is not a kind",
		"format 1\ntype A\ndirectory \"t/{}/{}\"":                     "does not say which field each {} is",
		"format 1\ntype A\ndirectory \"t/{}(partition)/o\"":           "does not say which field each {} is",
		"format 1\ntype A\ndirectory t":                               "not a quoted string",
		"format 1\ntype A\nscatter 3":                                 "3 is not a number of shards",
		"format 1\nfield 1 A id":                                      "stands before any type",
		"format 1\ntype A\ntype A":                                    "A is there twice; the first is in line 2",
		"type A\nfield 1 A id":                                        `the line "format 1" is missing`,
		"format 1\ntype A\nindex A_B B int\nindex A_B B string cover": "the index A_B is there twice",
	} {
		_, faults := ParseLock([]byte(text))
		got := ""
		for _, one := range faults {
			got += strings.TrimSpace(strings.Join([]string{strconv.Itoa(one.Line) + ":", one.Message}, " ")) + "\n"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestParseTypeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "0 types",
		"message A\nfield 1 A id": "0 types",
		"type A":                  "no field",
		"type A\nfield 1 A id\ntype B\nfield 1 A id": "2 types",
		"type A\nfield 1 A []message(B)":             "no message B",
		"type A\nfield 1 A":                          "line 2",
	} {
		if _, err := ParseType(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestParseKind(t *testing.T) {
	for text, want := range map[string]Kind{
		"id":                        {Base: "id"},
		"*int64":                    {Wrap: "*", Base: "int64"},
		"[]bytes[16]":               {Wrap: "[]", Base: "bytes[]", Arg: "16"},
		"map[uint8]message(a/b.C)":  {Wrap: "map[uint8]", Base: "message", Arg: "a/b.C"},
		"text(net/netip.Addr)":      {Base: "text", Arg: "net/netip.Addr"},
		"*binary(Pair[[]int,(x)])":  {Wrap: "*", Base: "binary", Arg: "Pair[[]int,(x)]"},
		"[]message(Tree[a.B[c.D]])": {Wrap: "[]", Base: "message", Arg: "Tree[a.B[c.D]]"},
	} {
		got, ok := ParseKind(text)
		if !ok || got != want || got.String() != text {
			t.Errorf("ParseKind(%s) = %+v, %v; as text %s", text, got, ok, got)
		}
	}
	for _, text := range []string{
		"", "int", "int24", "**int8", "*[]int8", "[]*int8", "map[bytes]id", "map[string", "bytes[]", "bytes[0]", "bytes[016]", "bytes[-1]",
		"text()", "text(X", "list(X)", "message", "map[string][]int8", "map[string]map[string]id",
	} {
		if k, ok := ParseKind(text); ok {
			t.Errorf("ParseKind(%q) = %+v", text, k)
		}
	}
}

// FuzzParseLock: any bytes are a lock or have faults with a line; a lock survives
// being written and read again.
func FuzzParseLock(f *testing.F) {
	f.Add("format 1\n\ntype A\n\tid int\n\tdirectory \"a\"\n\tfield 1 ID id\n\tindex A_x x int\n")
	f.Add("format 1\ntype A removed\norigin a/b\nscatter 8\nreserved 7 X int64 was int32 int8\nfield 2 M []message(M)\nmessage M\nfield 1 T text(X)")
	f.Add("format 2")
	f.Add("<<<<<<< HEAD\n")
	f.Fuzz(func(t *testing.T, content string) {
		l, faults := ParseLock([]byte(content))
		for _, one := range faults {
			if one.Line < 1 || one.Line > 1+strings.Count(content, "\n") || one.Message == "" {
				t.Fatalf("fault %+v", one)
			}
		}
		if len(faults) > 0 {
			return
		}
		once := l.Lock()
		again, faults := ParseLock(once)
		if len(faults) > 0 || string(again.Lock()) != string(once) {
			t.Fatalf("%q became\n%s\n%v", content, once, faults)
		}
		for _, b := range l.Blocks {
			if list := Succession(l, again, b.Name); len(list) > 0 {
				t.Fatalf("%s differs from itself: %+v", b.Name, list)
			}
		}
	})
}

// FuzzParseType: any text is the schema of one type or refused; one that is
// agrees with itself, adds nothing to itself, and survives being written.
func FuzzParseType(f *testing.F) {
	f.Add("type A\n\torigin a/b\n\tid int\n\tdirectory \"a/{T}\"\n\tfield 1 ID id\n\tfield 2 M *message(M)\nmessage M\n\tfield 1 M []message(M)\n")
	f.Add("type A\nfield 1 A []message(A)\nfield 2 T text(X) was string\nscatter 16")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseType(text)
		if err != nil {
			return
		}
		again, err := ParseType(s.Text())
		if err != nil || again.Text() != s.Text() {
			t.Fatalf("%q became\n%s\n%v", text, s.Text(), err)
		}
		if list := Coexistence(s, again); len(list) > 0 {
			t.Fatalf("%q differs from itself: %+v", text, list)
		}
		if _, more := Union(s, again); more {
			t.Fatalf("%q adds to itself", text)
		}
	})
}
