// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"testing"
)

func TestNameConstraints(t *testing.T) {
	cases := map[string]string{
		"order.go": "", "linux.go": "", "order_linux.go": "linux", "order_amd64.go": "amd64",
		"order_linux_amd64.go": "linux amd64", "order_amd64_linux.go": "linux", "/a_linux/b.go": "", "x_other.go": "",
	}
	for file, want := range cases {
		if got := strings.Join(nameConstraints(file), " "); got != want {
			t.Errorf("nameConstraints(%s) = %q, want %q", file, got, want)
		}
	}
}
