// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"
	"strings"
)

// Prefixes of variables.
const (
	prefix         = "IDBUILDER__"
	deployedPrefix = "IDBUILDER_WORKER__"
)

// environment returns the assignments of variables, in the order of their names.
func environment(variables []string) (list []assignment) {
	variables = slices.Sorted(slices.Values(variables))
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		used := prefix
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			used = deployedPrefix
			if rest, ok = strings.CutPrefix(name, deployedPrefix); !ok {
				continue
			}
		}
		list = append(list, assignment{
			path: strings.ToLower(strings.ReplaceAll(rest, "__", ".")), raw: words(value), origin: name,
			spell: func(path string) string { return variableWith(used, path) },
		})
	}
	return list
}

// variable returns the name of the variable that sets a key.
func variable(path string) string { return variableWith(prefix, path) }

func variableWith(prefix, path string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}
