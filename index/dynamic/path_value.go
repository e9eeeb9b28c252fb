// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// mark is an element of the signature of an index: the kind of one field.
type mark struct {
	null, slice bool
	key         string // the kind without what is around it
}

func parseMark(text string) (m mark) {
	m.key, m.null = strings.CutPrefix(text, "*")
	m.key, m.slice = strings.CutPrefix(m.key, "[]")
	return m
}

// value returns how the values at the end of a path are stored: the kind that m
// means, of those that the field has and had. The first is the widest.
func (p path) value(m mark) (v value, err error) {
	f := p.last()
	for _, text := range append([]string{f.Kind}, f.Was...) {
		k, _ := schema.ParseKind(text)
		v, ok := newValue(k)
		if ok && v.key == m.key && (k.Wrap == "[]") == m.slice && !strings.HasPrefix(k.Wrap, "map") {
			return v, nil
		}
	}
	return v, fmt.Errorf("the field %s is %s in the store; only the type's Go code can make a key of it that the index calls %s", p, f.Kind, m.text())
}

// text is the element of the signature.
func (m mark) text() string {
	switch {
	case m.null:
		return "*" + m.key
	case m.slice:
		return "[]" + m.key
	}
	return m.key
}
