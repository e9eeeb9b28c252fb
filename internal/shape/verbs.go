// SPDX-License-Identifier: Apache-2.0

package shape

import "go/ast"

// OneWord returns the unexported methods with a name of a single word, and
// how many unexported methods there are.
func OneWord(methods []Method) (single []Method, unexported int) {
	for _, m := range methods {
		if ast.IsExported(m.Name) {
			continue
		}
		unexported++
		if len(words(m.Name)) == 1 {
			single = append(single, m)
		}
	}
	return single, unexported
}
