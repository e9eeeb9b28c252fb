// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
	"pgregory.net/rapid"
)

// draft is the source of a package as its author edits it: the struct T and the
// structs nested in it.
type draft struct {
	structs   map[string][]draftField // by Go name
	directory []string                // Go names of fields of T
}

// draftField is a field: its Go name, its name in the lock, and a kind, or the
// struct that it holds.
type draftField struct{ goName, name, kind, holds, was string }

func (d draft) clone() draft {
	c := draft{map[string][]draftField{}, slices.Clone(d.directory)}
	for name, fields := range d.structs {
		c.structs[name] = slices.Clone(fields)
	}
	return c
}

// draftKinds are the kinds that fields get.
var draftKinds = []string{"string", "int32", "int64", "*int64", "binary(A)", "binary(B)", "text(A)", "bytes"}

// kindNamed is the model of a kind.
func kindNamed(text string) *model.Kind {
	k, _ := schema.ParseKind(text)
	base := map[string]*model.Kind{
		"string": {Form: model.FormString}, "int32": {Form: model.FormInt, Bits: 32}, "int64": {Form: model.FormInt, Bits: 64}, "bytes": {Form: model.FormBytes},
		"binary": {Form: model.FormBinary, Codec: k.Arg}, "text": {Form: model.FormText, Codec: k.Arg},
	}[k.Base]
	if k.Wrap == "*" {
		return &model.Kind{Form: model.FormPointer, Elem: base}
	}
	return base
}

// model is what collect would make of the draft.
func (d draft) model() *model.Package {
	p := &model.Package{Name: "user", Path: "example.com/user", Dir: "/user"}
	messages := map[string]*model.Message{}
	var visit func(name string) *model.Message
	visit = func(name string) *model.Message {
		if m := messages[name]; m != nil {
			return m
		}
		m := &model.Message{GoName: name, Name: name}
		messages[name], p.Messages = m, append(p.Messages, m)
		for _, f := range d.structs[name] {
			one := &model.Field{GoName: f.goName, Name: f.name, Subject: name + "." + f.goName}
			one.Options.Was = f.was
			if one.Kind = kindNamed(f.kind); f.holds != "" {
				one.Kind = &model.Kind{Form: model.FormMessage, Message: visit(f.holds)}
			}
			m.Fields = append(m.Fields, one)
		}
		return m
	}
	m := visit("T")
	m.Record = &model.Record{GoName: "T", Name: "T", Message: m, IDField: m.Fields[0]}
	m.Fields[0].Number = tags.IDNumber
	for _, name := range d.directory {
		m.Record.Directory.Elements = append(m.Record.Directory.Elements, model.DirectoryElement{PathElement: tags.PathElement{Field: name}, Bound: m.FindField(name)})
	}
	p.Records = []*model.Record{m.Record}
	return p
}

// edit changes the draft as people do, rightly and wrongly.
func (d draft) edit(t *rapid.T) {
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(d.structs))).Draw(t, "struct")
	fields, first := d.structs[name], 0
	if name == "T" {
		first = 3 // the ID and the fields of the directory
	}
	at := -1
	if len(fields) > first {
		at = rapid.IntRange(first, len(fields)-1).Draw(t, "field")
	}
	free := func(names ...string) string {
		return rapid.SampledFrom(slices.DeleteFunc(names, func(n string) bool {
			return slices.ContainsFunc(fields, func(f draftField) bool { return f.name == n || f.goName == n })
		})).Draw(t, "name")
	}
	pool := []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N"}
	switch op := rapid.IntRange(0, 9).Draw(t, "edit"); {
	case op == 0:
		d.directory[0], d.directory[1] = d.directory[1], d.directory[0]
	case op <= 2 && len(fields) < 9 || at < 0:
		n := free(pool...)
		d.structs[name] = append(fields, draftField{goName: n, name: n, kind: rapid.SampledFrom(draftKinds).Draw(t, "kind")})
	case op == 3:
		d.structs[name] = slices.Delete(fields, at, at+1)
	case op == 4:
		other := rapid.IntRange(first, len(fields)-1).Draw(t, "other")
		fields[at], fields[other] = fields[other], fields[at]
	case op == 5: // renamed, and said so or not
		fields[at].goName = free(pool...)
		if rapid.Bool().Draw(t, "forgotten") {
			fields[at].name = fields[at].goName
		}
	case op == 6 && fields[at].holds == "":
		was := fields[at].kind
		if fields[at].kind = rapid.SampledFrom(draftKinds).Draw(t, "kind"); rapid.Bool().Draw(t, "said") && was != fields[at].kind {
			fields[at].was = was
		}
	case op == 7 && fields[at].holds != "": // embedded
		inner := d.structs[fields[at].holds]
		for _, f := range inner {
			if f.holds == "" && !slices.ContainsFunc(fields, func(g draftField) bool { return g.name == f.name || g.goName == f.name }) {
				fields = append(fields, draftField{goName: f.name, name: f.name, kind: f.kind})
			}
		}
		d.structs[name] = slices.Delete(fields, at, at+1)
	case op == 7:
		fields[at].holds, fields[at].was = rapid.SampledFrom([]string{"S1", "S2"}).Draw(t, "holds"), ""
	case op == 8: // the nested structs change their names
		d.renameStructs()
	}
}

