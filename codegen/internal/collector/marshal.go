// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/types"
	"strings"
)

// marshals reports whether a type, or a pointer to it, has MarshalX() ([]byte,
// error) and UnmarshalX([]byte) error.
func marshals(named *types.Named, x string) bool {
	set := types.NewMethodSet(types.NewPointer(named))
	return hasMethod(set, "Marshal"+x, "func() ([]byte, error)") &&
		hasMethod(set, "Unmarshal"+x, "func([]byte) error")
}

func hasMethod(set *types.MethodSet, name, signature string) bool {
	selection := set.Lookup(nil, name)
	if selection == nil {
		return false
	}
	s, ok := selection.Type().(*types.Signature)
	if !ok {
		return false
	}
	var params, results []string
	for v := range s.Params().Variables() {
		params = append(params, types.TypeString(v.Type(), nil))
	}
	for v := range s.Results().Variables() {
		results = append(results, types.TypeString(v.Type(), nil))
	}
	return signature == signatureText(params, results)
}

func signatureText(params, results []string) string {
	text := "func(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}
