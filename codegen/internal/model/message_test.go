// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestUnexported(t *testing.T) {
	for name, want := range map[string]string{
		"ID": "id", "TenantID": "tenantID", "URL": "url", "URLs": "urls", "HTTPStatus": "httpStatus", "A": "a", "AB": "ab",
		"IPv6Address": "iPv6Address", "CreatedAt": "createdAt", "X_Y": "x_Y", "already": "already",
	} {
		if got := Unexported(name); got != want {
			t.Errorf("unexported(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestIndexNamesAreInjective: different lists of names never have one name.
func TestIndexNamesAreInjective(t *testing.T) {
	names := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z]([_A-Za-z]{0,3}[A-Za-z])?_?`), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		if slices.Equal(a, b) {
			return
		}
		if x, y := IndexName(a[0], a[1:]...), IndexName(b[0], b[1:]...); x == y {
			t.Fatalf("%q and %q are both named %s", a, b, x)
		}
	})
}
