// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"go/types"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// messageOf returns the message of a named struct and walks its fields when it
// is first met.
func (c *collector) messageOf(named *types.Named) *model.Message {
	key := types.TypeString(named, nil)
	if m := c.byType[key]; m != nil {
		c.reason = cmp.Or(c.reason, m.Reason)
		return m
	}
	m := &model.Message{
		GoName: named.Obj().Name(), Name: c.messageName(named), Named: named,
		At: c.loaded.Position(named.Obj().Pos()),
	}
	c.byType[key] = m
	c.pkg.Messages = append(c.pkg.Messages, m)
	outside := c.isOutside(named.Obj().Pkg())
	if !outside {
		c.collectFields(m)
		return m
	}
	before := c.reason
	c.reason = ""
	c.foreign++
	c.collectFields(m)
	c.foreign--
	m.Reason = c.reason
	c.reason = cmp.Or(before, m.Reason)
	return m
}

// collectFields walks and checks the fields of a message.
func (c *collector) collectFields(m *model.Message) {
	m.Literal = c.walkFields(m, m.Named, nil, []*types.Named{m.Named})
	c.checkFieldNames(m)
}

// isOutside reports whether p is not the package that is generated for.
func (c *collector) isOutside(p *types.Package) bool { return p != nil && p.Path() != c.pkg.Path }

// messageName is the key-stable name of a nested struct: its Go name, with the
// import path if it is of another package, or what a blank field says.
func (c *collector) messageName(named *types.Named) string {
	name := c.stableName(named)
	s, ok := named.Underlying().(*types.Struct)
	if !ok || c.isOutside(named.Obj().Pkg()) {
		return name
	}
	for i := range s.NumFields() {
		if s.Field(i).Name() != "_" || markerOf(s.Field(i).Type()) != "" {
			continue
		}
		site := c.siteOf(named.Obj().Name(), s, i)
		if t, found := c.parseTag(site); found {
			options, faults := tags.ParseFieldOptions(t)
			if len(faults) == 0 && (options.Name == "" || len(options.Offsets) > 1) {
				faults = []tags.Fault{{Offset: t.Offset(0), Message: "a blank field can only name its struct: name=…"}}
			}
			c.reportTag(site, faults)
			name = options.Name
		}
	}
	return name
}

// stableName is the Go name of a type, with the import path if it is of another
// package. Names are words of persist.lock.
func (c *collector) stableName(named *types.Named) string {
	name := types.TypeString(named, func(p *types.Package) string {
		if c.isOutside(p) {
			return p.Path()
		}
		return ""
	})
	return strings.ReplaceAll(name, " ", "")
}

// takeReason returns and forgets the fault of a struct of another package.
func (c *collector) takeReason() string {
	reason := c.reason
	c.reason = ""
	return reason
}
