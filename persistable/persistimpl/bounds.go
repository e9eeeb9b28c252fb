// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// Broken says that a value breaks a bound of its field, such as min=1. The value of a maxlen is
// a string, a []byte, or the number of elements.
func Broken(bound string, value any) string { return schema.Broken(bound, value) }

// Element names an element of a slice or a map.
func Element(field string, key any) string { return fmt.Sprintf("%s[%v]", field, key) }
