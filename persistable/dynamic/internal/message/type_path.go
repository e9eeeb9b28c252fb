// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"
	"strings"
)

// Path returns the way to a field, such as Address.City. It returns an error if there is
// none, or it leads to what has no single values.
func (t *Type) Path(name string) (*Path, error) {
	p := &Path{Name: name}
	for _, step := range strings.Split(name, ".") {
		if p.last != nil && (p.last.Inner == nil || p.last.IsList() || p.last.IsMap()) {
			return nil, fmt.Errorf("%s: the field %s is %s, which holds no single field %s", name, p.last.Name, p.last.Kind, step)
		}
		if p.last != nil {
			t = p.last.Inner
		}
		i := t.indexOf(step)
		if i < 0 {
			return nil, fmt.Errorf("%s has no field %q%s", t.Name, step, t.suggestion(step))
		}
		p.steps, p.last = append(p.steps, i), t.Fields[i]
		p.null = p.null || p.last.IsNullable()
	}
	if p.last.Inner != nil || p.last.IsMap() {
		return nil, fmt.Errorf("%s is %s, which has no single value; name a field in it", name, p.last.Kind)
	}
	return p, nil
}
