// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"regexp"
)

// NamePattern is what type, field and index names may be.
var NamePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// CheckName returns why a key-stable name is not allowed, or "".
func CheckName(name string) string {
	switch {
	case !NamePattern.MatchString(name):
		return fmt.Sprintf("%q is not a name; use letters, digits and underscores, a letter first", name)
	case name == "unique":
		return `the name "unique" is reserved: the keys of unique indexes end in it`
	}
	return ""
}
