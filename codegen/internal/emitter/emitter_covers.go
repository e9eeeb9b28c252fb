// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// coveredFields are the fields that an index copies, by their numbers.
func coveredFields(d *model.Index) []*model.Field {
	return slices.SortedFunc(slices.Values(d.CoverFields), func(a, b *model.Field) int { return cmp.Compare(a.Number, b.Number) })
}

// withoutDefault returns the field as an entry has it: what is absent there is zero.
func withoutDefault(f *model.Field) *model.Field {
	plain := *f
	plain.Default = ""
	return &plain
}

// writeCovers writes the function that encodes the fields which entries copy. The record
// was encoded before, so its strings are valid.
func (e *emitter) writeCovers(r *model.Record) {
	if !slices.ContainsFunc(r.Indexes, func(d *model.Index) bool { return len(d.CoverFields) > 0 }) {
		return
	}
	w := &encoder{emitter: e, m: r.Message, sound: true}
	w.printf("switch i {")
	for i, d := range r.Indexes {
		if len(d.CoverFields) == 0 {
			continue
		}
		w.printf("case %d:", i)
		for _, f := range coveredFields(d) {
			w.writeField(withoutDefault(f))
		}
	}
	w.printf("}")
	e.printf("Covers: func(i int, b []byte, record any) []byte {\nv := record.(*%s)", e.recordType(r))
	if w.usesAt {
		e.printf("var at int")
	}
	e.printer.printf("%s", strings.Join(w.lines, "\n"))
	e.printf("return b\n},")
}
