// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// difference is what differs between two schemas of a type.
type difference struct {
	there, here            string // words for the two
	was, now               *schema.Schema
	wasIndexes, nowIndexes map[string]string // signatures by name in keys
	succession             bool              // now was made from was
}

// take sets what is compared.
func (d *difference) take(was, now persistable.SchemaVersion) {
	d.was, d.now = parsed(was), parsed(now)
	d.wasIndexes, d.nowIndexes = signatures(was), signatures(now)
}

// parsed returns the schema of a version of a header, which was parsed when it was read.
func parsed(v persistable.SchemaVersion) *schema.Schema {
	s, _ := schema.ParseType(v.Schema)
	return s
}

// signatures returns the indexes of a header in the form of persist.lock.
func signatures(v persistable.SchemaVersion) map[string]string {
	all := map[string]string{}
	for _, ix := range v.Indexes {
		layout, where, partial := strings.Cut(ix.Layout, ":where=")
		text := strings.Join(strings.Fields(strings.ReplaceAll(layout, ":", " ")), " ")
		if partial {
			text = strings.TrimSpace(text + " where=" + where)
		}
		all[ix.KeyName] = text
	}
	return all
}

// line is one difference.
type line struct {
	Sign         string   `json:"sign"` // - + ~ !
	Text         string   `json:"text"`
	Consequences []string `json:"consequences,omitempty"`
}

// Lines implements [shell.Result].
func (l line) Lines() []string {
	lines := []string{l.Sign + " " + l.Text}
	for _, c := range l.Consequences {
		lines = append(lines, "    "+c)
	}
	return lines
}

// write shows all differences. It returns [errDisagree] if programs of the two must not
// share data.
func (d *difference) write(c *shell.Console) (result error) {
	all := slices.Concat(d.changes(), d.fields(), d.indexes())
	for _, l := range all {
		if l.Sign == "!" {
			result = errDisagree
		}
		if err := c.Write(l); err != nil {
			return err
		}
	}
	return result
}

// changes returns what internal/schema says of fields that both have, and of the types.
func (d *difference) changes() (all []line) {
	differences := schema.Coexistence(d.was, d.now)
	if d.succession {
		differences = schema.Succession(d.was, d.now, d.was.Type().Name)
	}
	for i := range differences {
		one := &differences[i]
		l := line{Sign: "!", Text: one.Text(d.there, d.here), Consequences: one.Consequences}
		if one.Allowed || d.isKept(one) {
			l.Sign = "~"
		}
		all = append(all, l)
	}
	if d.was.Type().Scatter != d.now.Type().Scatter {
		all = append(all, line{Sign: "~", Text: "the records are scattered differently: the first record of a directory decides"})
	}
	return all
}

// isKept reports whether a kind differs because the later schema says that the field had
// the kind of the earlier one.
func (d *difference) isKept(one *schema.Difference) bool {
	return one.Aspect == schema.FieldKind && one.HereField != nil && slices.Contains(one.HereField.Was, one.There)
}

// fields returns the fields that one of the two has, in all messages of both.
func (d *difference) fields() (all []line) {
	names := map[string]bool{}
	for _, s := range []*schema.Schema{d.was, d.now} {
		for _, b := range s.Blocks {
			names[b.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, now := d.was.Block(name), d.now.Block(name)
		all = append(all, missing("-", name, was, now)...)
		all = append(all, missing("+", name, now, was)...)
	}
	return all
}

// missing returns the fields of a message that its other form lacks.
func missing(sign, name string, of, other *schema.Block) (all []line) {
	if of == nil {
		return nil
	}
	for _, f := range of.Fields {
		if other == nil || other.ByNumber(f.Number) == nil {
			all = append(all, line{Sign: sign, Text: name + ": " + f.Text()})
		}
	}
	return all
}

// indexes returns the indexes that differ.
func (d *difference) indexes() (all []line) {
	names := slices.Collect(maps.Keys(d.wasIndexes))
	for name := range d.nowIndexes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, isThere := d.wasIndexes[name]
		now, isHere := d.nowIndexes[name]
		switch {
		case !isThere:
			all = append(all, d.indexLine("+", name+" "+now, "it is built before it is read"))
		case !isHere:
			all = append(all, d.indexLine("-", name+" "+was, ""))
		case was != now:
			all = append(all, d.indexLine("~", name+" "+was+", then "+now, "it is built again"))
		}
	}
	return all
}

// indexLine returns the line of an index. What is to be done about it is left out of a
// history, in which it was done.
func (d *difference) indexLine(sign, text, todo string) line {
	l := line{Sign: sign, Text: "index " + text}
	if todo != "" && !d.succession {
		l.Consequences = []string{todo}
	}
	return l
}
