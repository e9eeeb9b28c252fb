// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
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
	if m.IsBounded() {
		names = append(names, "check"+m.Function)
	}
	for _, f := range m.Fields {
		if f.Bound("match") != "" {
			names = append(names, m.MatchVar(f))
		}
	}
	if m.Record != nil {
		names = append(names, m.Record.Declarations()...)
	}
	return names
}

// MatchVar is the variable with the compiled regular expression of a field.
func (m *Message) MatchVar(f *Field) string { return Unexported(m.Function) + f.GoName + "Match" }

// KnownVar is the variable with the field numbers of a message.
func (m *Message) KnownVar() string { return Unexported(m.Function) + "Known" }

// Field is one stored field.
type Field struct {
	GoName  string
	Name    string   // key-stable: name=, or the Go name
	Path    []string // from the message through embedded structs, ending in goName
	At      token.Position
	Subject string
	Options tags.FieldOptions
	Kind    *Kind
	Number  int32
	Default string   // default=, as persist.lock and Go write it; "" for none
	Refers  *Record  // to records of this type; nil: to none
	Bounds  []string // min=, max=, maxlen= and match=, in that order, as persist.lock writes them
	Foreign bool     // of a struct of another package, which cannot be tagged here
	Short   bool     // the promoted selector v.goName is unambiguous
}

// Stamps are those of the options created, updated and deleted that the field has.
func (f *Field) Stamps() (options []string) {
	if f.Options.Created {
		options = append(options, schema.Created)
	}
	if f.Options.Updated {
		options = append(options, schema.Updated)
	}
	if f.Options.Deleted {
		options = append(options, schema.Deleted)
	}
	return options
}

// Rules are the words for persist.lock: what writes set in the field, and check of it, and to what it refers.
func (f *Field) Rules() []string {
	words := append(f.Stamps(), f.Bounds...)
	if f.Refers != nil {
		words = append(words, schema.Ref+"="+schema.Literal(f.Refers.Directory.StoredPath()+"/"+f.Refers.Name))
	}
	return words
}

// Bound returns the literal of min, max, maxlen or match; "" if the field does not have it.
func (f *Field) Bound(option string) string { return schema.Rules{Words: f.Bounds}.Value(option) }

// BoundsElements reports whether bounds are those of the elements of a slice or a map.
func (f *Field) BoundsElements() bool {
	return slices.ContainsFunc(schema.BoundOptions, func(option string) bool { return option != "maxlen" && f.Bound(option) != "" })
}

// OptionAt is the position of an option in the field's tag, or of the field.
func (f *Field) OptionAt(option string) token.Position {
	if at, ok := f.Options.Positions[option]; ok {
		return at
	}
	return f.At
}

// Nested returns the message that a field holds once, by value or by pointer.
func (f *Field) Nested() *Message {
	switch {
	case f.Kind == nil:
		return nil
	case f.Kind.Form == FormPointer:
		return f.Kind.Elem.Message
	}
	return f.Kind.Message
}

// Selector is the Go expression of the field below the receiver.
func (f *Field) Selector(receiver string) string {
	if f.Short {
		return receiver + "." + f.GoName
	}
	return receiver + "." + strings.Join(f.Path, ".")
}

// Exported makes the first letter upper case.
func Exported(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// Unexported makes the leading capitals lower case, an initialism as a whole:
// TenantID → tenantID, URLs → urls, HTTPStatus → httpStatus.
func Unexported(name string) string {
	r := []rune(name)
	if IsPluralInitialism(name) {
		return strings.ToLower(name)
	}
	for i := range r {
		if !unicode.IsUpper(r[i]) {
			break
		}
		if i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}

// IsPluralInitialism reports whether a name is like URLs.
func IsPluralInitialism(name string) bool {
	initialism, plural := strings.CutSuffix(name, "s")
	return plural && strings.ToUpper(initialism) == initialism
}

// IdentifierOf spells a type, with its type arguments, as one identifier.
func IdentifierOf(t types.Type, home *types.Package) string {
	text := types.TypeString(t, func(p *types.Package) string {
		if p == home {
			return ""
		}
		return Exported(p.Name())
	})
	var b strings.Builder
	upper := false
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_':
			upper = true
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// FreeName appends a digit to a name until it is not taken, and takes it.
func FreeName(name string, taken map[string]bool) string {
	free := name
	for n := '2'; taken[free]; n++ {
		free = name + string(n)
	}
	taken[free] = true
	return free
}

// Stamped returns the field that has the option created, updated, or deleted; nil if there is none.
func (m *Message) Stamped(option string) *Field {
	for _, f := range m.Fields {
		if slices.Contains(f.Stamps(), option) {
			return f
		}
	}
	return nil
}

// IsBounded reports whether fields of the message, or of those nested in it, have bounds.
func (m *Message) IsBounded() bool { return m.isBounded(map[*Message]bool{}) }

func (m *Message) isBounded(seen map[*Message]bool) bool {
	if seen[m] {
		return false
	}
	seen[m] = true
	return slices.ContainsFunc(m.Fields, func(f *Field) bool {
		inner := f.Kind.InnerMessage()
		return len(f.Bounds) > 0 || inner != nil && inner.isBounded(seen)
	})
}

// Tags returns the sum of the tags in the struct and in the messages nested in it, as the run-time counts it.
func (m *Message) Tags() uint64 { return m.tags(map[*Message]bool{}) }

func (m *Message) tags(seen map[*Message]bool) (sum uint64) {
	if m == nil || seen[m] {
		return 0
	}
	seen[m] = true
	sum = m.ownTags(m.Named, m.Literal)
	for _, f := range m.Fields {
		sum += f.Kind.InnerMessage().tags(seen)
	}
	return sum
}

// ownTags returns the sum of the tags in a struct with those slots, and in the structs embedded in it.
func (m *Message) ownTags(t types.Type, slots []*Slot) (sum uint64) {
	s := t.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		f, tag := s.Field(i), reflect.StructTag(s.Tag(i)).Get("persist")
		if marker := persistableName(f.Type()); tag != "" || marker != "" {
			sum += schema.TagSum(m.Name, marker, f.Name(), tag)
		}
	}
	for _, slot := range slots {
		if slot.Field == nil {
			sum += m.ownTags(slot.Type, slot.Embedded)
		}
	}
	return sum
}

// persistableName returns the name of a type of package persistable, "" for other types.
func persistableName(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != PersistablePath {
		return ""
	}
	return named.Obj().Name()
}

// Reaches reports whether target is nested somewhere in m.
func Reaches(m, target *Message, seen map[*Message]bool) bool {
	for _, f := range m.Fields {
		next := f.Kind.InnerMessage()
		if next == nil || seen[next] {
			continue
		}
		if next == target {
			return true
		}
		seen[next] = true
		if Reaches(next, target, seen) {
			return true
		}
	}
	return false
}
