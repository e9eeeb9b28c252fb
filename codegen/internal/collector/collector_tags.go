// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/token"
	"go/types"
	"strconv"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// siteOf finds the source of the i-th field of a struct.
func (c *collector) siteOf(owner string, s *types.Struct, i int) fieldSite {
	v := s.Field(i)
	c.loaded.Read[v.Pos()] = true
	site := fieldSite{pos: v.Pos(), at: c.loaded.Position(v.Pos()), subject: owner + "." + v.Name()}
	if v.Name() == "_" {
		site.subject = owner
	}
	if f := c.loaded.Fields[v.Pos()]; f != nil && f.Tag != nil {
		site.literal, site.tagAt = f.Tag.Value, c.loaded.Position(f.Tag.Pos())
	} else if s.Tag(i) != "" {
		site.literal = strconv.Quote(s.Tag(i))
	}
	return site
}

// parseTag parses the field's persist tag and reports its faults.
func (c *collector) parseTag(s fieldSite) (tags.Tag, bool) {
	if s.literal == "" {
		return tags.Tag{}, false
	}
	t, found, at, err := tags.Parse(s.literal)
	if err != nil {
		c.report(s.inTag(at), s.subject, err.Error())
	}
	return t, found
}

// report records a fault of the package's own source, or, within a struct of
// another package, keeps it for the field that led there.
func (c *collector) report(at token.Position, subject, message string) {
	if c.foreign == 0 {
		c.Add(at, subject, "%s", message)
		return
	}
	if c.reason == "" {
		c.reason = subject + ": " + message
	}
}

// reportTag records the faults of a tag.
func (c *collector) reportTag(s fieldSite, found []tags.Fault) {
	for _, one := range found {
		c.report(s.inTag(one.Offset), s.subject, one.Message)
	}
}
