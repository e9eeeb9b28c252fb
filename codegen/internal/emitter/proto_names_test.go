// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"testing"
)

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"ID": "id", "TenantID": "tenant_id", "URL": "url", "URLs": "urls", "HTTPStatus": "http_status", "A": "a", "AB": "ab",
		"IPv6Address": "i_pv6_address", "CreatedAt": "created_at", "X_Y": "x_y", "already": "already",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("snakeCase(%q) = %q, want %q", name, got, want)
		}
	}
}
