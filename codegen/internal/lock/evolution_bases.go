// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// findBases finds the block of each message. A record's is that of its name. A
// nested struct's is the one that a field held which now holds the struct: what
// is stored depends on the field, not on the struct's name or package, so both
// may change. A struct that no field held before has the block of its name, if
// there is one.
func (e *Evolution) findBases() {
	for _, r := range e.Package.Records {
		e.bases[r.Message] = e.old.Block(r.Name)
	}
	for _, r := range e.Package.Records {
		e.findBasesBelow(r.Message, map[*model.Message]bool{})
	}
	for _, m := range e.Package.Messages {
		if e.bases[m] == nil {
			e.bases[m] = e.old.Block(m.Name)
		}
		if e.bases[m] == nil {
			e.bases[m] = &schema.Block{}
		}
	}
}

func (e *Evolution) findBasesBelow(m *model.Message, seen map[*model.Message]bool) {
	if seen[m] || e.bases[m] == nil {
		return
	}
	seen[m] = true
	for _, f := range m.Fields {
		inner, was := f.Kind.InnerMessage(), e.bases[m].Field(f.Name)
		if inner == nil || was == nil {
			continue
		}
		if b := e.old.Message(was); b != nil && e.bases[inner] == nil {
			e.bases[inner] = b
		}
		e.findBasesBelow(inner, seen)
	}
}