// renameStructs gives S1 the name S2 and the other way round.
func (d draft) renameStructs() {
	d.structs["S1"], d.structs["S2"] = d.structs["S2"], d.structs["S1"]
	for _, fields := range d.structs {
		for i := range fields {
			if other := map[string]string{"S1": "S2", "S2": "S1"}[fields[i].holds]; other != "" {
				fields[i].holds = other
			}
		}
	}
}

// stands is what is stored under the numbers that lead to a value.
type stands struct{ names, kind string }

// leaves are what a program writes and reads: by numbers, its names and kinds.
func leaves(s *schema.Schema) map[string]stands {
	all := map[string]stands{}
	var visit func(b *schema.Block, numbers, names string, depth int)
	visit = func(b *schema.Block, numbers, names string, depth int) {
		for _, f := range b.Fields {
			n, v := fmt.Sprint(numbers, ".", f.Number), names+"."+f.Name
			if inner := s.Message(f); inner != nil {
				if depth > 0 {
					visit(inner, n, v, depth-1)
				}
				continue
			}
			all[n] = stands{v, f.Kind}
		}
	}
	visit(s.Type(), "", "", 4)
	return all
}

// related reports whether a value of one kind may be read as the other.
func related(a, b string) bool {
	x, _ := schema.ParseKind(a)
	y, _ := schema.ParseKind(b)
	_, forth := x.Change(y)
	_, back := y.Change(x)
	return forth || back
}

// TestRandomEvolution edits a package at random, loses its lock now and then, and
// runs every program that persistgen would write on one store, together with all
// earlier ones. A program reads from each field what was written under its name, or
// is refused. Programs of one lock are never refused.
func TestRandomEvolution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := draftField{goName: "ID", name: "ID", kind: "string"}
		org, region := draftField{goName: "Org", name: "Org", kind: "string"}, draftField{goName: "Region", name: "Region", kind: "string"}
		source := draft{map[string][]draftField{
			"T":  {id, org, region, {goName: "X", name: "X", holds: "S1"}},
			"S1": {{goName: "A", name: "A", kind: "string"}, {goName: "B", name: "B", kind: "string"}},
			"S2": {{goName: "C", name: "C", kind: "int32"}},
		}, []string{"Org", "Region"}}
		lock, lost := &schema.Schema{}, false
		var programs []*schema.Schema
		for range rapid.IntRange(2, 12).Draw(t, "edits") {
			next := source.clone()
			next.edit(t)
			if rapid.IntRange(0, 7).Draw(t, "lost") == 0 {
				lock, lost = &schema.Schema{}, true
			}
			e := Evolve(next.model(), lock, &diagnostic.List{})
			if len(e.Faults) > 0 {
				continue // refused: the source is restored
			}
			parsed, faults := schema.ParseLock(e.Next.Lock())
			if len(faults) > 0 {
				t.Fatalf("%s\n%v", e.Next.Lock(), faults)
			}
			source, lock = next, parsed
			program, err := schema.ParseType(e.Next.OfType("T").Text())
			if err != nil {
				t.Fatal(err)
			}
			programs = append(programs, program)
		}
		runBySide(t, programs, lost)
	})
}

// runBySide lets programs write and read one store in random order.
func runBySide(t *rapid.T, programs []*schema.Schema, lost bool) {
	if len(programs) == 0 {
		return
	}
	var header *schema.Schema
	stored := map[string]stands{}
	for range 12 {
		p := rapid.SampledFrom(programs).Draw(t, "program")
		if header == nil {
			header = p
		}
		if differences := schema.Coexistence(header, p); len(differences) > 0 {
			if !lost {
				t.Fatalf("a program of the same lock is refused: %s\nheader:\n%s\nprogram:\n%s", differences[0].Text("the store", "the program"), header.Text(), p.Text())
			}
			continue
		}
		if header.Type().Directory != p.Type().Directory {
			t.Fatalf("a store of %s is read as %s", header.Type().Directory, p.Type().Directory)
		}
		mine := leaves(p)
		for numbers, v := range mine {
			was, there := stored[numbers]
			if there && (was.names != v.names || !related(was.kind, v.kind)) {
				t.Fatalf("%v is read as %v", was, v)
			}
			for other, w := range stored {
				if w.names == v.names && other != numbers {
					t.Fatalf("%s is stored under %s and read under %s", v.names, other, numbers)
				}
			}
		}
		header, _ = schema.Union(header, p)
		maps.Copy(stored, mine)
		if again, more := schema.Union(header, p); more || again != header {
			t.Fatalf("the program adds to the header for ever:\n%s\n%s", header.Text(), p.Text())
		}
		for numbers := range stored {
			if !strings.HasPrefix(numbers, ".") || !knows(header, numbers) {
				t.Fatalf("the header does not know %s:\n%s", numbers, header.Text())
			}
		}
	}
}

// knows reports whether a header has the numbers that lead to a value.
func knows(header *schema.Schema, numbers string) bool {
	_, found := leaves(header)[numbers]
	return found
}
