// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
)

// Message is a struct that is stored as one protobuf message.
type Message struct {
	GoName    string
	Name      string // in persist.lock: key-stable
	Named     *types.Named
	At        token.Position
	Fields    []*Field // flattened, in declaration order
	Literal   []*Slot  // the same as Go sees them, for composite literals
	Function  string   // suffix of its append and decode functions
	Recursive bool     // contains itself, directly or not
	Record    *Record  // if the struct has markers
	Reason    string   // why a struct of another package cannot be stored
}

// HoldsLock reports whether values of a type must not be copied, by the rule of go vet: a
// pointer to it, or to a part of it, has the methods Lock and Unlock, as a sync.Mutex.
func HoldsLock(t types.Type) bool {
	for array, ok := t.Underlying().(*types.Array); ok; array, ok = t.Underlying().(*types.Array) {
		t = array.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	isLocker := func(set *types.MethodSet) bool {
		return set.Lookup(nil, "Lock") != nil && set.Lookup(nil, "Unlock") != nil
	}
	if isLocker(types.NewMethodSet(types.NewPointer(t))) && !isLocker(types.NewMethodSet(t)) {
		return true
	}
	for f := range s.Fields() {
		if HoldsLock(f.Type()) {
			return true
		}
	}
	return false
}

// Slot is one Go field of a struct: a stored field or an embedded struct.
type Slot struct {
	GoName   string
	Field    *Field // nil for an embedded struct
	Embedded []*Slot
	Type     types.Type
}

// FieldsByNumber returns the fields in the order of their numbers.
func (m *Message) FieldsByNumber() []*Field {
	return slices.SortedFunc(slices.Values(m.Fields), func(a, b *Field) int { return cmp.Compare(a.Number, b.Number) })
}

// FindField returns the field with that Go name: of several, the one that is
// embedded least deep, as in Go.
func (m *Message) FindField(name string) *Field {
	var best *Field
	for _, f := range m.Fields {
		if f.GoName == name && (best == nil || len(f.Path) < len(best.Path)) {
			best = f
		}
	}
	return best
}

func (m *Message) FieldNames() []string {
	var names []string
	for _, f := range m.Fields {
		names = append(names, f.GoName)
	}
	return names
}

// Declarations are the package-level names that are generated for a message,
// and for the record that it is.
func (m *Message) Declarations() []string {
	names := []string{"append" + m.Function, "decode" + m.Function, m.KnownVar(), m.KnownVar() + "Optional"}
	if m.Record != nil {
		names = append(names, m.Record.Declarations()...)
	}
	return names
}

// KnownVar is the variable with the field numbers of a message.
func (m *Message) KnownVar() string { return Unexported(m.Function) + "Known" }
