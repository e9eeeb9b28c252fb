// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

func (b *Block) writeText(out *bytes.Buffer) {
	word, removed := "message", ""
	if b.IsType {
		word = "type"
	}
	if b.Removed {
		removed = " removed"
	}
	if b.Confirmed {
		removed += " " + confirmed
	}
	fmt.Fprintf(out, "%s %s%s\n", word, b.Name, removed)
	if b.Origin != "" {
		fmt.Fprintf(out, "\torigin %s\n", b.Origin)
	}
	if b.ID != "" {
		fmt.Fprintf(out, "\tid %s\n", b.ID)
	}
	if b.Directory != "" {
		fmt.Fprintf(out, "\tdirectory %s\n", strconv.Quote(b.Directory))
	}
	if b.Scatter != 0 {
		fmt.Fprintf(out, "\tscatter %d\n", b.Scatter)
	}
	b.writeFields(out)
	b.writeIndexes(out)
}

func (b *Block) writeFields(out *bytes.Buffer) {
	for _, f := range slices.SortedFunc(slices.Values(b.Fields), func(x, y *Field) int { return cmp.Compare(x.Number, y.Number) }) {
		fmt.Fprintf(out, "\t%s\n", f.Text())
	}
}

func (b *Block) writeIndexes(out *bytes.Buffer) {
	for _, x := range slices.SortedFunc(slices.Values(b.Indexes), func(x, y *Index) int { return cmp.Compare(x.Name, y.Name) }) {
		word := "index"
		if x.Removed {
			word = "dropped"
		}
		fmt.Fprintf(out, "\t%s %s %s", word, x.Name, x.Signature)
		if x.Confirmed {
			out.WriteString(" " + confirmed)
		}
		out.WriteByte('\n')
	}
}
