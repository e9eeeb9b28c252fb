// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"fmt"
	"go/token"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// addEnums adds the enumerations of a field to the next lock. They go on from those that
// the field had, whatever their types are called now, or else from those of their names.
func (e *Evolution) addEnums(f *schema.Field, enums []*model.Enum, was *schema.Field) {
	for i, one := range enums {
		f.Enums = append(f.Enums, one.Name)
		if e.Next.Enum(one.Name) != nil {
			continue
		}
		base := e.old.Enum(one.Name)
		if was != nil && i < len(was.Enums) {
			base = e.old.Enum(was.Enums[i])
		}
		e.Next.Enums = append(e.Next.Enums, e.nextEnum(one, base))
	}
}

// nextEnum makes an enumeration: what the lock had, in its order, then what is new.
// A constant that left the source stays, unless another has its value by the option was.
func (e *Evolution) nextEnum(enum *model.Enum, base *schema.Enum) *schema.Enum {
	next := &schema.Enum{Name: enum.Name}
	inSource := map[string]model.EnumConstant{}
	for _, c := range enum.Constants {
		inSource[c.Name] = c
	}
	renamed := map[string]bool{}
	if base != nil {
		for _, was := range base.Constants {
			kept := *was
			now, found := inSource[was.Name]
			if kept.Gone = !found; found && !was.Any {
				kept.Value = now.Value
			}
			for _, name := range was.Was {
				renamed[name] = renamed[name] || found
			}
			next.Constants = append(next.Constants, &kept)
		}
	}
	for _, c := range enum.Constants {
		if next.Constant(c.Name) == nil {
			next.Constants = append(next.Constants, &schema.Constant{Name: c.Name, Value: c.Value})
		}
	}
	next.Constants = slices.DeleteFunc(next.Constants, func(c *schema.Constant) bool { return c.Gone && renamed[c.Name] })
	for _, c := range next.Constants {
		if now, found := inSource[c.Name]; found {
			e.constants[c] = now
		}
	}
	return next
}

// keepEnums keeps the enumerations of fields that are reserved.
func (e *Evolution) keepEnums() {
	for _, b := range e.Next.Blocks {
		for _, f := range b.Fields {
			for _, name := range f.Enums {
				if was := e.old.Enum(name); was != nil && e.Next.Enum(name) == nil {
					e.Next.Enums = append(e.Next.Enums, was)
				}
			}
		}
	}
}

// constantAt is where a constant of the next lock stands in the source.
func (e *Evolution) constantAt(d schema.Difference) token.Position {
	return e.constants[d.HereConstant].At
}

// constantRefusal is the refusal of a constant that would give stored values another
// meaning.
func (e *Evolution) constantRefusal(old Predecessor, f *model.Field, d schema.Difference) string {
	was, now := d.ThereConstant, d.HereConstant
	line := old.describeLine(was.Line)
	if d.Aspect == schema.Reused {
		return fmt.Sprintf("the value %s of the field %s was %s (%s), and is %s here: stored values that mean %s would be read as %s; give %s a value of its own; "+
			"if it is only a new name, change the line of %s in %s to %q",
			was.Value, f.Subject, was.Name, line, now.Name, was.Name, now.Name, now.Name, was.Name, e.LockFile(), "constant "+now.Name+" "+now.Value+" was "+was.Name)
	}
	return fmt.Sprintf("the constant was %s (%s), and is %s here: the field %s stores the value, so each stored %s would be read as %s; restore its value, and add new constants behind the last; "+
		"if no record has it, because it is a count or a limit, change its line in %s to %q",
		was.Value, line, now.Value, f.Subject, was.Name, e.Next.ValueName(now, was.Value), e.LockFile(), "constant "+now.Name+" any")
}
