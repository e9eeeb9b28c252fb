// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

// note is a record of strings with fields that differ from program to program.
type note struct {
	id     int64
	values map[string]string
}

// noteProgram is one version of a program that keeps notes.
type noteProgram struct {
	origin    string
	directory string         // as in persist.lock: one {Field}, or two
	numbers   map[string]int // of the fields, from 2
	kinds     map[string]string
	more      string // further lines of its lock: nested structs
}

func (p noteProgram) lock() string {
	lines := []string{"type Note", "origin " + p.origin, "id int", fmt.Sprintf("directory %q", p.directory), "field 1 ID int64"}
	names := slices.SortedFunc(maps.Keys(p.numbers), func(a, b string) int { return p.numbers[a] - p.numbers[b] })
	for _, name := range names {
		kind := "string"
		if p.kinds[name] != "" {
			kind = p.kinds[name]
		}
		lines = append(lines, fmt.Sprintf("field %d %s %s", p.numbers[name], name, kind))
	}
	return strings.Join(lines, "\n") + "\n" + p.more
}

// noteStore is a store of notes as a program sees it.
type noteStore struct {
	persistable.Store[*note, int64]
}

// store returns the program's store; it has an index on each of the fields.
func (p noteProgram) store(db *persistable.DB, indexed []string, args ...string) *noteStore {
	known := []int32{1}
	for _, number := range p.numbers {
		known = append(known, int32(number))
	}
	slices.Sort(known)
	schema := &persistimpl.Schema{
		Type: "Note", Lock: p.lock(),
		IDs:    &persistimpl.IDs[int64]{Append: persistimpl.AppendInt[int64], Parse: persistimpl.ReadInt[int64]},
		ID:     func(v any) any { return &v.(*note).id },
		Encode: func(b []byte, v any) ([]byte, error) { return p.encode(b, v.(*note)) },
		Decode: func(b []byte, s *wire.Strings) (any, error) {
			v := new(note)
			return v, p.decode(b, v)
		},
		Known: &wire.FieldSet{Numbers: known},
	}
	if len(args) > 0 {
		schema.CheckArgs = func(any, []string) (field, got string, ok bool) { return "", "", true }
		schema.FillArgs = func(any, []string) {}
	}
	for _, element := range strings.Split(p.directory, "/") {
		name, isField := strings.CutPrefix(element, "{")
		if isField {
			schema.Directory = append(schema.Directory, persistimpl.PathElement{Field: strings.TrimSuffix(name, "}")})
		} else {
			schema.Directory = append(schema.Directory, persistimpl.PathElement{Name: name})
		}
	}
	for _, name := range indexed {
		schema.Indexes = append(schema.Indexes, index.Definition{Name: index.Name("Note", name), Fields: []string{name}, Signature: "string"})
		schema.Entries = func(i int, e *index.Entries, v any) {
			e.End(persistimpl.AppendString(e.Begin(), v.(*note).values[indexed[i]]))
		}
	}
	return &noteStore{persistimpl.NewStore[*note, int64](db, schema, args...)}
}

func (p noteProgram) encode(b []byte, v *note) ([]byte, error) {
	b = wire.AppendZigzag(append(b, 0x08), v.id)
	for _, name := range slices.Sorted(maps.Keys(p.numbers)) {
		if v.values[name] != "" {
			b = wire.AppendString(append(b, byte(p.numbers[name]<<3|2)), v.values[name])
		}
	}
	return b, nil
}

func (p noteProgram) decode(b []byte, v *note) error {
	v.values = map[string]string{}
	r := wire.NewReader(b)
	for r.Next() {
		name := ""
		for field, number := range p.numbers {
			if r.Field() == int32(number) {
				name = field
			}
		}
		switch {
		case r.Field() == 1:
			v.id = r.Zigzag()
		case name != "":
			v.values[name] = r.String()
		default:
			r.Skip()
		}
	}
	return r.Err()
}

// attempts are all that can be done with a store.
func (s *noteStore) attempts(indexed bool) map[string]error {
	all := map[string]error{
		"Get": second(s.Get(ctx, 1)), "GetMany": second(s.GetMany(ctx, []int64{1, 2})), "Exists": second(s.Exists(ctx, 1)),
		"Scan": second(s.Scan().Slice(ctx)), "Reverse": second(s.Scan().Reverse().Slice(ctx)), "Count": second(s.Scan().Count(ctx)),
		"Page": second(s.Scan().Page(ctx, "")), "First": second(s.Scan().First(ctx)),
		"Create": s.Create(ctx, &note{id: 7}), "Save": s.Save(ctx, &note{id: 1}), "Delete": s.Delete(ctx, 1),
		"Indexes().Build": s.Indexes().Build(ctx, persistable.BuildOptions{}), "Indexes().RemoveUnused": s.Indexes().RemoveUnused(ctx), "Verify": second(s.Indexes().Verify(ctx, persistable.VerifyOptions{})),
	}
	if indexed {
		all["index"] = second(persistimpl.Query(&s.Store, 0, nil).Slice(ctx))
		all["Indexes().Rebuild"] = s.Indexes().Rebuild(ctx, "Note_A", persistable.BuildOptions{})
	}
	return all
}

