// SPDX-License-Identifier: Apache-2.0

// Package optional is for functions that take at most one options struct:
//
//	func Open(dir string, options ...Options) (*Database, error) {
//		o, err := optional.Options("embedded", options)
//		…
//	}
package optional

import "fmt"

// Options returns the options that a caller of a package has given, the zero value if none.
// Errors: there are several, or they are not valid.
func Options[O interface{ Validate() error }](pkg string, given []O) (o O, err error) {
	switch len(given) {
	case 0:
		return o, nil
	case 1:
		return given[0], given[0].Validate()
	}
	return o, fmt.Errorf("%s: %d Options are given; give one", pkg, len(given))
}
