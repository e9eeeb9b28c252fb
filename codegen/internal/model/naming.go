// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/types"
	"strings"
	"unicode"
)

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
