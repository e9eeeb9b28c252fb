// SPDX-License-Identifier: Apache-2.0

package settings

// Value returns the value of a key.
func Value(s *Settings, path string) any {
	if known[path].field == nil {
		return nil
	}
	return known[path].fieldValue(s)
}

// Fields returns pointers to the fields that keys set.
func Fields(s *Settings) (pointers []any) {
	for _, k := range keys {
		if k.field != nil {
			pointers = append(pointers, k.field(s))
		}
	}
	return pointers
}