// TestSchemaErrors: a store that was written with another schema is refused by
// every operation, with the difference and a way out that spares the data;
// nothing is written, in the process that has used the store or in a new one.
func TestSchemaErrors(t *testing.T) {
	base := noteProgram{origin: "example.com/a", directory: "t/{Region}/{Org}", numbers: map[string]int{"A": 2, "B": 3}}
	with := func(change func(p *noteProgram)) noteProgram {
		p := base
		p.numbers = maps.Clone(base.numbers)
		change(&p)
		return p
	}
	nested := func(fields ...string) func(p *noteProgram) {
		return func(p *noteProgram) {
			p.numbers["C"], p.kinds = 4, map[string]string{"C": "[]message(M)"}
			p.more = "message M\nfield 1 " + fields[0] + " string\nfield 2 " + fields[1] + " string\n"
		}
	}
	for name, c := range map[string]struct {
		writer, reader noteProgram
		want           persistable.SchemaDifference
		text           []string
	}{
		"a lost lock": {
			base, with(func(p *noteProgram) { p.numbers = map[string]int{"B": 2, "A": 3} }),
			persistable.SchemaDifference{Field: "B", Number: 2, Store: "A", Program: "B", Reason: "the number 2 is the field A in the store, and B in this program"},
			[]string{"restore it from version control", "name=", "-check -against", "nothing was read or written"},
		},
		"other fields in the directory": {
			base, with(func(p *noteProgram) { p.directory = "t/{Org}/{Region}" }),
			persistable.SchemaDifference{Store: "t/{Region}/{Org}", Program: "t/{Org}/{Region}", Reason: "its directory is t/{Region}/{Org} in the store, and t/{Org}/{Region} in this program"},
			[]string{"restore the Directory marker"},
		},
		"another package": {
			base, with(func(p *noteProgram) { p.origin, p.numbers = "example.com/b", map[string]int{"X": 2} }),
			persistable.SchemaDifference{Store: "example.com/a", Program: "example.com/b", Reason: "it belongs to the package example.com/a in the store, and to example.com/b in this program"},
			[]string{"two packages", "another name with persistable.Type", "must move with it"},
		},
		"another package that has the same fields": {
			base, with(func(p *noteProgram) { p.origin = "example.com/b" }),
			persistable.SchemaDifference{Store: "example.com/a", Program: "example.com/b", Reason: "it belongs to the package example.com/a in the store, and to example.com/b in this program"},
			[]string{"two packages"},
		},
		"a kind": {
			base, with(func(p *noteProgram) { p.kinds = map[string]string{"A": "text(net/netip.Addr)"} }),
			persistable.SchemaDifference{Field: "A", Number: 2, Store: "string", Program: "text(net/netip.Addr)", Reason: "the field A (2) is string in the store, and text(net/netip.Addr) in this program"},
			[]string{"was=string", "UnmarshalText refuses"},
		},
		"a kind that cannot be": {
			base, with(func(p *noteProgram) { p.kinds = map[string]string{"A": "int64"} }),
			persistable.SchemaDifference{Field: "A", Number: 2, Store: "string", Program: "int64", Reason: "the field A (2) is string in the store, and int64 in this program"},
			[]string{"restore it or add a new field"},
		},
		"fields of a nested struct": {
			with(nested("X", "Y")), with(nested("Y", "X")),
			persistable.SchemaDifference{Field: "C.Y", Number: 1, Store: "X", Program: "Y", Reason: "the number 1 of C is the field X in the store, and Y in this program"},
			[]string{"restore it from version control"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := enginetest.Open(t)
			db := open(t, engine)
			check(t, c.writer.store(db, []string{"A"}, "eu", "us").Create(ctx, &note{id: 1, values: map[string]string{"A": "a", "B": "b"}}))
			before := dump(t, db)
			for _, db := range []*persistable.DB{db, open(t, engine)} {
				for verb, err := range c.reader.store(db, []string{"A"}, "eu", "us").attempts(true) {
					e := wantAs[*persistable.SchemaError](t, err)
					got := e.Differences[0]
					got.Remedy = ""
					if diff := cmp.Diff(c.want, got); diff != "" || e.Type != "Note" || !slices.Equal(e.Path, []string{"t", "eu", "us"}) {
						t.Errorf("%s: %v (-want +got):\n%s", verb, e, diff)
					}
					for _, text := range append(c.text, c.want.Reason) {
						if !strings.Contains(e.Error(), text) {
							t.Errorf("%s: %q is not in %v", verb, text, e)
						}
					}
				}
			}
			if diff := cmp.Diff(before, dump(t, db)); diff != "" {
				t.Errorf("something was written (-before +after):\n%s", diff)
			}
			if got := must[*note](t)(c.writer.store(open(t, engine), []string{"A"}, "eu", "us").Get(ctx, 1)); got.values["A"] != "a" || got.values["B"] != "b" {
				t.Errorf("the record is %v", got.values)
			}
		})
	}
}

