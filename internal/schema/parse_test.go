// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/newer"
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
		"format 3":              "1: format 3 was written by a newer persistgen",
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

// TestNeeds: a text that needs what this program does not know is refused, unless it may be read
// without it: then unknown lines and options are passed over. A lock, which persistgen
// writes, is refused in both cases. None of this is called damage.
func TestNeeds(t *testing.T) {
	const rest = "type A\nid int\nsort nfc\ndirectory \"a\"\nfield 1 ID id\nfield 2 B string fold=nfc15 default \"b\" rank=2 was text(X)\n"
	_, err := ParseType("needs fold v0.2.0\nneeds enum v0.3.0 read\n" + rest)
	if !errors.Is(err, newer.Err) || !strings.Contains(err.Error(), "it needs fold, which this program does not know: run version v0.2.0 or later") {
		t.Errorf("a word that must be known: %v", err)
	}
	s, err := ParseType("needs enum v0.3.0 read\n" + rest)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Type().Field("B")
	if s.Type().Directory != "a" || b.Default != `"b"` || len(b.Was) != 1 || newer.CheckWrite(s.Needs) == nil {
		t.Errorf("%+v, %+v, %v", s.Type(), b, s.Needs)
	}
	if _, err := ParseType(rest); err == nil || errors.Is(err, newer.Err) {
		t.Errorf("unknown words that nothing needs: %v", err)
	}
	lock := "format 2\nneeds enum v0.3.0 read\n" + rest
	if _, faults := ParseLock([]byte(lock)); len(faults) != 1 || !strings.Contains(faults[0].Message, "run version v0.3.0 or later") {
		t.Errorf("a lock: %v", faults)
	}
	if _, err := ParseType("needs fold in another form\n" + rest); !errors.Is(err, newer.Err) {
		t.Errorf("a need as a later version may write it: %v", err)
	}
}

// TestNeedsAreKept: what a schema needs stays in its texts, in unions and in its parts.
func TestNeedsAreKept(t *testing.T) {
	with := typeOf(t, "field 1 ID id")
	with.Needs = []newer.Need{{Name: "fold", Since: "v0.2.0"}, {Name: "enum", Since: "v0.3.0", Read: true}}
	const lines = "needs enum v0.3.0 read\nneeds fold v0.2.0\n"
	if text := with.Text(); !strings.HasPrefix(text, lines+"type ") {
		t.Errorf("the text is\n%s", text)
	}
	if text := string(with.Lock()); !strings.Contains(text, "format 2\n"+lines) {
		t.Errorf("the lock is\n%s", text)
	}
	plain := typeOf(t, "field 1 ID id")
	if union, more := Union(plain, with); !more || len(union.Needs) != 2 {
		t.Errorf("the union has %v", union.Needs)
	}
	if union, more := Union(with, plain); more || len(union.Needs) != 2 {
		t.Errorf("the union has %v", union.Needs)
	}
	if n := len(with.Scattered(4).Needs) + len(with.OfType(with.Type().Name).Needs); n != 4 {
		t.Errorf("the parts have %d needs", n)
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
	f.Add("format 3")
	f.Add("format 2\nneeds a v0.1.0 read\ntype A\nfield 1 A id b\n")
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
