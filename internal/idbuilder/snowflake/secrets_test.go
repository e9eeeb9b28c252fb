// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestLeaseKeysAreNotPrinted prints each type with a lease key.
func TestLeaseKeysAreNotPrinted(t *testing.T) {
	const marker = "hidden-marker"
	for _, v := range []any{Grant{LeaseKey: marker}, &Grant{LeaseKey: marker}, []Client{{LeaseKey: marker}}, Client{LeaseKey: marker}} {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		for _, text := range []string{log.String(), fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v)} {
			if strings.Contains(text, marker) {
				t.Errorf("%T: prints the lease key: %s", v, text)
			}
		}
	}
}
