// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName returns an error if a text cannot be the name of a sequence or the key of
// a document.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("store: the name is empty")
	case len(name) > 255:
		return fmt.Errorf("store: the name has %d bytes, allowed are 255", len(name))
	case !utf8.ValidString(name):
		return fmt.Errorf("store: the name %q is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("store: the name %q has a control character", name)
	}
	return nil
}
