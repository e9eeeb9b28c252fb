// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestHostileTextStaysTheSameInJSON: escaping does not change the value of a text.
func TestHostileTextStaysTheSameInJSON(t *testing.T) {
	const name = "\x1b[2J\u202e\U000e0001\u009b\n\t\x7f"
	var out bytes.Buffer
	c := &shell.Console{Streams: shell.Streams{Out: shell.Escaping(&out, new(true))}, JSON: true}
	if err := c.Write(service{name}); err != nil {
		t.Fatal(err)
	}
	var got service
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Service != name {
		t.Errorf("%q became %q, %v by way of %s", name, got.Service, err, &out)
	}
	if strings.ContainsFunc(strings.TrimSuffix(out.String(), "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("JSON has characters that do not print: %q", &out)
	}
}
