// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"math"
	"testing"
)

func TestParseDefault(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       any // nil: refused
	}{
		{"bool", "true", true},
		{"bool", "1", nil},
		{"string", `"a\x20b"`, "a b"},
		{"string", "a", nil},
		{"int8", "-128", int64(-128)},
		{"int8", "128", nil},
		{"int64", "-9223372036854775808", int64(math.MinInt64)},
		{"uint64", "18446744073709551615", uint64(math.MaxUint64)},
		{"uint16", "65536", nil},
		{"uint8", "-1", nil},
		{"duration", "90000000000", int64(90e9)},
		{"double", "0.1", 0.1},
		{"float", "1e40", nil},
		{"id", "1", nil},
		{"time", "1", nil},
		{"*int8", "1", nil},
		{"[]int8", "1", nil},
		{"text(X)", `"x"`, nil},
		{"message(M)", "1", nil},
	} {
		got, err := ParseDefault(c.kind, c.text)
		if (err == nil) != (c.want != nil) || err == nil && got != c.want {
			t.Errorf("%s %s: got %v (%T), %v; want %v", c.kind, c.text, got, got, err, c.want)
		}
	}
	if none, err := ParseDefault("time", ""); none != nil || err != nil {
		t.Errorf("no default: %v, %v", none, err)
	}
}