// TestSchemaOfProgramsByTurns: programs that only know more or less of a type can
// all go on, in whatever order they begin. Each adds to the header
// once, and then none of them changes it.
func TestSchemaOfProgramsByTurns(t *testing.T) {
	programs := []noteProgram{
		{numbers: map[string]int{"A": 2, "B": 3}},
		{numbers: map[string]int{"A": 2, "C": 4}, kinds: map[string]string{"A": "text(X) was string"}}, // B was removed
		{numbers: map[string]int{"A": 2, "C": 4, "D": 5}, kinds: map[string]string{"A": "string was text(X)"}},
	}
	for i := range programs {
		programs[i].origin, programs[i].directory = "example.com/a", "notes"
	}
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		for round, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}} {
			id := int64(round + 1)
			for turn := range 3 {
				for _, i := range order {
					check(t, programs[i].store(db, nil).Save(ctx, &note{id: id, values: map[string]string{"A": fmt.Sprint("by ", i, turn), "B": "b", "C": "c", "D": "d"}}))
					for j := range programs {
						got := must[*note](t)(programs[j].store(db, nil).Get(ctx, id))
						if got.values["A"] != fmt.Sprint("by ", i, turn) {
							t.Fatalf("program %d reads %v after program %d wrote", j, got.values, i)
						}
					}
				}
			}
			want := map[string]string{"A": "by " + fmt.Sprint(order[2], 2), "C": "c", "D": "d"}
			if diff := cmp.Diff(want, must[*note](t)(programs[2].store(db, nil).Get(ctx, id)).values); diff != "" {
				t.Errorf("order %v (-want +got):\n%s", order, diff)
			}
			header := headerOf(t, db)
			for _, i := range order {
				check(t, programs[i].store(db, nil).Save(ctx, &note{id: id}))
			}
			if again := headerOf(t, db); again != header {
				t.Errorf("the header changes for ever, from %s to %s", header, again)
			}
			check(t, db.RemoveDirectory(ctx, "notes"))
		}
	})
}

// headerOf returns the text of the schema in the header of the notes.
func headerOf(t testing.TB, db *persistable.DB) string {
	t.Helper()
	key := slices.Concat(prefixOf(t, db, "notes"), must[[]byte](t)(tuple.Tuple{"S", "Note"}.Pack()))
	return must[tuple.Tuple](t)(tuple.Unpack(dump(t, db)[string(key)]))[2].(string)
}

// TestSchemasAtRandom: programs with random fields and numbers, some from one
// history, some whose lock was lost, write and read one store by turns. What a
// program reads of a field is what was last written of it under that name by a
// program that knows it, or an error; never what belongs to another field.
func TestSchemasAtRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db := open(t, enginetest.Open(t))
		defer closeDB(t, db)
		history := map[string]int{"A": 2, "B": 3, "C": 4, "D": 5, "E": 6, "F": 7}
		names := slices.Sorted(maps.Keys(history))
		want := map[string]string{}
		for step := range 20 {
			p := noteProgram{origin: "example.com/a", directory: "notes", numbers: map[string]int{}}
			lost := rapid.IntRange(0, 4).Draw(rt, "lost") == 0
			fields := rapid.Permutation(names).Draw(rt, "fields")[:rapid.IntRange(1, len(names)).Draw(rt, "n")]
			for i, name := range fields {
				p.numbers[name] = history[name]
				if lost {
					p.numbers[name] = i + 2
				}
			}
			s := p.store(db, nil)
			if rapid.Bool().Draw(rt, "read") {
				got, err := s.Get(ctx, 1)
				if err != nil {
					continue // no record yet, or another schema
				}
				for _, name := range fields {
					if got.values[name] != want[name] {
						rt.Fatalf("step %d: %v reads %s = %q, want %q", step, p.numbers, name, got.values[name], want[name])
					}
				}
				continue
			}
			next := &note{id: 1, values: map[string]string{}}
			for _, name := range fields {
				next.values[name] = fmt.Sprint(name, " in step ", step)
			}
			if s.Save(ctx, next) == nil {
				maps.Copy(want, next.values)
			}
		}
	})
}

