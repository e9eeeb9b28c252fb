// SPDX-License-Identifier: Apache-2.0

// Package erased has the declarations of package erased that the tests of
// analyzers need.
package erased

type Field[F any] struct{}
