// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strconv"
)

// uniteEnums returns the names of the union's enumerations of a field, those of a map's
// keys first.
func (u *unionBuilder) uniteEnums(there, here *Field) (names []string) {
	for i := range max(there.enumCount(), here.enumCount()) {
		both := [2]*Enum{u.store.Enum(there.enumName(i)), u.program.Enum(here.enumName(i))}
		name, made := u.enums[both]
		if !made && (both[0] != nil || both[1] != nil) {
			e := u.uniteConstants(both[0], both[1])
			name, u.enums[both], u.union.Enums = e.Name, e.Name, append(u.union.Enums, e)
		}
		names = append(names, name)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// uniteConstants returns the union of the two forms of an enumeration, one of which may be nil.
func (u *unionBuilder) uniteConstants(there, here *Enum) *Enum {
	name := here
	if there != nil {
		name = there
	}
	e := &Enum{Name: u.freeEnumName(name.Name)}
	if there != nil {
		e.Constants = slices.Clone(there.Constants)
	}
	if here != nil {
		for _, c := range here.Constants {
			u.more = e.add(c) || u.more
		}
	}
	return e
}

// freeEnumName returns the name, or one like it that no enumeration of the union has.
func (u *unionBuilder) freeEnumName(name string) string {
	for n, free := 2, name; ; n, free = n+1, name+strconv.Itoa(n) {
		if u.union.Enum(free) == nil {
			return free
		}
	}
}
