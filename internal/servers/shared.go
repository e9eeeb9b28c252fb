// SPDX-License-Identifier: Apache-2.0

package servers

import "testing"

// must returns a started server, or skips the test if its program is missing.
func must[S any](tb testing.TB, start func() (S, error), program func() (string, error), debian, homebrew string) S {
	tb.Helper()
	if _, err := program(); err != nil {
		skip(tb, err, debian, homebrew)
	}
	s, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
