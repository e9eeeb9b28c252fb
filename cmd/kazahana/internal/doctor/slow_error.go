// SPDX-License-Identifier: Apache-2.0

package doctor

import "errors"

// slowError says that reading a single unit takes longer than a version can be read. It does
// not unwrap: reading the same once more would not help.
type slowError struct{ err error }

// Error implements error.
func (e *slowError) Error() string { return e.err.Error() }

// isTooSlow reports whether a unit could not be read within the lifetime of a version.
func isTooSlow(err error) bool {
	var slow *slowError
	return errors.As(err, &slow)
}
