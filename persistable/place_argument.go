// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"regexp"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// bound is an element of a directory that is a {Field}, by its stored name.
var bound = regexp.MustCompile(`^\{(\w+)\}`)

// checkZero refuses the i-th element of the path if it is the number 0 or a zero
// id: probably, as with an empty string, a variable was not set.
func (p *place) checkZero(i int, name string) string {
	if name != "0" {
		return ""
	}
	block := p.lock.Block(p.typ)
	if block == nil {
		return ""
	}
	elements := strings.Split(block.Directory, "/")
	if i >= len(elements) {
		return ""
	}
	match := bound.FindStringSubmatch(elements[i])
	if match == nil {
		return ""
	}
	for _, f := range block.Fields {
		if f.Name == match[1] && isNumber(f.Kind) {
			return "the value is 0: was the variable set? Ids and numbers of tenants begin at 1"
		}
	}
	return ""
}

// isNumber reports whether values of a kind are numbers, ids included.
func isNumber(kind string) bool {
	k, _ := schema.ParseKind(kind)
	return k.Wrap == "" && (k.Base == "id" || strings.HasPrefix(k.Base, "int") || strings.HasPrefix(k.Base, "uint"))
}
