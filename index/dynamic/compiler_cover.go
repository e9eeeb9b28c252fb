// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// addCover resolves the fields that entries copy. They are copied in the order of
// their numbers, as generated code encodes them.
func (c *compiler) addCover() error {
	p := c.program
	for _, name := range p.definition.CoverFields {
		one, err := c.newCoverField(name, c.nextKind())
		if err != nil {
			return err
		}
		p.cover = append(p.cover, one)
	}
	slices.SortFunc(p.cover, func(a, b coverField) int { return cmp.Compare(a.number, b.number) })
	return nil
}

func (c *compiler) newCoverField(name, kind string) (one coverField, err error) {
	f := c.schema.Type().Field(name)
	if f == nil {
		return one, fmt.Errorf("the schema of the store has no field %s", name)
	}
	for _, text := range append([]string{f.Kind}, f.Was...) {
		if k, ok := schema.ParseKind(text); ok && coverText(k) == kind {
			one = coverField{number: protowire.Number(f.Number), repeat: strings.HasSuffix(k.Wrap, "]")}
			one.preset = preset(f)
			return one, one.setKind(k)
		}
	}
	return one, fmt.Errorf("the field %s is %s in the store, and %s in the index", name, f.Kind, kind)
}