// late is a record. Its struct may be newer than the code that was generated for it.
type late struct {
	_     persistable.Type `persist:"Late"`
	ID    int64
	Title string `persist:"name=Subject"`
	Cache string `persist:"-"`
	Lines map[string][]lateLine
	lateStamp
	Version persistable.Version
}

type lateLine struct {
	_      struct{} `persist:"name=Line"`
	Amount int64
	Next   *lateLine
}

type lateStamp struct{ By string }

// TestStaleGeneratedCode gives the run-time code that was generated before a field was
// added. It compiles, and would lose what the program writes to the field.
func TestStaleGeneratedCode(t *testing.T) {
	const whole = "type Late\norigin example.com/late\nid int\ndirectory \"late\"\nfield 1 ID int64\nfield 2 Subject string\n" +
		"field 3 Lines map[string]message(Line)\nfield 4 By string\n\nmessage Line\nfield 1 Amount int64\nfield 2 Next *message(Line)\n"
	db := open(t, enginetest.Open(t))
	for _, c := range []struct{ lacks, instead, field string }{
		{"", "", ""},
		{"field 2 Subject string\n", "", "Title"},
		{"field 4 By string\n", "", "lateStamp.By"},
		{"field 1 Amount int64\n", "", "Lines.Amount"},
		{"field 4 By", "reserved 4 By", "lateStamp.By"}, // it was removed, and is here again
	} {
		schema := &persistimpl.Schema{
			Type: "Late", Lock: strings.Replace(whole, c.lacks, c.instead, 1), Directory: []persistimpl.PathElement{{Name: "late"}},
			IDs:    &persistimpl.IDs[int64]{Append: persistimpl.AppendInt[int64], Parse: persistimpl.ReadInt[int64]},
			ID:     func(v any) any { return &v.(*late).ID },
			Encode: func(b []byte, v any) ([]byte, error) { return b, nil },
			Decode: func([]byte, *wire.Strings) (any, error) { return new(late), nil },
			Known:  &wire.FieldSet{Numbers: []int32{1}},
		}
		store := persistimpl.NewStore[*late, int64](db, schema)
		err := store.Save(t.Context(), &late{ID: 1})
		if want := "late has the field " + c.field + ", which its generated code does not store: run go generate"; c.field != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Save is %v, want: %s", err, want)
		} else if c.field == "" && err != nil {
			t.Error(err)
		}
	}
}

// TestConstantsOfPrograms: programs with more constants, with fewer, with another name for one and with none share a
// store, in any order. One with other values does not, and the error says what to do.
func TestConstantsOfPrograms(t *testing.T) {
	program := func(constants string) noteProgram {
		p := noteProgram{origin: "p", directory: "notes", numbers: map[string]int{"Plan": 2}}
		if constants != "" {
			p.kinds, p.more = map[string]string{"Plan": "string enum Plan"}, "enum Plan\n"+constants
		}
		return p
	}
	good := []noteProgram{
		program(""), program("constant Open 1\nconstant Done 2\n"), program("constant Open 1\nconstant Closed 2 was Done\n"),
		program("constant Open 1\nconstant Closed 2 was Done\nconstant Late 3\n"), program("constant Open 1\n"),
	}
	bad := program("constant Open 1\nconstant Late 2\nconstant Done 3\n")
	random := seed.Rand(t)
	for range 20 {
		db := open(t, enginetest.Open(t))
		for i, n := range random.Perm(len(good)) {
			check(t, good[n].store(db, nil).Create(ctx, &note{id: int64(i + 1), values: map[string]string{"Plan": "x"}}))
		}
		err := bad.store(db, nil).Create(ctx, &note{id: 100})
		fault := wantAs[*persistable.SchemaError](t, err)
		if len(fault.Differences) == 0 || !strings.Contains(err.Error(), "the field Plan has the constant") || !strings.Contains(err.Error(), "give the constants the values that the store has") {
			t.Error(err)
		}
		history := must[[]persistable.SchemaVersion](t)(good[0].store(db, nil).Indexes().History(ctx))
		text := history[len(history)-1].Schema
		for _, line := range []string{"constant Open 1\n", "constant Closed 2 was Done\n", "constant Late 3\n"} {
			if strings.Count(text, line) != 1 || strings.Contains(text, "constant Done") {
				t.Errorf("the header is\n%s", text)
			}
		}
	}
}
