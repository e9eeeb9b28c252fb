// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// exported makes the first letter upper case.
func exported(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// unexported makes the leading capitals lower case, an initialism as a whole:
// TenantID → tenantID, URLs → urls, HTTPStatus → httpStatus.
func unexported(name string) string {
	r := []rune(name)
	if isPluralInitialism(name) {
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

// isPluralInitialism reports whether a name is like URLs.
func isPluralInitialism(name string) bool {
	initialism, plural := strings.CutSuffix(name, "s")
	return plural && strings.ToUpper(initialism) == initialism
}

// sayAs spells a generated name as exported as the type is.
func (r *record) sayAs(name string) string {
	if token.IsExported(r.goName) {
		return name
	}
	return unexported(name)
}

func (r *record) constructor() string { return r.sayAs("New" + exported(r.goName)) }
func (r *record) storeType() string   { return r.goName + "Store" }
func (r *record) storeOf() string     { return r.goName + "StoreOf" }
func (r *record) fieldsVar() string   { return r.goName + "Fields" }
func (r *record) schemaVar() string   { return unexported(r.goName) + "Schema" }

// declarations are the package-level names that are generated for a record.
func (r *record) declarations() []string {
	names := []string{r.constructor(), r.storeType(), r.storeOf(), r.schemaVar()}
	if len(r.indexes) > 0 {
		names = append(names, r.fieldsVar())
	}
	return names
}

// declarations are the package-level names that are generated for a message,
// and for the record that it is.
func (m *message) declarations() []string {
	names := []string{"append" + m.function, "decode" + m.function, m.knownVar(), m.knownVar() + "Optional"}
	if m.record != nil {
		names = append(names, m.record.declarations()...)
	}
	return names
}

// knownVar is the variable with the field numbers of a message.
func (m *message) knownVar() string { return unexported(m.function) + "Known" }

// nameMessages gives each message the suffix of its functions: the Go name,
// with the package's name before it if it is another's, and a digit where that
// is not enough. It also finds the recursive ones.
func (c *collector) nameMessages() {
	slices.SortFunc(c.pkg.messages, func(a, b *message) int {
		return cmp.Or(cmp.Compare(len(types.TypeString(a.named, nil)), len(types.TypeString(b.named, nil))),
			cmp.Compare(types.TypeString(a.named, nil), types.TypeString(b.named, nil)))
	})
	taken := map[string]bool{}
	for _, local := range []bool{true, false} {
		for _, m := range c.pkg.messages {
			if local == c.outside(m.named.Obj().Pkg()) {
				continue
			}
			m.function = freeName(exported(identifierOf(m.named, c.pkg.types)), taken)
		}
	}
	slices.SortFunc(c.pkg.messages, func(a, b *message) int { return cmp.Compare(a.function, b.function) })
	for _, m := range c.pkg.messages {
		m.recursive = reaches(m, m, map[*message]bool{})
	}
}

// identifierOf spells a type, with its type arguments, as one identifier.
func identifierOf(t types.Type, home *types.Package) string {
	text := types.TypeString(t, func(p *types.Package) string {
		if p == home {
			return ""
		}
		return exported(p.Name())
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

// freeName appends a digit to a name until it is not taken, and takes it.
func freeName(name string, taken map[string]bool) string {
	free := name
	for n := '2'; taken[free]; n++ {
		free = name + string(n)
	}
	taken[free] = true
	return free
}

// reaches reports whether target is nested somewhere in m.
func reaches(m, target *message, seen map[*message]bool) bool {
	for _, f := range m.fields {
		next := f.typ.innerMessage()
		if next == nil || seen[next] {
			continue
		}
		if next == target {
			return true
		}
		seen[next] = true
		if reaches(next, target, seen) {
			return true
		}
	}
	return false
}

// innerMessage is the message at the end of pointers, slices and maps.
func (k *kind) innerMessage() *message {
	for k != nil {
		if k.form == formMessage {
			return k.message
		}
		k = k.elem
	}
	return nil
}

// packageNames are the names of the packages that generated functions use in
// their bodies: the run-time's, and those of the fields' types. Parameters
// must not hide them.
func packageNames(p *pkg) map[string]bool {
	names := map[string]bool{"persistable": true, "persistimpl": true, "index": true, "idgen": true, "strconv": true}
	for _, m := range p.messages {
		for _, s := range m.literal {
			addPackageNames(s, names)
		}
	}
	return names
}

func addPackageNames(s *slot, names map[string]bool) {
	types.TypeString(s.typ, func(p *types.Package) string {
		names[p.Name()] = true
		return ""
	})
	for _, inner := range s.embedded {
		addPackageNames(inner, names)
	}
}

// parameterNames spells names as parameters that hide no package, type, keyword
// or predeclared identifier, none of the names given, and not each other.
func parameterNames(p *pkg, goNames []string, others ...string) []string {
	packages, taken := packageNames(p), map[string]bool{}
	for _, name := range others {
		taken[name] = true
	}
	names := make([]string, len(goNames))
	for i, goName := range goNames {
		name := unexported(goName)
		_, hidesType := p.types.Scope().Lookup(name).(*types.TypeName)
		if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || taken[name] || packages[name] || hidesType {
			name += "Value"
		}
		names[i] = freeName(name, taken)
	}
	return names
}
